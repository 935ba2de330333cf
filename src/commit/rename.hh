// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming objects and directories (docs/protocol.md, RENAME and FINISH).
#pragma once

#include "commit/names.hh"

namespace xec {

// Moves the object `from` to `to`, replacing an object there. Errors: kNotFound, kIsDirectory (either is one),
// kNoQuorum, kConflict, kUnknown.
Task<Status> RenameObject(Engine& engine, ObjectPath from, ObjectPath to);

// Renames a directory with everything below it; the target must not exist. Logged and resumable. Errors: as above,
// kAlreadyExists, kInvalidArgument (into itself), kNotEmpty (others kept writing into it).
Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to);

// Goes on with directory renames whose process has died. The first problem met, if any.
Task<Status> ResumeDirectoryRenames(Engine& engine);

// Makes the new name of a move visible. `moved` is the accepted moved tombstone of `from`, on a quorum of its homes.
// Idempotent; any number of clients may do it at once.
Task<Status> FinishMove(Engine& engine, ObjectPath from, Accepted moved);

}  // namespace xec
