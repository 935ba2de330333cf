// SPDX-License-Identifier: LGPL-3.0-or-later
// DataServer: the one interface to whatever holds archives (design.md, decision 3). Implementations: local
// (a directory), memory (tests, simulator), fault and counting (decorators), and xrootd in its own layer.
// One conformance suite (server/conformance.hh) runs on all of them.
//
// The contract, for every operation:
//  * Asynchronous: `done` runs exactly once, never inline, on an engine thread, with no lock held. It never
//    runs on a thread of a network library. All members are thread-safe; calls on one ArchiveFile may
//    overlap. What is started after Close, a second Close included, is answered kCancelled: who gives a file
//    up may do so while another one still uses it.
//  * Paths are absolute within the server's root, '/'-separated, with no empty, "." or ".." parts.
//  * Deadlines: an implementation may give up after context.deadline with kDeadlineExceeded but need not;
//    callers use the wrappers of server/calls.hh, which answer kDeadlineExceeded on time whatever happens.
//    An operation given up on may still be executed by the server at any later time.
//  * A lost reply (kUnavailable, kDeadlineExceeded or kUnknown on a mutation) means: may have happened, may
//    happen later, or has happened and a power cut may undo it. The caller finds out by List. Any other error
//    code means: did not and will not happen.
//  * Buffers: a Slice given to Write or Read is kept alive by the request until the server lets go of it,
//    even past the deadline; the caller must not touch its bytes before `done`, and after a
//    kDeadlineExceeded never again.
//  * kNotFound is said only by a server that is sure to be the right one: an implementation whose root is
//    gone or belongs to another store answers kUnavailable (promise P6).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hh"
#include "runtime/buffer.hh"
#include "runtime/executor.hh"

namespace xec {

struct OpContext {
  TimePoint deadline = TimePoint::max();
};

// One entry of a listing.
struct Entry {
  std::string name;  // last path component
  bool directory = false;
  uint64_t size = 0;  // bytes; 0 for directories
  int64_t mtime_s = 0;  // seconds since 1970
  bool operator==(const Entry&) const = default;
};

// What ListMany tells of one directory; nullopt: it is not there.
using Listed = std::optional<std::vector<Entry>>;

struct Space {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  // Names the file system where the implementation can tell: servers with the same one share its space.
  // Empty: unknown.
  std::string filesystem = {};
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

template <typename T>
using Done = UniqueFunction<void(Result<T>)>;

// An open archive on a data server. Destroying it without Close abandons it: the server closes it at some
// later time. Shared, because requests that were given up on keep it alive.
class ArchiveFile {
 public:
  virtual ~ArchiveFile() = default;

  // The file's size when it was opened (0 for a new one). No request.
  virtual uint64_t size() const = 0;

  // Reads the ranges, one after another, into `into`, whose length is at least their sum. Answers the
  // number of bytes read; short only where a range ends beyond the end of the file (then the ranges after
  // it are not read). One request on the wire where the protocol allows it. Error: kUnreadable when the
  // server says that its disk cannot give the bytes.
  virtual void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) = 0;

  // Writes all of `from` at `offset`. Errors: kNoSpace, kPermissionDenied, kUnavailable, kDeadlineExceeded.
  virtual void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) = 0;

  // Returns when what was written is on stable storage (fsync).
  virtual void Sync(OpContext context, Done<void> done) = 0;

  // Closes. Errors of delayed writes show up here: kUnreadable when the server tells them, never what its
  // silence is (kUnavailable, kDeadlineExceeded).
  virtual void Close(OpContext context, Done<void> done) = 0;
};

enum class OpenMode {
  kRead,
  kCreate,  // for writing, exclusive: kAlreadyExists when the name is there; makes missing parents
};

class DataServer {
 public:
  virtual ~DataServer() = default;

  // For messages: "/data/d01" or "root://host:1094". Never changes.
  virtual const std::string& name() const = 0;

  virtual void Open(OpContext context, std::string path, OpenMode mode,
                    Done<std::shared_ptr<ArchiveFile>> done) = 0;

  // All entries of a directory except "." and "..", unordered, with sizes and times, in one request. A
  // missing directory is kNotFound, a file kNotDirectory. Listings of small directories are atomic.
  virtual void List(OpContext context, std::string path, Done<std::vector<Entry>> done) = 0;

  // As List of each of the directories, in their order; the error is that of any one, except kNotFound. Where
  // the server is a directory of this machine it costs little more than one List; elsewhere as many requests
  // as there are paths, all sent at once.
  virtual void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done);

  // Renames a file or directory. A missing source is kNotFound. Parents of the target are made. The engine
  // never renames onto an existing name (servers differ in what they do then). A rename of one unique
  // source has exactly one winner.
  virtual void Rename(OpContext context, std::string from, std::string to, Done<void> done) = 0;

  // Removes a file; kNotFound when it is not there.
  virtual void Remove(OpContext context, std::string path, Done<void> done) = 0;

  // Makes a directory and its missing parents; OK when it exists already. Where names are made durable, then
  // also those that others have made in it before.
  virtual void MakeDirectory(OpContext context, std::string path, Done<void> done) = 0;

  // Removes an empty directory; kNotEmpty, kNotFound.
  virtual void RemoveDirectory(OpContext context, std::string path, Done<void> done) = 0;

  // Attributes of a file, used by the xrdec layout only; one request for all names given (at most 16).
  virtual void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) = 0;
  // All attributes of the file whose names start with `prefix`.
  virtual void GetAttributes(OpContext context, std::string path, std::string prefix,
                             Done<Attributes> done) = 0;

  // Size and free space of what holds the archives.
  virtual void GetSpace(OpContext context, Done<Space> done) = 0;
};

using DataServerPtr = std::shared_ptr<DataServer>;

}  // namespace xec
