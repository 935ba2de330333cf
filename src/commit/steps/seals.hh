// SPDX-License-Identifier: LGPL-3.0-or-later
// The seals of one change on a quorum of the homes of a name: made first, then looked at. Of two that do both
// at least one sees the other's.
#pragma once

#include "commit/engine/access.hh"
#include "runtime/unique_function.hh"

namespace xec {

// One whose owner other clients have to meet at any quorum of homes: s, e, f, g, r or q. An abort is none: it
// keeps nobody from anything once all homes have one.
bool IsSealOfAnyKind(const State& state);

struct HomesSealed {
  std::vector<MemberIndex> sealed;  // a quorum, or all that take it
  std::vector<MemberIndex> unsure;  // others that were asked: it may be made there all the same, later
};

// Makes the seal, by `make`, until a quorum of homes has it for certain; `preferred` homes first. A home that
// is late is replaced by the next one and does not count, even if it turns out to have the seal.
Task<HomesSealed> SealQuorum(Engine& engine, ObjectPath path, std::vector<MemberIndex> preferred,
                             UniqueFunction<Task<Status>(MemberIndex)> make);

struct SealsSeen {
  std::vector<MemberIndex> homes;  // on which the seal stands
  Look look;
  bool late = false;  // some home was not waited for
};

// Lists the homes that were sealed, after all own seals; keeps those where the seal stands. All of them are
// needed: when one has stopped answering since, another attempt without it is faster than its deadline,
// unless `wait`.
Task<SealsSeen> LookAtSeals(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> homes,
                            bool wait);

// How long a writer of an object waits until a directory of that name is made, or is not.
inline constexpr Duration kDirectoryPatience = std::chrono::seconds(5);
// The pauses of a client that waits for others at such a look.
inline constexpr Duration kLookPauseMin = std::chrono::milliseconds(20);
inline constexpr Duration kLookPauseMax = std::chrono::seconds(1);

// What to tell a client that wants to make an object where a directory was met: kIsDirectory once it is
// decided that there is one, else kConflict.
Task<Error> DirectoryInTheWay(Engine& engine, ObjectPath path);
// What to tell a client that has to yield to another's object: kAlreadyExists once it is decided that there
// is one, else kConflict, with what stands in the way for the log.
Task<Error> ObjectInTheWay(Engine& engine, ObjectPath path, Rival rival);
// The same of an upload that replaces `base` only: kNotCurrent, else kConflict.
Task<Error> ReplacementInTheWay(Engine& engine, ObjectPath path, Accepted base, Rival rival);
// For a client that waited in vain for a directory to be made.
Error DirectoryBeingMade(const ObjectPath& path);

}  // namespace xec
