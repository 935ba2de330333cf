// SPDX-License-Identifier: LGPL-3.0-or-later
// Giving up a seal (of an upload or a rename) for ever: every home aborts it or marks it void
// (docs/protocol/cleaner.md, FENCE).
#pragma once

#include "commit/engine/access.hh"

namespace xec {

// Makes one home safe against a late promotion of the seal (s, e or r). False: it is promoted here, or the
// home does not answer.
Task<bool> FenceHome(Engine& engine, ObjectPath path, MemberIndex home, State seal);

// The same on all homes: only then is the seal void.
Task<bool> FenceAllHomes(Engine& engine, ObjectPath path, State seal);

// Removes an own seal of what is over; where that fails now, engine.given_up_files() goes on.
Task<void> RemoveOrGiveUp(Engine& engine, MemberIndex member, ObjectPath path, State seal);
// The same on several servers in parallel; those that are late are not waited for.
Task<void> RemoveSeals(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> members);
// An own seal on homes where it does not count: it may be made there late, and would stand in others' way.
// engine.given_up_files() removes it.
void GiveUpLateSeals(Engine& engine, const ObjectPath& path, const State& seal,
                     const std::vector<MemberIndex>& homes);

}  // namespace xec
