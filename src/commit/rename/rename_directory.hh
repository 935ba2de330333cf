// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming a directory: a logged list of renames of what is in it. Every object below is atomically under
// exactly one of the two names at any time; a crash leaves the log, and the next cleaner goes on.
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Renames a directory with everything below it; the target must not exist, or be an empty directory (whose
// user attributes stay, beside those that come). Logged and resumable. Errors: as of RenameObject,
// kAlreadyExists, kInvalidArgument (into itself), kNotEmpty (the target, or others kept writing into it).
Task<Status> RenameDirectory(Engine& engine, ObjectPath from, ObjectPath to);

// Goes on with directory renames whose process has died. False: come again, since servers were not heard that
// may know of more, or somebody may still be at one.
// Error: the last problem met.
Task<Result<bool>> ResumeDirectoryRenames(Engine& engine);

}  // namespace xec
