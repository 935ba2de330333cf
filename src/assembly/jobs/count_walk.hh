// SPDX-License-Identifier: LGPL-3.0-or-later
// The walk of the job that counts: adds up what listings show for each group of the space.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "api/object_info.hh"
#include "base/result.hh"
#include "runtime/turn.hh"
#include "space/space_told.hh"

namespace xec {

// A page that cannot be listed is asked for so often, each time in a step of its own.
constexpr int kCountTriesMax = 5;
// A walk that leaves out more directories is given up.
constexpr size_t kCountLeftOutMax = 20;

// What a walk has found so far. Used by the walk and by its leader in turn.
struct Counting {
  // Which outlive it. One of them covers "/".
  explicit Counting(std::span<const SpaceGroup> all) : groups(all) {
    for (const SpaceGroup& group : groups) found[group.prefix];
  }

  std::span<const SpaceGroup> groups;
  UsageByPrefix found;
  uint64_t done = 0;    // names
  size_t left_out = 0;  // directories that could not be listed to their ends
  Error why = {};       // of the first one
  bool waits = false;   // the walk's next turn is to be another step's; the leader takes this back
};

// A page of a directory, as Store::List.
using ListPages = std::function<Task<Result<NamesPage>>(std::string directory, ListOptions options)>;

// Both references outlive it. Errors: kCancelled, by a turn that was false; that of a listing, where too many
// directories could not be listed.
Task<Status> CountTree(const ListPages& list, Counting& counting, Turn turn);

}  // namespace xec
