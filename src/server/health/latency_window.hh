// SPDX-License-Identifier: LGPL-3.0-or-later
// LatencyWindow: the last latencies of one kind of request on one server, and two quantiles of them. Bounded,
// exact, and it forgets by count, not by time: a server that is not used does not change. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/executor.hh"

namespace xec {

class LatencyWindow {
 public:
  static constexpr size_t kSamples = 32;
  // With fewer samples than this the quantiles mean little.
  static constexpr size_t kSamplesMin = 8;

  // Negative latencies count as 0; an hour and more as an hour. True if the quantiles were computed anew: at
  // each of the first samples, later at every kSamplesMin-th.
  bool Add(Duration latency);

  // Samples in the window.
  size_t count() const { return added_ < kSamples ? static_cast<size_t>(added_) : kSamples; }
  // 0 while the window is empty.
  Duration median() const { return median_; }
  Duration high() const { return high_; }  // 95 of 100 were no longer than this

 private:
  std::array<uint32_t, kSamples> micros_ = {};
  uint64_t added_ = 0;
  Duration median_{0};
  Duration high_{0};
};

}  // namespace xec
