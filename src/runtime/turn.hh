// SPDX-License-Identifier: LGPL-3.0-or-later
// Turn: what a long walk awaits between two pieces of its work. The leader of the walk learns where it is,
// and can hold it for a while or end it (jobs/stepped_walk.hh).
#pragma once

#include <functional>
#include <string>

#include "runtime/task.hh"

namespace xec {

struct WalkPoint {
  std::string at;     // what comes next, as a walk can begin with it
  uint64_t done = 0;  // pieces before it
};

// False: the walk is to end here. Empty: nobody leads the walk.
using Turn = std::function<Task<bool>(WalkPoint)>;

}  // namespace xec
