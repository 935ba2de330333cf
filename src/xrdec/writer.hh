// SPDX-License-Identifier: LGPL-3.0-or-later
// Writes one object in layout xrdec: k+m archives as stock XrdEc has them, with XEC's manifest as their ZIP
// comment and page checksums in their local headers, which stock readers pass over.
//
//   1. archives /.xec/staged/<oid> are written, synced and closed: nothing is visible
//   2. a version is chosen and put into XrdEc's attributes of every archive
//   3. the register accepts the name (commit point for XEC; at most one creation of a name gets here)
//   4. the archives are renamed to the plain name (stock clients see the object from the k-th on)
//
// A crash before 3 leaves archives that the cleaner removes after the upload grace time; one after 3 an
// object that XEC reads from where its archives are until the cleaner brings them to their name.
#pragma once

#include "object/write/object_writer.hh"

namespace xec {

// Errors: kAlreadyExists (objects are written once; always, whatever options.exclusive says), kIsDirectory,
// kConflict (a file that is no object is in the way), kNoQuorum, kInvalidArgument.
Task<Result<std::unique_ptr<ObjectWriter>>> StartXrdecWriter(Engine& engine, ObjectPath path,
                                                             WriteOptions options);

}  // namespace xec
