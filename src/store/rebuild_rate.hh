// SPDX-License-Identifier: LGPL-3.0-or-later
// RebuildRate: how long what is left will take, by what was done in the last while. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "runtime/executor.hh"

namespace xec {

class RebuildRate {
 public:
  static constexpr Duration kWindow = std::chrono::seconds(60);
  // With less than this nothing is said.
  static constexpr Duration kWindowMin = std::chrono::seconds(3);

  // What was done by `now`, in all.
  void Note(uint64_t bytes, uint64_t objects, TimePoint now) {
    while (!samples_.empty() && samples_.front().at < now - kWindow) samples_.pop_front();
    if (samples_.empty() || samples_.back().at <= now - kStep) samples_.push_back({now, bytes, objects});
    last_ = {now, bytes, objects};
  }

  // Bytes take time, and objects do, however small: the longer of the two. nullopt: nobody can know.
  std::optional<Duration> Left(uint64_t bytes, uint64_t objects) const {
    if (bytes == 0 && objects == 0) return Duration::zero();
    if (samples_.empty() || last_.at < samples_.front().at + kWindowMin) return std::nullopt;
    const Sample& first = samples_.front();
    const auto time = static_cast<double>((last_.at - first.at).count());
    double left = 0;
    for (const auto& [todo, done] :
         {std::pair(bytes, last_.bytes - first.bytes), std::pair(objects, last_.objects - first.objects)}) {
      if (todo == 0) continue;
      if (done == 0) return std::nullopt;
      left = std::max(left, time * static_cast<double>(todo) / static_cast<double>(done));
    }
    if (left >= kLongest) return std::nullopt;
    return Duration(static_cast<Duration::rep>(left));
  }

 private:
  static constexpr Duration kStep = std::chrono::seconds(1);
  static constexpr double kLongest = 1e18;  // in the unit of Duration: what it can hold

  struct Sample {
    TimePoint at;
    uint64_t bytes = 0;
    uint64_t objects = 0;
  };
  std::deque<Sample> samples_;  // one for each kStep of the window
  Sample last_;
};

}  // namespace xec
