// SPDX-License-Identifier: LGPL-3.0-or-later
// IdleNames: which names of a folder a cleaner may pass over, because there is nothing to do, or not yet. So
// a name at rest costs a listing of each object directory that is there, many of them at once, instead of
// some of all servers; and nothing in the passes after that.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "commit/engine/folder.hh"
#include "commit/engine/names_at_rest.hh"

namespace xec {

// Is there nothing to roll forward, finish, sweep, collect or report? `shown`: of all servers that have an
// object directory of the name. Strict: one promoted archive or witness of one version on each server and
// nothing else, on a quorum of `homes`, and of an object at least `archives_min` archives; or one directory
// entry on each of a quorum.
bool IsIdle(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes,
            const std::function<size_t(uint64_t size)>& archives_min);

// Is it a removed name whose tombstone a quorum of `homes` have, and nothing is anywhere else? `shown` as
// above; a home may show nothing.
bool IsRemoved(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes);

// Do all of them have it? All that is left to do is to forget it, some day.
bool IsForgettable(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes);

// A name that was replaced or removed: what is shown of it without the version before, and since when that is
// not the current one, in ms of the wall clock. nullopt: there is none, or more than one, before the highest
// that is shown. `now_ms`: what is written much later by its server's clock counts for nothing.
struct Superseding {
  Version current;  // the highest
  std::map<MemberIndex, States> shown;
  int64_t since_ms = 0;
};
std::optional<Superseding> WithoutSuperseded(const std::map<MemberIndex, States>& shown,
                                             const std::vector<MemberIndex>& homes, int64_t now_ms);

// The same where without it the name is idle or removed.
std::optional<Superseding> OnlySuperseded(const Engine& engine, const std::map<MemberIndex, States>& shown,
                                          const std::vector<MemberIndex>& homes);

// The most archives that an object of this size has in any geometry of the store: it may have been written
// with that of another path, and renamed since.
size_t ArchivesMax(const Engine& engine, uint64_t size);
// In the one given.
size_t ArchivesIn(const Geometry& wanted, uint64_t size);

// What may be purged: the version that stands on a quorum of homes, and the servers that show anything of the
// name.
struct Purgeable {
  Version current;
  std::vector<MemberIndex> shown_by;
};

// The names of a folder one after the other, all around from `first` on, or from one that chance chooses: of
// several cleaners that begin at the same time each finds done what another one has done. Asks for many names
// ahead, but not for those that `rests` knows. The names of `found` stay as they are while it lives; one
// owner, awaited before the next call.
class IdleNames {
 public:
  IdleNames(Engine& engine, const FolderUnion& found, NamesAtRest::Pass& rests,
            const std::optional<ObjectPath>& first = std::nullopt);

  // nullopt: that was all.
  std::optional<ObjectPath> Next();
  // That name, as NamesAtRest knows it.
  uint64_t GivenAs() const { return ShownAs(*names_[given_ - 1]); }
  // What to do about the name that Next gave last.
  Task<ToClean> Look();
  // If that is to purge it.
  Purgeable ToPurge() const;

 private:
  using Name = std::map<ObjectPath, ShownName>::const_pointer;

  // Not if a server has not told the folder, but may well answer what it is asked about a name.
  bool CanTell() const;
  uint64_t ShownAs(const std::pair<const ObjectPath, ShownName>& name) const {
    return xec::ShownAs(rests_.seed(), found_, name.first, name.second);
  }
  Task<void> LookAhead();
  CleanVerdict Judge(Name name, const std::map<MemberIndex, std::optional<States>>& shown) const;

  Engine& engine_;
  const FolderUnion& found_;
  NamesAtRest::Pass& rests_;
  std::vector<Name> names_;
  size_t given_ = 0;  // of names_
  size_t asked_ = 0;  // of names_
  size_t asked_from_ = 0;  // verdicts_ are about those from here to asked_
  std::vector<CleanVerdict> verdicts_;
};

}  // namespace xec
