// SPDX-License-Identifier: LGPL-3.0-or-later
// DirectoryLook: what the system shows of a local directory. Where the disk hangs (a dead NFS server, a FUSE
// program that is stopped) the system may never answer, so the look has a thread of its own, and a directory
// has one look at a time: what cannot be ended does not pile up.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "server/calls.hh"

namespace xec {

struct ShownDirectory {
  int error = 0;  // errno, when there is nothing to look at; then all else but `place` says nothing
  std::string place;  // its path without symbolic links and dots; empty: not known
  bool directory = false;  // else it is a file
  int unreadable = 0;  // errno; 0: it can be read
  int unwritable = 0;  // likewise, for names in it
  uint64_t device = 0, inode = 0;  // what it is, whatever it is called
};

// Thread-safe; may go while a look is under way.
class DirectoryLook {
 public:
  explicit DirectoryLook(std::string path);
  // For tests: `look` may block. It runs on a thread that may outlive everything.
  DirectoryLook(std::string path, std::function<ShownDirectory()> look);

  // Answers by the deadline. Errors: kDeadlineExceeded; kUnavailable while an earlier look is under way.
  Task<Result<ShownDirectory>> Ask(CallContext context);

 private:
  struct State {
    std::string path;
    std::function<ShownDirectory()> look;
    std::atomic<bool> under_way = false;
  };
  const std::shared_ptr<State> state_;
};

}  // namespace xec
