// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/server_gather.hh"

#include <algorithm>
#include <functional>

namespace xec {
namespace {

constexpr Duration kCheckAfter = std::chrono::seconds(1);

}  // namespace

size_t ServerWaits::late() const {
  return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), std::mem_fn(&Waiting::late)));
}

std::vector<size_t> ServerWaits::LateTags() const {
  std::vector<size_t> tags;
  for (const Waiting& waiting : waiting_) {
    if (waiting.late) tags.push_back(waiting.tag);
  }
  return tags;
}

void ServerWaits::Add(size_t tag, MemberIndex member, Duration patience) {
  const TimePoint now = engine_.executor().Now();
  // Latched states have no time: a server that is known to be bad is late at once.
  const TimePoint suspect = engine_.health().SuspectFrom(member, now);
  const bool bad = suspect <= now && now - least_ >= suspect;
  waiting_.push_back({.tag = tag,
                      .member = member,
                      .started = now,
                      .patience = patience,
                      .timely_until = bad ? TimePoint::min() : now + least_});
  news_ |= NoteLate(waiting_.back(), now);
}

MemberIndex ServerWaits::End(size_t tag) {
  const auto ended = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& waiting) { return waiting.tag == tag; });
  const MemberIndex member = ended->member;
  waiting_.erase(ended);
  return member;
}

// True: it has become late. A server that was late may be so no more, because all are behind or because it
// answers others.
bool ServerWaits::NoteLate(Waiting& waiting, TimePoint now) {
  const bool before = std::exchange(waiting.late, LateFrom(waiting, now) <= now);
  if (waiting.late) engine_.monitor().Watch(waiting.member);
  return waiting.late && !before;
}

bool ServerWaits::HasNews(TimePoint until) {
  const TimePoint now = engine_.executor().Now();
  bool news = std::exchange(news_, false);
  for (Waiting& waiting : waiting_) news |= NoteLate(waiting, now);
  return news || engine_.executor().Now() >= until;
}

TimePoint ServerWaits::CheckFrom(const Waiting& waiting) const {
  return waiting.started + std::max(kCheckAfter, least_);
}

void ServerWaits::Check() {
  const TimePoint now = engine_.executor().Now();
  for (const Waiting& waiting : waiting_) {
    if (CheckFrom(waiting) <= now && LateFrom(waiting, now) > now) engine_.monitor().Check(waiting.member);
  }
}

TimePoint ServerWaits::LateFrom(const Waiting& waiting, TimePoint now) const {
  const ServerHealth& health = engine_.health();
  const TimePoint from = std::min(health.LateFrom(kind_, waiting.started, waiting.patience, now),
                                  health.SuspectFrom(waiting.member, now));
  return std::max(from, waiting.timely_until);
}

std::optional<TimePoint> ServerWaits::NextTimer(TimePoint until) {
  const TimePoint now = engine_.executor().Now();
  TimePoint next = until;
  for (const Waiting& waiting : waiting_) {
    const TimePoint from = LateFrom(waiting, now);
    if (from <= now) {
      // It was not late a moment ago.
      if (!waiting.late) next = now;
      continue;
    }
    // What others ask of the server later may show sooner that it is silent.
    const Duration shortest = engine_.health().Patience(waiting.member, RequestKind::kMetadata);
    next = std::min({next, from, std::max(now + shortest, waiting.timely_until)});
    if (CheckFrom(waiting) > now) next = std::min(next, CheckFrom(waiting));
  }
  if (next >= armed_) return std::nullopt;
  armed_ = next;
  return next;
}

}  // namespace xec
