// SPDX-License-Identifier: LGPL-3.0-or-later
// NameWalk: something that has to be done with every name that any server shows, folder by folder.
#pragma once

#include <functional>

#include "commit/engine/folder.hh"
#include "commit/engine/names.hh"
#include "runtime/turn.hh"

namespace xec {

struct NameWalk {
  Engine& engine;
  // What the servers show in a folder. An error ends the walk.
  std::function<Task<Result<FolderUnion>>(ObjectPath directory)> list;
  // Does it with one name, which these servers show; several at a time. Names that fail, since they were
  // changed just then, say, are tried again at the end, and the last failure ends the walk.
  std::function<Task<Status>(ObjectPath name, std::vector<MemberIndex> members)> visit;
  Turn turn;  // awaited before each name
};

// Errors: of list, of visit; kCancelled when the turn ended it; kNoQuorum when the list of members was not in
// force at the end.
Task<Status> VisitAllNames(NameWalk walk);

// LookUp, with the attributes of what lives there brought to a quorum of homes as well. One that is changed
// meanwhile is settled by whoever changes it. Errors: as of LookUp and ReadAttributes.
Task<Result<NameInfo>> LookUpWithAttributes(Engine& engine, ObjectPath path);

}  // namespace xec
