// SPDX-License-Identifier: LGPL-3.0-or-later
// The register of layout xrdec: a name that XEC wrote (or took over from a stock client, before it removes or
// renames it) has an entry at path.Registered(), made, decided, renamed and removed by the commit protocol
// like the name of a native object whose archives are witnesses.
#pragma once

#include "archive/manifest.hh"
#include "commit/programs/put.hh"
#include "xrdec/look.hh"

namespace xec {

// Chooses the version of a new entry; its time in whole seconds is after `above_s` and after any removal of
// the name, for which it may wait a second. Errors: kAlreadyExists, kNoQuorum.
Task<Result<ExclusiveStart>> StartEntry(Engine& engine, ObjectPath path, int64_t above_s);

// Commits the entry: at most one of several creations of a name succeeds. `manifest` tells id, size, geometry
// and checksums of the object; its kind, lane and servers do not matter. Errors: kAlreadyExists, kConflict,
// kNoQuorum: nothing is visible; kUnknown: the outcome is open.
Task<Status> CommitEntry(Engine& engine, ObjectPath path, ExclusiveStart start, Manifest manifest,
                         Settings settings);

// Makes an entry for an object that is not in the register, and looks it up again. Errors as above.
Task<Result<XrdecName>> TakeOver(Engine& engine, XrdecName name, XrdecWidth width);

// XrdEc's version of an entry: seconds since 1970.
int64_t XrdecVersionOf(const Version& version);

}  // namespace xec
