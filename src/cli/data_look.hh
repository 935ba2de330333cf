// SPDX-License-Identifier: LGPL-3.0-or-later
// What the system shows of data directories, for a process that has to know before it becomes another user.
// Where a disk hangs a system call may never end, so each directory is looked at by a process of its own: a
// thread that hangs would keep this one from changing its user, or from ending.
#pragma once

#include <functional>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "assembly/configuration/configuration.hh"

namespace xec {

struct ShownData {
  bool exists = false;  // without it nothing else is true
  bool directory = false;
  bool empty = false;
  bool reserved = false;  // the place for what belongs to a store is there
  bool holds_store = false;  // and a descriptor in it
  uid_t uid = 0;
  gid_t gid = 0;
  int closed_to_owner = 0;  // errno of its owner's look into it; only root can tell
};

// Of each directory; nullopt: no answer within five seconds. They are looked at together and taken as they
// answer, not any more once `enough` is true of one. Blocks. Call before threads are started.
std::vector<std::optional<ShownData>> LookAtData(const std::vector<Site>& sites,
                                                 const std::function<bool(const ShownData&)>& enough = {});

}  // namespace xec
