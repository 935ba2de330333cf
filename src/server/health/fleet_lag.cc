// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/fleet_lag.hh"

#include <algorithm>

namespace xec {

FleetLag::FleetLag(size_t servers) {
  for (Kind& kind : kinds_) kind.servers.resize(servers);
}

void FleetLag::Note(size_t server, RequestKind kind, TimePoint started, TimePoint now) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  MutexLock lock(of.mutex);
  of.servers[server].latency = now - started;
  of.servers[server].at = now;
  const TimePoint before = of.last_answer;
  // Nobody is judged by a lag from before others answered again.
  if (before == TimePoint::min() || now - before >= kSampleFor) of.sampled = TimePoint::min();
  of.last_answer = std::max(before, now);
}

void FleetLag::NoteQuiet(size_t server, RequestKind kind, TimePoint since) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  MutexLock lock(of.mutex);
  of.servers[server].quiet = since;
}

void FleetLag::NoteBad(size_t server, RequestKind kind, bool bad) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  MutexLock lock(of.mutex);
  of.servers[server].bad = bad;
  of.sampled = TimePoint::min();
}

template <typename Takes>
Duration FleetLag::Lag(Kind& of, Takes takes) {
  of.sorted.clear();
  for (const Last& server : of.servers) {
    if (!server.bad) of.sorted.push_back(takes(server));
  }
  if (of.sorted.size() < 2) return Duration::zero();
  const auto third = of.sorted.begin() + static_cast<ptrdiff_t>((of.sorted.size() - 2) / 3);
  std::nth_element(of.sorted.begin(), third, of.sorted.end());
  return *third;
}

void FleetLag::Sample(Kind& of, TimePoint now) {
  const auto quiet = [now](const Last& server) {
    return server.quiet < now ? now - server.quiet : Duration::zero();
  };
  const auto answered = [now](const Last& server) {
    const bool fresh = server.at != TimePoint::min() && now - server.at <= kMemory;
    return fresh ? server.latency : Duration::zero();
  };
  MutexLock lock(of.mutex);
  of.quiet = Lag(of, quiet);
  of.answered = Lag(of, answered);
  of.either = Lag(of, [&](const Last& server) { return std::max(quiet(server), answered(server)); });
  of.sampled = now;
}

Duration FleetLag::LagOf(RequestKind kind, TimePoint since, TimePoint now, By by) const {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  const TimePoint sampled = of.sampled;
  if (sampled == TimePoint::min() || now - sampled >= kSampleFor) Sample(of, now);
  const bool known = of.last_answer.load() > since;
  if (by == By::kAnswers) return known ? of.answered.load() : Duration::zero();
  return (known ? of.either : of.quiet).load();
}

Duration FleetLag::At(RequestKind kind, TimePoint since, TimePoint now) const {
  return std::max(LagOf(kind, since, now, By::kSilenceToo),
                  LagOf(RequestKind::kMetadata, since, now, By::kSilenceToo));
}

Duration FleetLag::Answered(RequestKind kind, TimePoint since, TimePoint now) const {
  return std::max(LagOf(kind, since, now, By::kAnswers),
                  LagOf(RequestKind::kMetadata, since, now, By::kAnswers));
}

}  // namespace xec
