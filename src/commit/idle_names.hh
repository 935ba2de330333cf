// SPDX-License-Identifier: LGPL-3.0-or-later
// IdleNames: which names of a folder a cleaner may pass over, because there is nothing to do. So a pass over
// a store at rest costs a listing of each object directory that is there, many of them at once, instead of
// some of all servers for each name.
#pragma once

#include <functional>
#include <set>

#include "commit/folder.hh"

namespace xec {

// Is there nothing to roll forward, finish, sweep, collect or report? `shown`: of all servers that have an
// object directory of the name. Strict: one promoted archive or witness of one version on each server and
// nothing else, on a quorum of `homes`, and of an object at least `archives_min` archives; or one directory
// entry on each of a quorum.
bool IsIdle(const std::map<MemberIndex, States>& shown, const std::vector<MemberIndex>& homes,
            const std::function<size_t(uint64_t size)>& archives_min);

// The most archives that an object of this size has in any geometry of the store: it may have been written
// with that of another path, and renamed since.
size_t ArchivesMax(const Engine& engine, uint64_t size);
// In the one given.
size_t ArchivesIn(const Geometry& wanted, uint64_t size);

// Asks for many names ahead. `found` outlives it; one owner, awaited before the next call.
class IdleNames {
 public:
  IdleNames(Engine& engine, const FolderUnion& found)
      : engine_(engine), found_(found), next_(found.names.begin()) {}

  // Called for the names of `found` in their order. False also when it cannot be told: where a server is
  // silent, a full pass says what that means.
  Task<bool> Has(ObjectPath name);

 private:
  Task<void> LookAhead();

  Engine& engine_;
  const FolderUnion& found_;
  std::map<ObjectPath, std::vector<MemberIndex>>::const_iterator next_;  // not asked for yet
  std::set<ObjectPath> asked_;
  std::set<ObjectPath> idle_;
};

}  // namespace xec
