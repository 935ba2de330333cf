// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/server_health.hh"

#include <algorithm>
#include <utility>

#include "base/mutant.hh"

namespace xec {
namespace {

// Beyond it doubling the time of distrust changes nothing.
constexpr int kFailuresMax = 10;

// From when it is late by what others take.
TimePoint Behind(TimePoint since, Duration lag) {
  return since + std::min(HealthRules::kPatienceFactor * lag, HealthRules::kBehindMost) + Duration(1);
}

}  // namespace

RequestEnd EndOf(Code code) {
  if (code == Code::kDeadlineExceeded) return RequestEnd::kSilent;
  if (code == Code::kUnavailable) return RequestEnd::kUnreachable;
  if (code == Code::kCancelled) return RequestEnd::kDropped;
  return RequestEnd::kAnswered;
}

TimePoint LateFrom(const FleetLag& fleet, RequestKind kind, TimePoint since, Duration patience,
                   TimePoint now) {
  const TimePoint alone = since + patience + Duration(1);
  return now < alone ? alone : std::max(alone, Behind(since, fleet.At(kind, since, now)));
}

uint64_t ServerRecord::Begin(RequestKind kind, TimePoint now) {
  const uint64_t ticket = next_ticket_++;
  of(kind).owed.emplace(ticket, now);
  NoteQuiet(kind);
  return ticket;
}

bool ServerRecord::End(RequestKind kind, uint64_t ticket, TimePoint started, TimePoint now, RequestEnd end) {
  Kind& requests = of(kind);
  if (end == RequestEnd::kAnswered) {
    NoteSilent(now);
    const bool was_bad = IsBad();
    const bool late = OftenOvertaken(kind, started, now);
    requests.owed.erase(requests.owed.begin(), requests.owed.upper_bound(ticket));
    requests.last_answer = now;
    requests.latest_answered = std::max(requests.latest_answered, started);
    NoteQuiet(kind);
    bad_.reset();
    TellFleet();
    if (was_bad && !IsBad()) {
      up_since_ = now;
      Distrust(now, true);
    } else if (late && !was_bad) {
      Distrust(now, now >= trusted_from_);
    }
    return requests.latencies.Add(now - started);
  }
  const TimePoint quiet = QuietSince(kind);
  const bool silent = silent_[static_cast<size_t>(kind)];
  const bool owed = requests.owed.erase(ticket) > 0;
  NoteQuiet(kind);
  // When the deadline passes it is silent, even if everybody is: one deadline after the other they are found.
  const TimePoint others = Behind(started, fleet_.Answered(kind, started, now));
  if (end == RequestEnd::kUnreachable) {
    NoteBad(ServerState::kDown, std::min(quiet, now));
  } else if (end == RequestEnd::kSilent && owed &&
             (silent || now > std::max(started + Patience(kind), others))) {
    NoteBad(ServerState::kSuspect, quiet);
  }
  TellFleet();
  return false;
}

bool ServerRecord::OftenOvertaken(RequestKind kind, TimePoint started, TimePoint now) {
  Kind& requests = of(kind);
  requests.since_overtaken = std::min(requests.since_overtaken + 1, HealthRules::kOvertakenOf + 1);
  const TimePoint due = LateFrom(fleet_, kind, started, Patience(kind), now);
  // A stall lets go of all that it has held up at once.
  const Duration together = rules_.patience[static_cast<size_t>(kind)].least;
  const bool same = requests.overtaken != TimePoint::min() && now - requests.overtaken < together;
  if (requests.latest_answered < due || same) return false;
  requests.overtaken = now;
  return std::exchange(requests.since_overtaken, 0) <= HealthRules::kOvertakenOf;
}

void ServerRecord::NoteBad(ServerState state, TimePoint since) {
  if (!bad_) bad_ = Bad{state, since};
  if (state == ServerState::kDown) bad_->state = state;
}

void ServerRecord::Distrust(TimePoint now, bool again) {
  if (again) {
    const bool soon = trusted_from_ != TimePoint::min() && now < trusted_from_ + rules_.forgive;
    failures_ = soon ? std::min(failures_ + 1, kFailuresMax) : 0;
  }
  const Duration wait = rules_.trust_first * (1 << failures_);
  trusted_from_ = std::max(trusted_from_, now + std::min(wait, rules_.trust_longest));
}

void ServerRecord::NoteQuiet(RequestKind kind) {
  const Kind& requests = of(kind);
  TimePoint& quiet = quiet_since_[static_cast<size_t>(kind)];
  const TimePoint before = std::exchange(
      quiet, requests.owed.empty() ? TimePoint::max()
                                   : std::max(requests.owed.begin()->second, requests.last_answer));
  if (quiet == before) return;
  silent_[static_cast<size_t>(kind)] = false;
  fleet_.NoteQuiet(server_, kind, quiet);
}

void ServerRecord::TellFleet() {
  for (size_t i = 0; i < kRequestKindCount; ++i) {
    const bool bad = bad_.has_value() || silent_[i];
    if (std::exchange(told_bad_[i], bad) != bad) fleet_.NoteBad(server_, static_cast<RequestKind>(i), bad);
  }
}

bool ServerRecord::IsBad() const { return bad_.has_value() || std::ranges::count(silent_, true) > 0; }

void ServerRecord::NoteSilent(TimePoint now) {
  for (size_t i = 0; i < kRequestKindCount; ++i) {
    if (SilentFrom(static_cast<RequestKind>(i), now) <= now) silent_[i] = true;
  }
  TellFleet();
}

Standing ServerRecord::At(TimePoint now) {
  if (bad_) return {.state = bad_->state, .since = bad_->since, .trusted = false};
  NoteSilent(now);
  TimePoint silent = TimePoint::max();
  for (size_t i = 0; i < kRequestKindCount; ++i) {
    if (silent_[i]) silent = std::min(silent, quiet_since_[i]);
  }
  if (silent != TimePoint::max()) return {.state = ServerState::kSuspect, .since = silent, .trusted = false};
  return {.state = ServerState::kUp, .since = up_since_, .trusted = now >= trusted_from_};
}

TimePoint ServerRecord::SuspectFrom(TimePoint now) {
  if (bad_) return TimePoint::min();
  NoteSilent(now);
  TimePoint from = TimePoint::max();
  for (size_t i = 0; i < kRequestKindCount; ++i)
    from = std::min(from, SilentFrom(static_cast<RequestKind>(i), now));
  return from;
}

TimePoint ServerRecord::SilentFrom(RequestKind kind, TimePoint now) const {
  const TimePoint quiet = QuietSince(kind);
  if (quiet == TimePoint::max()) return quiet;
  if (silent_[static_cast<size_t>(kind)]) return quiet + Patience(kind) + Duration(1);
  return LateFrom(fleet_, kind, quiet, Patience(kind), now);
}

Duration ServerRecord::Patience(RequestKind kind) const {
  if (MutantActive(Mutant::kWaitForEverybody)) return std::chrono::hours(1);
  const HealthRules::Bounds& bounds = rules_.patience[static_cast<size_t>(kind)];
  const LatencyWindow& latencies = of(kind).latencies;
  if (latencies.count() < LatencyWindow::kSamplesMin) return std::max(bounds.first, bounds.least);
  return std::clamp(HealthRules::kPatienceFactor * latencies.high(), bounds.least, bounds.most);
}

ServerHealth::ServerHealth(size_t servers, HealthRules rules)
    : rules_(rules), fleet_(servers), medians_(servers, Medians{}) {
  slots_.reserve(servers);
  for (size_t i = 0; i < servers; ++i) slots_.push_back(std::make_unique<Slot>(rules_, fleet_, i));
}

uint64_t ServerHealth::Begin(size_t server, RequestKind kind, TimePoint now) {
  Slot& slot = *slots_[server];
  MutexLock lock(slot.mutex);
  return slot.record.Begin(kind, now);
}

void ServerHealth::End(size_t server, RequestKind kind, uint64_t ticket, TimePoint started, TimePoint now,
                       RequestEnd end, const std::string& problem) {
  if (end == RequestEnd::kAnswered) fleet_.Note(server, kind, started, now);
  Slot& slot = *slots_[server];
  Duration median{0};
  {
    MutexLock lock(slot.mutex);
    if (!problem.empty()) slot.problem = problem;
    const bool changed = slot.record.End(kind, ticket, started, now, end);
    const LatencyWindow& latencies = slot.record.latencies(kind);
    if (changed && latencies.count() >= LatencyWindow::kSamplesMin) median = latencies.median();
  }
  if (median > Duration::zero()) NoteMedian(server, kind, median);
  if (end == RequestEnd::kAnswered) NoteSlow(server, kind, started, now);
}

void ServerHealth::NoteMedian(size_t server, RequestKind kind, Duration median) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(median).count();
  MutexLock lock(medians_mutex_);
  medians_[server][static_cast<size_t>(kind)] = static_cast<uint32_t>(std::max<int64_t>(micros, 1));
}

