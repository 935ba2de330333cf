// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/latency_window.hh"

#include <algorithm>

namespace xec {

bool LatencyWindow::Add(Duration latency) {
  const Duration bounded = std::clamp<Duration>(latency, Duration::zero(), std::chrono::hours(1));
  micros_[added_ % kSamples] =
      static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(bounded).count());
  ++added_;
  if (added_ > kSamplesMin && added_ % kSamplesMin != 0) return false;
  std::array<uint32_t, kSamples> sorted = micros_;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(count());
  std::sort(sorted.begin(), end);
  // The smallest sample that at least this share of all does not exceed.
  const auto quantile = [&](size_t percent) {
    const size_t rank = (count() * percent + 99) / 100;
    return std::chrono::microseconds(sorted[rank - 1]);
  };
  median_ = quantile(50);
  high_ = quantile(95);
  return true;
}

}  // namespace xec
