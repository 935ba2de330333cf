// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/hedge_budget.hh"

#include <algorithm>

namespace xec {

void HedgeBudget::Note(uint64_t requests) {
  MutexLock lock(mutex_);
  level_ = std::min(kBurst * kToken, level_ + requests * percent_ * kToken / 100);
}

bool HedgeBudget::Take(uint64_t requests, TimePoint now) {
  if (percent_ == 0) return false;
  MutexLock lock(mutex_);
  if (filled_ == TimePoint::min()) filled_ = now;
  constexpr Duration kFillTime = std::chrono::seconds(kBurst / kFloorPerSecond + 1);
  // Another thread may have looked at its clock before and come later.
  const Duration passed = std::clamp<Duration>(now - filled_, Duration(0), kFillTime);
  const auto micros =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
  const uint64_t grown = micros * kFloorPerSecond * kToken / 1'000'000;
  if (grown > 0) {
    level_ = std::min(kBurst * kToken, level_ + grown);
    filled_ = now;
  }
  if (level_ < requests * kToken) return false;
  level_ -= requests * kToken;
  taken_ += requests;
  return true;
}

uint64_t HedgeBudget::taken() const {
  MutexLock lock(mutex_);
  return taken_;
}

}  // namespace xec
