// SPDX-License-Identifier: LGPL-3.0-or-later
// Making a quorum of homes accept a version: the commit of puts, removals and directories.
#pragma once

#include "commit/engine/access.hh"

namespace xec {

// Has `from` renamed once more when a home is back that did not tell whether it has, or still has its seal,
// of an object that is committed. A seal that outlives its version looks like an upload under way.
void PromoteWhenBack(Engine& engine, const ObjectPath& path, MemberIndex home, const State& promoted,
                     const std::string& from);

// Renames `from` to the promoted state on the homes; commit point: a quorum of homes accepts (having
// something higher counts, if at least one home really took ours). True when committed. Errors: kUnknown when
// it cannot be known; kConflict when no home took it and none ever will. `promoted` may also be a moved
// tombstone, `from` then being the seal r of its rename: then every home of the quorum must really have taken
// it.
Task<Result<bool>> PromoteHomes(Engine& engine, ObjectPath path, std::vector<MemberIndex> homes,
                                State promoted, std::string from);

// Makes the mark (tombstone or directory) on a quorum of homes, `preferred` first, further homes in place of
// those that fail. Errors: kUnknown when some home may have taken it; kNoQuorum when none has.
Task<Status> MarkQuorum(Engine& engine, ObjectPath path, State mark, std::vector<MemberIndex> preferred);

}  // namespace xec
