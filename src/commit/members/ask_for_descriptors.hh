// SPDX-License-Identifier: LGPL-3.0-or-later
// What the members of a store show of its descriptor: what a process hears of that goes by a list of members.
#pragma once

#include <vector>

#include "commit/engine/engine.hh"

namespace xec {

// The newest descriptors of this store that those members show which answer in time, or more slowly as long
// as fewer than `needed` did; an error in place of one that only a newer XEC can read.
Task<std::vector<Result<StoreDescriptor>>> AskForDescriptors(Engine& engine, size_t needed);

// One round, begun at `asked`, in which a process hears whether its list is in force. If that is confirmed by
// fewer than `needed`, and a later one is shown by too few as well, whoever decided that one may have died
// before all had it: it is brought to them, and a later round finds it.
Task<MemberList::Round> HearOfList(Engine& engine, size_t needed, TimePoint asked);

}  // namespace xec
