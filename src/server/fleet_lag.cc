// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/fleet_lag.hh"

#include <algorithm>

namespace xec {

FleetLag::FleetLag(size_t servers) {
  for (Kind& kind : kinds_) kind.servers.resize(servers);
}

void FleetLag::Note(size_t server, RequestKind kind, TimePoint started, TimePoint now) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  std::lock_guard lock(of.mutex);
  of.servers[server].latency = now - started;
  of.servers[server].at = now;
  of.last_answer = std::max(of.last_answer, now);
}

void FleetLag::NoteQuiet(size_t server, RequestKind kind, TimePoint since) {
  Kind& of = kinds_[static_cast<size_t>(kind)];
  std::lock_guard lock(of.mutex);
  of.servers[server].quiet = since;
}

Duration FleetLag::Kind::At(TimePoint since, TimePoint now) const {
  std::lock_guard lock(mutex);
  sorted.clear();
  for (const Last& server : servers) {
    const bool fresh = last_answer > since && server.at != TimePoint::min() && now - server.at <= kMemory;
    const Duration answered = fresh ? server.latency : Duration::zero();
    const Duration quiet = server.quiet < now ? now - server.quiet : Duration::zero();
    sorted.push_back(std::max(answered, quiet));
  }
  const auto third = sorted.begin() + static_cast<ptrdiff_t>((sorted.size() - 1) / 3);
  std::nth_element(sorted.begin(), third, sorted.end());
  return *third;
}

Duration FleetLag::At(RequestKind kind, TimePoint since, TimePoint now) const {
  const Duration of_kind = kinds_[static_cast<size_t>(kind)].At(since, now);
  if (kind == RequestKind::kMetadata) return of_kind;
  return std::max(of_kind, kinds_[static_cast<size_t>(RequestKind::kMetadata)].At(since, now));
}

}  // namespace xec
