// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming objects and directories (docs/protocol.md, RENAME and FINISH).
#pragma once

#include <optional>

#include "commit/parent.hh"

namespace xec {

// Moves the object `from` to `to`, replacing an object there; both change at one moment, the commit of the
// moved tombstone. User attributes go along (one set while the rename runs may be lost). Errors: kNotFound,
// kIsDirectory (either is one), kNotDirectory (the parent of `to`), kNoQuorum, kConflict (another rename of
// it is under way, or died and was not cleaned up yet), kUnknown. `below`: only what is at `from` while this
// very directory lives, else kNotFound; and nothing is replaced: kNotEmpty. `parent`: what has to stand above
// `to`; nothing where users do not see it.
Task<Status> RenameObject(Engine& engine, ObjectPath from, ObjectPath to,
                          std::optional<ParentNeed> parent = std::nullopt,
                          std::optional<DirectoryVersion> below = std::nullopt);

// Renames a directory with everything below it; the target must not exist, or be an empty directory (whose
// user attributes stay, beside those that come). Logged and resumable. Errors: as above, kAlreadyExists,
// kInvalidArgument (into itself), kNotEmpty (the target, or others kept writing into it).
Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to);

// Goes on with directory renames whose process has died. False: come again, since servers were not heard that
// may know of more, or somebody may still be at one.
// Error: the last problem met.
Task<Result<bool>> ResumeDirectoryRenames(Engine& engine);

}  // namespace xec
