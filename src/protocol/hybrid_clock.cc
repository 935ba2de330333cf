// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/hybrid_clock.hh"

#include <algorithm>

#include "base/mutant.hh"

namespace xec {

Result<Version> HybridClock::Next(int64_t wall_ms, const std::optional<Version>& above) {
  if (above && above->WallMillis() - wall_ms > kClockDriftMaxMs) {
    return Fail(Code::kUnavailable,
                "version {} is {} minutes ahead of this machine's clock: check the clocks of the gateways",
                above->ToString(), (above->WallMillis() - wall_ms) / 60000);
  }
  MutexLock lock(mutex_);
  uint64_t clock = std::max(static_cast<uint64_t>(wall_ms) << kLogicalBits, last_ + 1);
  if (above && !MutantActive(Mutant::kVersionByClockAlone)) clock = std::max(clock, above->clock + 1);
  last_ = clock;
  return Version{clock, writer_, false};
}

}  // namespace xec
