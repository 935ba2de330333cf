// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveFile over XrdCl::File.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "XrdCl/XrdClFile.hh"
#include "base/mutex.hh"
#include "server_xrootd/server_core.hh"

namespace xec {

// One request of a read: bytes of `length` in all, to `into_offset` of the destination.
struct ReadStep {
  std::vector<ByteRange> pieces;  // one: a plain read; several: a vector read
  uint64_t into_offset = 0;
  uint64_t length = 0;
};

// Cuts ranges into requests. Neighbours are joined; one range is one plain read; several are a vector read
// within the limits of stock servers. A vector read that leaves the file is an error there, so a range that
// ends beyond `file_size` is a plain read and the last step. A range that repeats begins another request.
std::vector<ReadStep> PlanRead(const std::vector<ByteRange>& ranges, uint64_t file_size);

// Invariants:
//  INV-1  Every request in flight holds the XrootdFile; so when it is destroyed, XrdCl has none for its File.
//  INV-2  The File is closed at most once, and only when no request is in flight (XrdCl refuses otherwise).
class XrootdFile final : public ArchiveFile, public std::enable_shared_from_this<XrootdFile> {
 public:
  XrootdFile(ServerCorePtr core, ServerUsePtr use, std::string path, OpenMode mode);
  // Never waits: a file still open is handed to an asynchronous close that owns the XrdCl::File and ends by
  // its answer or after kAbandonedCloseSeconds.
  ~XrootdFile() override;

  // Sends the open; once, before anything else. On one of the data channels, or with a URL of its own.
  void Open(OpContext context, Done<std::shared_ptr<ArchiveFile>> done);
  void OpenAt(std::string url, OpContext context, Done<std::shared_ptr<ArchiveFile>> done);

  uint64_t size() const override { return size_; }
  void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override;
  void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) override;
  void Sync(OpContext context, Done<void> done) override;
  // Waits for the requests in flight first, those that were given up on included; of a read that takes
  // several, no more are sent.
  void Close(OpContext context, Done<void> done) override;

 private:
  struct ReadJob;
  using Submit = UniqueFunction<XrdCl::XRootDStatus(XrdCl::ResponseHandler*)>;

  template <typename T>
  void Refuse(Done<T> done);  // since it is closed
  // Counts a request in. False after Close: `done` is told so then.
  template <typename T>
  bool Begin(Done<T>& done);
  // SendRequest of what Begin has counted, with the bookkeeping of INV-1 and INV-2.
  void Send(Submit submit, OnReply on_reply);
  void RequestEnded();
  void NextRead(std::shared_ptr<ReadJob> job);
  void SendClose(OpContext context, Done<void> done);
  Error Failed(const Reply& reply, const char* verb) const;

  const ServerCorePtr core_;
  const ServerUsePtr use_;
  const std::string path_;
  const OpenMode mode_;
  const std::shared_ptr<XrdCl::File> file_;  // thread-safe; shared only with the close of the destructor
  uint64_t size_ = 0;  // set by Open before anybody else has this object

  Mutex mutex_;
  int in_flight_ XEC_GUARDED_BY(mutex_) = 0;
  bool closing_ XEC_GUARDED_BY(mutex_) = false;
  Closure close_when_idle_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
