// SPDX-License-Identifier: LGPL-3.0-or-later
// The operations of DataServer as coroutines that answer by their deadline whatever the server does
// (promise P8): a request that is too late is abandoned, owns its buffers, and its answer is dropped.
// Everything above this layer uses these, never the callbacks. All keep `server` or `file` alive.
#pragma once

#include "runtime/task.hh"
#include "server/data_server.hh"

namespace xec {

// The executor of the timers of a call, and the time until which it may take.
struct CallContext {
  Executor* executor = nullptr;
  TimePoint deadline = TimePoint::max();
};

using ArchiveFilePtr = std::shared_ptr<ArchiveFile>;

Task<Result<ArchiveFilePtr>> Open(CallContext context, DataServerPtr server, std::string path, OpenMode mode);
Task<Result<std::vector<Entry>>> List(CallContext context, DataServerPtr server, std::string path);
Task<Result<std::vector<Listed>>> ListMany(CallContext context, DataServerPtr server,
                                           std::vector<std::string> paths);
Task<Status> Rename(CallContext context, DataServerPtr server, std::string from, std::string to);
Task<Status> Remove(CallContext context, DataServerPtr server, std::string path);
Task<Status> MakeDirectory(CallContext context, DataServerPtr server, std::string path);
Task<Status> RemoveDirectory(CallContext context, DataServerPtr server, std::string path);
Task<Status> SetAttributes(CallContext context, DataServerPtr server, std::string path,
                           Attributes attributes);
Task<Result<Attributes>> GetAttributes(CallContext context, DataServerPtr server, std::string path,
                                       std::string prefix);
Task<Result<Space>> GetSpace(CallContext context, DataServerPtr server);

Task<Result<uint64_t>> Read(CallContext context, ArchiveFilePtr file, std::vector<ByteRange> ranges,
                            Slice into);
Task<Status> Write(CallContext context, ArchiveFilePtr file, uint64_t offset, Slice from);
Task<Status> Sync(CallContext context, ArchiveFilePtr file);
Task<Status> Close(CallContext context, ArchiveFilePtr file);

// Creates a small file with this content: open, write (unless empty), sync if asked, close. On any error
// the file may exist, whole or not.
Task<Status> CreateFile(CallContext context, DataServerPtr server, std::string path, std::string content,
                        bool sync);

// What a disk cannot give or take now it may later, or another may: kUnavailable in place of kUnreadable.
Error AsSilence(Error error);

// Reads a whole file of at most `size_max` bytes: open, read, close. A longer one is kCorruption.
Task<Result<std::string>> ReadFile(CallContext context, DataServerPtr server, std::string path,
                                   uint64_t size_max);

}  // namespace xec
