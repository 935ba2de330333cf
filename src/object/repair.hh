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

struct RepairOptions {
  // The version that is meant; when another one is there by now, nothing is done.
  std::optional<Version> version;
  // Servers that will not come back: what they hold is written anew on others, which get nothing of it
  // otherwise.
  std::vector<MemberIndex> gone;
  std::function<void(uint64_t bytes)> progress = [](uint64_t) {};  // hears of bytes read
};

struct RepairReport {
  uint64_t archives_bad = 0;      // found lost, damaged or owed
  uint64_t archives_silent = 0;   // on servers that do not answer: left alone
  uint64_t archives_made = 0;
  std::vector<MemberIndex> silent;    // these servers, ascending
  std::vector<std::string> made;      // one clause for each archive made: what was wrong, where it is now
  std::vector<std::string> problems;  // one sentence for each archive that could not be made
  bool Whole() const { return archives_bad == 0 && archives_silent == 0; }
};

// Reads the object whole to see what is bad, and once more if something is. `info` is live and an object of
// layout native. An archive of a server that is no member of the store is lost. One at a time in a process:
// it holds memory for one stripe while it waits for that of its reads. Errors: kDataLoss, kUnavailable (as
// reading); kCorruption when what was read has not the checksums of the object: nothing is written then.
Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options);

}  // namespace xec
