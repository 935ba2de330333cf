// SPDX-License-Identifier: LGPL-3.0-or-later
// Balance: archives are moved from full members to emptier ones; what is asked of it and what it tells.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "api/rebuild.hh"

namespace xec {

struct BalanceOptions {
  static constexpr double kWithin = 0.05;

  // How far the full part of each member may be from that of all of them together: 0.05 are 5 points.
  double within = kWithin;
  // Nothing is written; what would be is told.
  bool dry_run = false;
  // As of RebuildOptions.
  std::function<void(const RebuiltObject&)> told = [](const RebuiltObject&) {};
  std::function<bool(const RebuildProgress&)> progress = [](const RebuildProgress&) { return true; };
};

// How full a member's disk is; members with one file system have one disk.
struct MemberFill {
  uint64_t total_bytes = 0;
  uint64_t before_bytes = 0;  // used
  uint64_t after_bytes = 0;   // likewise, by what was moved, or would be

  double before() const { return Part(before_bytes); }
  double after() const { return Part(after_bytes); }

 private:
  double Part(uint64_t used) const {
    return total_bytes == 0 ? 0 : static_cast<double>(used) / static_cast<double>(total_bytes);
  }
};

struct BalanceReport {
  // By member; nullopt: it did not answer, is in maintenance, or is about to go.
  std::vector<std::optional<MemberFill>> members;
  double mean = 0;  // the full part of all disks together
  uint64_t least_bytes = 0;  // so much has to be moved at least
  uint64_t moved_bytes = 0;  // of archives
  uint64_t moved_archives = 0;
  uint64_t objects = 0;  // looked at
  uint64_t skipped = 0;  // of these lack archives: nothing of them is moved before they are repaired
  bool balanced = false;
  std::vector<RebuildReport::NotDone> not_done;
};

}  // namespace xec
