// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_pace.hh"

#include <utility>

namespace xec {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

bool RebuildPace::IsSlow(std::optional<Duration> latency, TimePoint now) {
  if (!latency) return false;
  if (latency != last_) last_changed_ = now;
  last_ = latency;
  if (last_changed_ < now - kLatencyStale) return false;
  idle_.Note(*latency, now);
  const Duration idle = *idle_.best();
  return *latency > std::max(kLatencyFactor * idle, idle + kLatencyRise);
}

void RebuildPace::NoteTrying(TimePoint now) {
  const bool may = beside_clients_ && !fastest_.best();
  if (may && !trying_ && (try_began_ == TimePoint::min() || now >= try_began_ + kTryAgain)) {
    trying_ = true;
    try_began_ = now;
  }
  trying_ = trying_ && may && now < try_began_ + kTryMax;
}

void RebuildPace::NoteWork(const Seen& seen, TimePoint now) {
  fastest_.Forget(now);
  const bool counts = seen.busy && (!beside_clients_ || trying_);
  if (!counts) {
    window_.reset();
  } else if (!window_) {
    window_ = Window{now, seen.work};
  } else if (now >= window_->at + kWindow) {
    const double rate = static_cast<double>(seen.work - window_->work) / Seconds(now - window_->at);
    // A stripe counts when it is whole, and may take long.
    fastest_.Note(std::max(beside_clients_ ? kTriedFactor * rate : rate, kSlowest), now);
    window_ = Window{now, seen.work};
  }
  NoteTrying(now);
}

void RebuildPace::NoteBeside(const Seen& seen, TimePoint now) {
  const auto work = static_cast<double>(seen.work);
  const double rate = Share();
  by_now_ = std::min(by_now_ + rate * Seconds(now - noted_), work + rate * Seconds(kLagMax));
  if (trying_ || behind_) by_now_ = std::max(by_now_, work);
  if (now < changed_ + kRaiseEvery || trying_) return;
  const bool lags = seen.busy && by_now_ > work + rate * Seconds(kLagMax) / 2;
  if (lags && beside_ < most_) {
    ++beside_;
    changed_ = now;
  } else if (by_now_ < work && beside_ > 1) {
    --beside_;
    changed_ = now;
  }
}

void RebuildPace::Note(const Seen& seen, TimePoint now) {
  if (seen.clients) clients_at_ = now;
  if (noted_ == TimePoint::min()) noted_ = now;
  const bool slow = IsSlow(seen.latency, now);
  const bool beside = clients_at_ > TimePoint::min() && clients_at_ > now - kClientsGone;
  const bool before = std::exchange(beside_clients_, beside);
  if (beside != before) {
    window_.reset();
    beside_ = 1;
    by_now_ = static_cast<double>(seen.work);
  }
  NoteWork(seen, now);
  if (beside) {
    // What clients leave idle is found out step by step.
    allowed_ = 1;
    NoteBeside(seen, now);
  } else if (before) {
    changed_ = now;
  } else if (slow && now >= changed_ + kLowerEvery) {
    allowed_ = std::max<size_t>(1, allowed_ / 2);
    changed_ = now;
  } else if (!slow && allowed_ < most_ && now >= changed_ + kRaiseEvery) {
    ++allowed_;
    changed_ = now;
  }
  noted_ = now;
}

RebuildPace::Limit RebuildPace::limit() const {
  if (!beside_clients() || trying_) return {};
  return {.work_per_s = Share(), .work = by_now_, .at = noted_};
}

Duration RebuildPace::Limit::Rest(uint64_t done, TimePoint now) const {
  if (work_per_s == std::numeric_limits<double>::infinity()) return Duration::zero();
  const double ahead = static_cast<double>(done) - work - work_per_s * Seconds(now - at);
  if (ahead <= 0) return Duration::zero();
  if (ahead >= work_per_s * Seconds(kRestMax)) return kRestMax;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(ahead / work_per_s));
}

}  // namespace xec
