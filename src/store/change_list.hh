// SPDX-License-Identifier: LGPL-3.0-or-later
// A change of the list of members, from its decision to its end (docs/protocol/members.md). Any number of
// processes may carry it out at the same time; where one ends another one goes on.
#pragma once

#include <functional>

#include "commit/engine/engine.hh"
#include "runtime/turn.hh"

namespace xec {

// What a process goes by at a moment. The engine stays when another one follows.
struct ListInUse {
  Engine& engine;
  StoreDescriptor stored;  // as the data servers show it
};

// Of the wall clock, as lists of members tell times.
uint64_t NowSeconds(const Engine& engine);

// Decides that `next` follows the list in use, tells the data servers, and waits until this process goes by
// it. Errors: kConflict (something else was decided at the same time), kUnavailable (too few data servers
// show it in time), as DecideList.
Task<Status> BeginChange(std::function<ListInUse()> now, StoreDescriptor next);

// Carries out the change that is under way; OK if none is. `turn` is awaited before each name, and every
// second of a wait, with a word of what is being done. Errors: kCancelled (turn), that of a part, which can
// be tried again.
Task<Status> CarryOutChange(std::function<ListInUse()> now, Turn turn);

// For so long after all know of a list some process may still go by the one before.
Duration WaitForOthers(const Engine& engine, const StoreDescriptor& list);

}  // namespace xec