bool ServerHealth::MuchSlower(RequestKind kind, TimePoint started, TimePoint now) {
  const Duration latency = now - started;
  // Writes and syncs wait for the disk.
  if (latency <= rules_.slow_least || kind == RequestKind::kWrite || kind == RequestKind::kSync) return false;
  std::vector<uint32_t> known;
  {
    MutexLock lock(medians_mutex_);
    for (const Medians& medians : medians_) {
      const uint32_t median = medians[static_cast<size_t>(kind)];
      if (median > 0) known.push_back(median);
    }
  }
  if (known.empty()) return false;
  const auto middle = known.begin() + static_cast<ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  // Medians of servers with little to do are old.
  const Duration lag = fleet_.At(kind, started, now);
  const Duration others = std::max<Duration>(std::chrono::microseconds(*middle), lag);
  return latency > HealthRules::kSlowFactor * others;
}

void ServerHealth::NoteSlow(size_t server, RequestKind kind, TimePoint started, TimePoint now) {
  const bool slow = MuchSlower(kind, started, now);
  Slot& slot = *slots_[server];
  MutexLock lock(slot.mutex);
  Slot::SlowRow& row = slot.slow_rows[static_cast<size_t>(kind)];
  if (started < row.last) return;
  row.last = now;
  row.length = slow ? std::min(row.length + 1, HealthRules::kSlowInARow) : 0;
  if (row.length == HealthRules::kSlowInARow) slot.slow_until = now + rules_.slow_memory;
}

