// SPDX-License-Identifier: LGPL-3.0-or-later
// How an archive that was lost or damaged comes back (docs/protocol.md, section 7): its copy is written under
// the name of a draft, which nobody counts, and takes the archive's name when it is complete.
#pragma once

#include "commit/roll_forward.hh"

namespace xec {

// Gives the draft, complete, synced and closed, the archive's name on this server, if the version is still
// what lives there. A bad archive in its place is removed first; if its server is a home, only when a quorum
// of homes accepts the version without it. Errors: kConflict when the name was changed meanwhile; else what
// the servers said, and the draft is left to the cleaner.
Task<Status> PlaceCopy(Engine& engine, ObjectPath path, MemberIndex member, State draft, Accepted version);

}  // namespace xec
