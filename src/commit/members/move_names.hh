// SPDX-License-Identifier: LGPL-3.0-or-later
// What has to be done with all names while the list of members changes (docs/protocol/members.md). Any number
// of processes may do it at the same time, and begin again where one ended.
#pragma once

#include "commit/engine/engine.hh"
#include "runtime/turn.hh"

namespace xec {

// Brings every name to its homes by the list after the change, by which `engine` goes as well: what was
// decided, its user attributes, and the promises that others have to see. Only once nobody goes by the list
// before. Errors: kNoQuorum (too many servers away), kCancelled, that of a name which could not be moved.
Task<Status> MoveNames(Engine& engine, Turn turn);

// Removes what servers show of names of which they are no homes (any more), but for archives. Only once
// nobody goes by a list by which they are. Error also kUnavailable: some server does not answer.
Task<Status> SweepNames(Engine& engine, Turn turn);

}  // namespace xec
