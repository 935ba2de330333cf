// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/fleet_lag.hh"

#include <algorithm>

namespace xec {

FleetLag::FleetLag(size_t servers) {
  for (Kind& kind : kinds_) kind.last.resize(servers);
}

void FleetLag::Note(size_t server, RequestKind kind, TimePoint started, TimePoint now) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  std::lock_guard lock(of.mutex);
  of.last[server] = {now - started, now};
  of.median.store(of.Median(now), std::memory_order_relaxed);
  const TimePoint before = of.last_answer.load(std::memory_order_relaxed);
  of.last_answer.store(std::max(before, now), std::memory_order_release);
}

Duration FleetLag::Kind::Median(TimePoint now) {
  sorted.clear();
  for (const Last& one : last) {
    const bool fresh = one.at != TimePoint::min() && now - one.at <= kMemory;
    sorted.push_back(fresh ? one.latency : Duration::zero());
  }
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

Duration FleetLag::Kind::Since(TimePoint since) const {
  if (last_answer.load(std::memory_order_acquire) <= since) return Duration::zero();
  return median.load(std::memory_order_relaxed);
}

Duration FleetLag::Since(RequestKind kind, TimePoint since) const {
  return std::max(kinds_[static_cast<size_t>(kind)].Since(since),
                  kinds_[static_cast<size_t>(RequestKind::kMetadata)].Since(since));
}

}  // namespace xec
