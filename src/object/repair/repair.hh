// SPDX-License-Identifier: LGPL-3.0-or-later
// Repair: the archives of an object that are lost or damaged, or that no server took (debts), are written
// anew from what is left, on the servers that should have them, or else on servers that hold no part of the
// object.
#pragma once

#include "api/store_maintenance.hh"
#include "object/read/object_reader.hh"

namespace xec {

// Reads the object whole to see what is bad, and once more if something is. One that is not deep
// (RepairOptions) goes by the directories of the archives, and reads k chunks of each stripe that lacks some;
// a chunk that turns out to be damaged then is lost as well. `info` is live and an object of layout native.
// An archive of a server that is no member of the store is lost. Several may run at once, also for one
// object: none waits for memory with memory in hand. Errors: kDataLoss, kUnavailable (as reading);
// kCorruption when what was read has not the checksums of the object: nothing is written then; kCancelled as
// `options` say.
Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options);

// Memory of the budget that one takes at most that is not deep.
uint64_t RepairMemoryBytes(const Geometry& geometry);

}  // namespace xec
