// SPDX-License-Identifier: LGPL-3.0-or-later
// One pass of the cleaner over one name: what its steps share. Internal to the cleaner.
#pragma once

#include <set>

#include "commit/clean/clean_outcome.hh"
#include "commit/clean/clean_times.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Everything one pass over one name knows.
struct CleanPass {
  CleanPass(Engine& the_engine, ObjectPath name)
      : engine(the_engine), path(std::move(name)), homes(engine.Homes(path)) {
    outcome.names = 1;
  }

  Engine& engine;
  const ObjectPath path;
  const Homes homes;
  Accepted current;
  ServerStates servers;  // all servers that answered
  std::set<MemberIndex> without;  // those of these without an object directory of the name
  std::map<MemberIndex, size_t> gone;  // how many of the entries in `servers` were removed since
  CleanOutcome outcome;

  int64_t Now() const { return engine.executor().WallNow(); }
  bool Past(int64_t since_ms, Duration wait) const { return IsPast(Now(), since_ms, wait); }
  bool Past(const State& entry, Duration wait) const { return Past(entry.mtime_s * 1000, wait); }
  bool AllServersHeard() const { return servers.size() == engine.server_count(); }
  bool AllHomesHeard() const { return HomesHeard().size() == homes.size(); }
  ServerStates HomesHeard() const;  // of those that answered
};

// Asks these for `servers` anew. Those that are late count as silent.
Task<void> ListOn(CleanPass& pass, std::vector<MemberIndex> members);
Task<void> ListEverywhere(CleanPass& pass);

// The action that removes this entry, and the doing of any action; counted in the outcome.
SweepAction RemoveEntry(const State& state);
Task<void> Perform(CleanPass& pass, MemberIndex member, SweepAction action);

// The same, not counted yet: servers may be asked beside each other, while the pass stays as it is.
struct Performed {
  uint64_t removed = 0;
  uint64_t left = 0;
  size_t gone = 0;
  void Add(const Performed& other) {
    removed += other.removed;
    left += other.left;
    gone += other.gone;
  }
};
Task<Performed> PerformOn(const CleanPass& pass, MemberIndex member, SweepAction action);
void Count(CleanPass& pass, MemberIndex member, const Performed& performed);

// Removes the empty object directory (and the parts of a long name) where nothing is left of what was listed.
Task<void> RemoveObjectDirectory(CleanPass& pass);
// Of all homes.
Task<void> RemoveTombstones(CleanPass& pass);

}  // namespace xec
