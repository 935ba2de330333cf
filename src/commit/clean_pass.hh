// SPDX-License-Identifier: LGPL-3.0-or-later
// One pass of the cleaner over one name: what its steps share. Internal to the cleaner.
#pragma once

#include <optional>
#include <set>

#include "commit/cleaner.hh"

namespace xec {

// A cleaner that hears everybody can do more, and nobody waits for it: its `least` of ServerGather.
constexpr Duration kCleanerPatience = std::chrono::seconds(1);

using ServerStates = std::map<MemberIndex, States>;

// Is `since_ms` longer ago than `wait`? Both of the wall clock.
bool IsPast(int64_t now_ms, int64_t since_ms, Duration wait);

// When the tombstone was made, at the latest: its version has the clock of what was removed or moved, so the
// times of the entries count too.
int64_t TombstoneMadeMs(const Version& version, const ServerStates& shown);

// Since when the version is the current one, at the latest, as far as can be told: not when it was chosen, if
// it is of a removal (which has the clock of what it removed), or if somebody went on much later with what
// its writer had begun, but when servers that show it were written to. Of a removal every home tells when it
// accepted it, so it is when a quorum had; homes that learn of it later do not count.
int64_t CurrentSinceMs(const Version& version, const ServerStates& shown,
                       const std::vector<MemberIndex>& homes, int64_t now_ms);

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

// Removes the empty object directory (and the parts of a long name) where nothing is left of what was listed.
Task<void> RemoveObjectDirectory(CleanPass& pass);
// Of all homes.
Task<void> RemoveTombstones(CleanPass& pass);

// Renames that begin or end at this name (clean_renames.cc). kNone: there are none, the name may be swept.
// kDone: one was brought to its end; look again. kOpen: one is under way, or a server is missing: remove
// nothing now.
enum class RenamesLeft { kNone, kDone, kOpen };
Task<RenamesLeft> ResolveRenames(CleanPass& pass);

// Which of the moved-in witnesses shown are held, because their source has not retired their rename.
Task<std::set<std::string>> HeldRenames(CleanPass& pass);

// What is below the decided version goes, where it or something higher is accepted (clean_debris.cc).
Task<void> Sweep(CleanPass& pass);
Task<void> RemoveOldAttributes(CleanPass& pass);
Task<void> RemoveOldMarks(CleanPass& pass);

// Uploads that are promoted nowhere and silent for long are given up (clean_debris.cc).
Task<void> AbortSilentUploads(CleanPass& pass);

// So are directories whose makers are silent; they stand in the way of uploads (clean_debris.cc).
Task<void> AbortSilentDirectories(CleanPass& pass);

}  // namespace xec
