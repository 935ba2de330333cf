// SPDX-License-Identifier: LGPL-3.0-or-later
// NameSync: makes renames and new directories durable on a stock server. The root protocol syncs open files
// only, and a file system brings names to its disk seconds later, but in order: the journals of ext4, XFS and
// ZFS hold everything older once a younger change is synced. So a byte is appended to a file of ours on the
// same server, which has no name any more, and that file is synced. Not where names and data lie on different
// file systems (oss.space): docs/operations.md. A process that dies before the name is gone leaves it; a
// process that opens such a file later removes names that are an hour older than its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hh"
#include "server_xrootd/xrootd_file.hh"

namespace xec {

// Thread-safe. All that wait at the same time share one sync. Held by its requests in flight.
class NameSync : public std::enable_shared_from_this<NameSync> {
 public:
  NameSync(ServerCorePtr core, ServerUsePtr use) : core_(std::move(core)), use_(std::move(use)) {}

  // Answers OK when every rename and new directory that the server has answered before this call is on its
  // disk; else kUnavailable, kDeadlineExceeded or kUnknown: it is there, but a power cut may undo it.
  void Wait(OpContext context, Done<void> done);

 private:
  struct Waiter {
    OpContext context;
    Done<void> done;
  };
  struct Round {
    OpContext context;  // until the last of them gives up
    std::vector<Waiter> waiters;
  };

  void Start(std::shared_ptr<Round> round);
  void OpenFile(std::shared_ptr<Round> round);
  void RemoveNames(std::shared_ptr<Round> round, std::shared_ptr<ArchiveFile> file, std::string name);
  void Remove(const std::shared_ptr<Round>& round, const std::string& name, OnReply on_reply);
  void Append(std::shared_ptr<Round> round, std::shared_ptr<ArchiveFile> file);
  void End(const std::shared_ptr<Round>& round, Status status);

  const ServerCorePtr core_;
  const ServerUsePtr use_;

  Mutex mutex_;
  bool running_ XEC_GUARDED_BY(mutex_) = false;
  std::vector<Waiter> waiting_ XEC_GUARDED_BY(mutex_);  // for the next round
  std::shared_ptr<ArchiveFile> file_ XEC_GUARDED_BY(mutex_);  // of the running round; null: none, or broken
  uint64_t length_ XEC_GUARDED_BY(mutex_) = 0;  // bytes of it
};

}  // namespace xec
