// SPDX-License-Identifier: LGPL-3.0-or-later
// Witnesses, and copies of tombstones: how a home comes to show a version of which it has nothing.
#pragma once

#include "commit/steps/drafts.hh"

namespace xec {

// Writes a witness of `goal`, or a copy of the tombstone it is, on `home`, whatever is there already; content
// from any home that has one. `least`: as of ServerGather.
Task<RollResult> MakeWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             Duration least = {});

}  // namespace xec
