// SPDX-License-Identifier: LGPL-3.0-or-later
// LocalFile: an open archive of a LocalServer. Only local_server.cc makes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "runtime/io_threads.hh"
#include "server/data_server.hh"
#include "server/kinds/local_root.hh"

namespace xec {

class LocalFile final : public ArchiveFile, public std::enable_shared_from_this<LocalFile> {
 public:
  // `name_directories`: directories, absolute within `root`, that Sync has to make durable for the file's
  // name to be so.
  LocalFile(std::shared_ptr<IoThreads> threads, std::shared_ptr<UniqueFd> root, UniqueFd file, uint64_t size,
            std::string description, std::vector<std::string> name_directories);

  uint64_t size() const override { return size_; }
  void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override;
  void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) override;
  void Sync(OpContext context, Done<void> done) override;
  void Close(OpContext context, Done<void> done) override;

 private:
  using Fd = std::shared_ptr<UniqueFd>;
  // Runs `work(self, fd)` on the server's threads and hands its result to `done`.
  template <typename T, typename Work>
  void Run(OpContext context, const char* verb, Done<T> done, Work work);
  Result<uint64_t> ReadAll(int fd, const std::vector<ByteRange>& ranges, const Slice& into) const;
  Status WriteAll(int fd, uint64_t offset, const Slice& from) const;
  Status SyncAll(int fd) const;
  Error Failed(int error, const char* verb) const;

  const std::shared_ptr<IoThreads> threads_;
  const std::shared_ptr<UniqueFd> root_;
  const uint64_t size_;
  const std::string description_;  // "/a/b on /data/d01"
  const std::vector<std::string> name_directories_;
  mutable Mutex mutex_;
  // Null after Close. Every running request holds a reference, so the number is not reused early.
  Fd file_ XEC_GUARDED_BY(mutex_);
};

// True when the deadline is past: a request that waited so long in a queue is not worth executing any more.
bool IsLate(OpContext context);

// Makes the entries of a directory durable; 0 or errno.
int SyncDirectory(int root, const std::string& path);

}  // namespace xec
