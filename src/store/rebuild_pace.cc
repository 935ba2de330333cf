// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_pace.hh"

#include <utility>

namespace xec {
namespace {

// Two latencies that were told closer together count as one, so that there are not too many.
constexpr Duration kLevelStep = std::chrono::seconds(1);

}  // namespace

// The least one of the last while is in front: one that is longer than a later one never is again.
void RebuildPace::NoteLevel(Duration latency, TimePoint now) {
  while (!levels_.empty() && levels_.front().at < now - kLevelMemory) levels_.pop_front();
  while (!levels_.empty() && levels_.back().latency >= latency) levels_.pop_back();
  if (levels_.empty() || levels_.back().at <= now - kLevelStep) levels_.push_back({now, latency});
}

bool RebuildPace::IsSlow(std::optional<Duration> latency, TimePoint now) {
  if (!latency) return false;
  if (latency != last_) last_changed_ = now;
  last_ = latency;
  if (last_changed_ < now - kLatencyStale) return false;
  NoteLevel(*latency, now);
  const Duration idle = levels_.front().latency;
  return *latency > std::max(kLatencyFactor * idle, idle + kLatencyRise);
}

void RebuildPace::Note(const Seen& seen, TimePoint now) {
  if (seen.clients) clients_at_ = now;
  const bool slow = IsSlow(seen.latency, now);
  const bool before =
      std::exchange(beside_clients_, clients_at_ > TimePoint::min() && clients_at_ > now - kClientsGone);
  // What clients leave idle is found out step by step.
  if (beside_clients_) allowed_ = 1;
  if (beside_clients_ || before) {
    changed_ = now;
    return;
  }
  if (slow && now >= changed_ + kLowerEvery) {
    allowed_ = std::max<size_t>(1, allowed_ / 2);
    changed_ = now;
  } else if (!slow && allowed_ < most_ && now >= changed_ + kRaiseEvery) {
    ++allowed_;
    changed_ = now;
  }
}

}  // namespace xec
