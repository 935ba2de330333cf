// SPDX-License-Identifier: LGPL-3.0-or-later
// What homes know of renames of a name beside what was decided last, while names move to other homes
// (docs/protocol/members.md) or a disk is compared (docs/protocol/disks.md).
#pragma once

#include <map>

#include "commit/engine/engine.hh"
#include "protocol/look.hh"

namespace xec {

// Brings to a quorum of the homes what must not be forgotten before a rename is complete, even below a higher
// version: at its source the moved tombstone, which alone tells that archives have still to follow; at its
// target that they have, since without that the name would be forgotten before the last one came, and what
// came then would be what lives. `listings`: what a quorum of homes showed. Errors: kUnavailable, kNoQuorum.
Task<Status> CarryRenames(Engine& engine, ObjectPath path, std::map<MemberIndex, States> listings);

}  // namespace xec