Standing ServerHealth::At(size_t server, TimePoint now) const {
  Slot& slot = *slots_[server];
  MutexLock lock(slot.mutex);
  return slot.record.At(now);
}

TimePoint ServerHealth::SuspectFrom(size_t server, TimePoint now) const {
  Slot& slot = *slots_[server];
  MutexLock lock(slot.mutex);
  return slot.record.SuspectFrom(now);
}

Duration ServerHealth::Patience(size_t server, RequestKind kind) const {
  const Slot& slot = *slots_[server];
  MutexLock lock(slot.mutex);
  return slot.record.Patience(kind);
}

namespace {

// Where more than a third are slow (of few servers, more than one), what they have in common is slow: this
// machine, or the network. To ask others in their place would only be more work for it.
template <typename Slots>
bool IsSlow(const Slots& slots, size_t server, TimePoint now) {
  if (!slots[server]->Slow(now)) return false;
  const auto slow = std::ranges::count_if(slots, [now](const auto& slot) { return slot->Slow(now); });
  return static_cast<size_t>(slow) <= std::max<size_t>(1, slots.size() / 3);
}

}  // namespace

int ServerHealth::Rank(size_t server, TimePoint now) const {
  const Standing standing = At(server, now);
  switch (standing.state) {
    case ServerState::kDown: return kWorstRank;
    case ServerState::kSuspect: return kRankSuspect;
    case ServerState::kUp: break;
  }
  if (!standing.trusted) return kRankUntrusted;
  return IsSlow(slots_, server, now) ? 1 : 0;
}

ServerHealth::Report ServerHealth::ReportOf(size_t server, TimePoint now) const {
  Slot& slot = *slots_[server];
  Report report;
  report.slow = IsSlow(slots_, server, now);
  MutexLock lock(slot.mutex);
  report.standing = slot.record.At(now);
  report.problem = slot.problem;
  for (size_t i = 0; i < kRequestKindCount; ++i) {
    const auto kind = static_cast<RequestKind>(i);
    const LatencyWindow& latencies = slot.record.latencies(kind);
    report.latencies[i] = {latencies.count(), latencies.median(), latencies.high(),
                           slot.record.Patience(kind)};
  }
  return report;
}

}  // namespace xec
