// SPDX-License-Identifier: LGPL-3.0-or-later
// Repair: the archives of an object that are lost or damaged, or that no server took (debts), are written
// anew from what is left, on the servers that should have them, or else on servers that hold no part of the
// object.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "object/object_reader.hh"

namespace xec {

struct RepairReport {
  uint64_t archives_bad = 0;      // found lost, damaged or owed
  uint64_t archives_silent = 0;   // on servers that do not answer: left alone
  uint64_t archives_made = 0;
  std::vector<std::string> problems;  // one sentence for each archive that could not be made
};

// Reads the object whole to see what is bad, and once more if something is. `info` is live and an object of
// layout native; `progress` hears of bytes read. One at a time in a process: it holds memory for one stripe
// while it waits for that of its reads. Errors: kDataLoss, kUnavailable (as reading); kCorruption when what
// was read has not the checksums of the object: nothing is written then.
Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info,
                                        std::function<void(uint64_t bytes)> progress);

}  // namespace xec
