// SPDX-License-Identifier: LGPL-3.0-or-later
// Repair: the archives of an object that are lost or damaged, or that no server took (debts), are written
// anew from what is left, on the servers that should have them, or else on servers that hold no part of the
// object.
#pragma once

#include "api/store_maintenance.hh"
#include "object/read/object_reader.hh"

namespace xec {

// Reads the object whole to see what is bad, and once more if something is. `info` is live and an object of
// layout native. An archive of a server that is no member of the store is lost. One at a time in a process:
// it holds memory for one stripe while it waits for that of its reads. Errors: kDataLoss, kUnavailable (as
// reading); kCorruption when what was read has not the checksums of the object: nothing is written then.
Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options);

}  // namespace xec
