// SPDX-License-Identifier: LGPL-3.0-or-later
// How an archive that was lost or damaged comes back (docs/protocol/repair.md, COPY): its copy is written
// under the name of a draft, which nobody counts, and takes the archive's name when it is complete.
#pragma once

#include "commit/engine/access.hh"

namespace xec {

// Nobody waits for a repair: so long a silence is no lateness.
constexpr Duration kRepairPatience = std::chrono::seconds(1);

// What became of a copy.
struct Placed {
  Status status;
  // The draft may be all that is left of the lane: what was in its place is gone, or may be. It must not be
  // removed.
  bool keep_draft = false;
};

// The archive in whose place a copy of the version would come, as the listing shows it.
std::optional<State> ArchiveInPlace(const States& states, const Accepted& version);

// Gives the draft, complete, synced and closed, the archive's name on this server, if the version is still
// what lives there. `replaces`: the bad archive as it was listed before it was found bad; nullopt if there
// was none. It is removed first; if its server is a home, only when that has a witness and a quorum of homes
// accepts the version without it. Errors: kConflict when the name was changed meanwhile, when the cleaner
// took the draft, or when another archive is in the place than `replaces`; kUnavailable when the home takes
// no witness, or too few of the others answer; else what the servers said.
Task<Placed> PlaceCopy(Engine& engine, ObjectPath path, MemberIndex member, State draft, Accepted version,
                       std::optional<State> replaces);

// Removes the bad archive, as it was listed before it was found bad, of a lane whose copy stands on another
// server by now: readers that find it where the other archives say would ask for it first. Errors: as of
// PlaceCopy.
Task<Status> RemoveBad(Engine& engine, ObjectPath path, MemberIndex member, Accepted version, State bad);

}  // namespace xec
