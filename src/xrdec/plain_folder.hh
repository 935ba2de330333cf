// SPDX-License-Identifier: LGPL-3.0-or-later
// Directories in layout xrdec: folders at their plain name on all servers. They have no versions and no
// tombstones: one that was removed while a server was away is back, empty, with that server.
#pragma once

#include "xrdec/look.hh"

namespace xec {

// All live names of the directory, sorted. Needs all servers but m. Errors: kNotFound, kNotDirectory,
// kNoQuorum.
Task<Result<std::vector<ListedName>>> ListXrdec(Engine& engine, ObjectPath path);

// Makes the directory on every server that answers, which must be all but m. Errors: kAlreadyExists,
// kNotFound (no parent, unless parents are made), kNotDirectory, kNoQuorum.
Task<Status> MakeXrdecDirectory(Engine& engine, ObjectPath path, bool parents);

// OK if the directory exists or, with `make`, was made. Errors: as above.
Task<Status> NeedXrdecDirectory(Engine& engine, ObjectPath path, bool make);

// Removes the directory, which must have no names, on every server that answers, which must be all but m.
// Errors: kNotFound, kNotDirectory, kNotEmpty (also for files that are no objects), kPermissionDenied,
// kNoQuorum; kUnknown: it may be gone on some.
Task<Status> RemoveXrdecDirectory(Engine& engine, ObjectPath path);

}  // namespace xec
