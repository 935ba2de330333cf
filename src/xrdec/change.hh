// SPDX-License-Identifier: LGPL-3.0-or-later
// Removing and renaming objects of layout xrdec.
#pragma once

#include "api/store.hh"
#include "xrdec/look.hh"

namespace xec {

// The register gets a tombstone (commit point), then the archives go from all servers that answer. Archives
// that come back with a server are left over: no look-up of XEC finds them, the cleaner removes them. Errors:
// kNotFound (proved), kIsDirectory, kNoQuorum, kUnknown.
Task<Result<ObjectGone>> RemoveXrdec(Engine& engine, ObjectPath path);

// Takes the archives from the old name, renames the entry of the register (commit point: the name changes at
// one moment for XEC), brings the archives to the new name. Every data server must answer, or no archive
// could be told from a left-over one later. The target must not exist. While it goes on, stock clients find
// the object under neither name or with too few archives. Errors: kNotFound, kIsDirectory, kAlreadyExists,
// kUnavailable, kConflict, kNoQuorum, kUnknown.
Task<Result<Renamed>> RenameXrdec(Engine& engine, ObjectPath from, ObjectPath to);

}  // namespace xec
