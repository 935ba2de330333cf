// SPDX-License-Identifier: LGPL-3.0-or-later
// The hybrid logical clock: new versions are above everything their writer has seen and close to wall time.
// Source: Kulkarni, Demirbas et al., "Logical Physical Clocks", OPODIS 2014.
#pragma once

#include "base/mutex.hh"
#include "base/result.hh"
#include "protocol/version.hh"

namespace xec {

// A version further ahead of our own wall clock than this is not believed: its server or our clock is wrong.
constexpr int64_t kClockDriftMaxMs = 3600 * 1000;

// Thread-safe.
class HybridClock {
 public:
  explicit HybridClock(uint32_t writer) : writer_(writer) {}

  // A version above `above` (if any), above every version this clock gave out before, and not below the wall
  // clock. Error: kUnavailable when `above` is more than kClockDriftMaxMs ahead of `wall_ms`.
  Result<Version> Next(int64_t wall_ms, const std::optional<Version>& above);

 private:
  const uint32_t writer_;
  Mutex mutex_;
  uint64_t last_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec
