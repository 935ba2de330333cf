// SPDX-License-Identifier: LGPL-3.0-or-later
// The files `a.<v>.<r>.set-<settings>` on the homes of a name: revisions of user attributes, each the same on
// every home.
#pragma once

#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"
#include "protocol/attribute_set.hh"

namespace xec {

// The file of a new revision.
State RevisionFile(Version version, Version revision, const AttributeSet& set);

// Writes a revision on a quorum of homes, leaving out those in `having`. Answers the homes that have it.
// Errors: kNoQuorum (none has it), kUnknown.
Task<Result<std::vector<MemberIndex>>> WriteOnQuorum(Engine& engine, ObjectPath path, State file,
                                                     std::string content, std::vector<MemberIndex> having);

// The revisions of a version that a listing of homes shows, and the homes that show them; the highest first.
// One revision may have two files: without its settings in the name, and with them.
struct ShownRevision {
  State file;
  std::vector<MemberIndex> homes;
};
std::vector<ShownRevision> RevisionsShown(const std::map<MemberIndex, States>& listings,
                                          const Version& version);

// Reads the revision from the homes that have shown it, any of them. Errors: kConflict (it has gone since),
// kUnavailable, kCorruption.
Task<Result<AttributeSet>> ReadRevision(Engine& engine, ObjectPath path, ShownRevision shown, Late late_ones);

// Removes revisions that another one has in it from the homes that have that one, since a process that asks
// homes one after the other must meet one of the two. What cannot be removed now, and what is on other homes,
// is left to the cleaner.
Task<void> RemoveRevisions(Engine& engine, ObjectPath path, std::vector<State> files,
                           std::vector<MemberIndex> homes);

}  // namespace xec
