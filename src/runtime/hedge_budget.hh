// SPDX-License-Identifier: LGPL-3.0-or-later
// HedgeBudget: how many requests a process may send in place of others that are merely late. A token bucket,
// pure but for its lock: it is told the time.
//
// It fills with a share of the requests that are needed anyway, and by kFloorPerSecond in any case, so that a
// lone reader may hedge at once; it holds kBurst at most. So when everything is slow (a full network, busy
// disks), hedging adds little to the load instead of doubling it.
#pragma once

#include <cstdint>

#include "base/mutex.hh"
#include "runtime/executor.hh"

namespace xec {

class HedgeBudget {
 public:
  // No fewer than the chunks of a stripe: whatever one read may want at once.
  static constexpr uint64_t kBurst = 64;
  static constexpr uint64_t kFloorPerSecond = 10;

  // `percent` of the needed requests; 0: Take never succeeds. Starts full.
  explicit HedgeBudget(uint32_t percent) : percent_(percent) {}

  // So many requests were sent that are needed.
  void Note(uint64_t requests);
  // Takes tokens for so many further requests, or none. `now` never goes back.
  bool Take(uint64_t requests, TimePoint now);
  // All requests that Take granted.
  uint64_t taken() const;

 private:
  static constexpr uint64_t kToken = 1000;

  const uint32_t percent_;
  mutable Mutex mutex_;
  uint64_t level_ XEC_GUARDED_BY(mutex_) = kBurst * kToken;
  TimePoint filled_ XEC_GUARDED_BY(mutex_) = TimePoint::min();
  uint64_t taken_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec
