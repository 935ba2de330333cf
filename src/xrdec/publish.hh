// SPDX-License-Identifier: LGPL-3.0-or-later
// Moving archives between their staged place and the object's plain name, where stock clients find them.
#pragma once

#include "xrdec/look.hh"

namespace xec {

// Renames the staged archive on that server to the plain name. A left-over archive of a lower version than
// `version_s` that is in the way is removed (servers that replace on rename do that themselves). Errors:
// kNotFound (nothing is staged there), kAlreadyExists (something else is at the plain name), or what the
// server said.
Task<Status> PublishOn(Engine& engine, MemberIndex member, StagedName staged, ObjectPath path,
                       int64_t version_s);

// The same on all these servers in parallel. The number of archives that are at their name now; the problems
// of the others are logged.
Task<size_t> PublishAll(Engine& engine, std::vector<MemberIndex> members, StagedName staged, ObjectPath path,
                        int64_t version_s);

// Takes the archives from the plain name, for a rename. Error: the first problem; the others are staged then.
Task<Status> Withdraw(Engine& engine, std::vector<MemberIndex> members, ObjectPath path, StagedName staged);

// Removes the archives of versions up to `up_to_s` from the plain name on these servers, in parallel. A newer
// one that comes there meanwhile stays: each is taken aside first and looked at there. What is left aside by
// a remover that dies or is too slow the cleaner judges. The number of servers where none is left.
Task<size_t> RemoveArchives(Engine& engine, std::vector<MemberIndex> members, ObjectPath path,
                            int64_t up_to_s);

// Removes a staged archive on each of the servers, in parallel. The number of servers where it is gone for
// sure.
Task<size_t> RemoveStagedOn(Engine& engine, std::vector<MemberIndex> members, StagedName staged);

}  // namespace xec
