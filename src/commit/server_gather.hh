// SPDX-License-Identifier: LGPL-3.0-or-later
// ServerGather<T>: a Gather of one task for each server that knows who is late: a server that is suspect or
// down, or whose task takes longer than the patience with it. An operation goes on without those who are late
// as if they had failed, once its rule is fulfilled by the others; as long as it is not, it asks further
// servers in their place and waits on. So a quorum stays a quorum, and a deadline is waited for only when too
// many servers are bad (promise P8).
//
// Tasks that are left behind run on to their end, as those of Gather do: what they still do must be as
// harmless as the requests of a client that sleeps.
#pragma once

#include "commit/engine.hh"
#include "runtime/gather.hh"

namespace xec {

template <typename T>
class ServerGather {
 public:
  struct Event {
    MemberIndex member = 0;
    std::optional<T> value;  // nullopt: one more has become late
  };

  // `kind`: the slowest kind of request in a task; patience is that of one such request. `least`: so long
  // a silence is no lateness, for work that nobody waits for.
  explicit ServerGather(Engine& engine, RequestKind kind = RequestKind::kMetadata, Duration least = {})
      : engine_(engine), kind_(kind), least_(least), gather_(engine.scope(), engine.executor()) {}

  // One task at a time for each member.
  void Start(MemberIndex member, Task<T> task) {
    const TimePoint now = engine_.executor().Now();
    // Latched states have no time: who is known to be bad is late at once.
    const TimePoint suspect = engine_.health().SuspectFrom(member);
    const bool bad = suspect <= now && now - least_ >= suspect;
    waiting_.push_back({member, now + engine_.health().Patience(member, kind_) + Duration(1),
                        bad ? TimePoint::min() : now + least_});
    gather_.Start(member, std::move(task));
  }

  size_t pending() const { return waiting_.size(); }

  // How many of those pending are late now.
  size_t late() const {
    const TimePoint now = engine_.executor().Now();
    size_t count = 0;
    for (const Waiting& waiting : waiting_) {
      if (LateFrom(waiting) > now) continue;
      ++count;
      engine_.monitor().Watch(waiting.member);
    }
    return count;
  }
  // Those pending who are not late.
  size_t timely() const { return pending() - late(); }

  // The next result, or the news that somebody is late who was not when this was called. Something must be
  // pending.
  Task<Event> Next() {
    const size_t late_before = late();
    while (true) {
      Arm();
      typename Gather<T>::Event event = co_await gather_.Next();
      Event result;
      if (event.value) {
        result.member = static_cast<MemberIndex>(event.tag);
        result.value = std::move(event.value);
        std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.member == result.member; });
        co_return std::move(result);
      }
      armed_ = TimePoint::max();
      if (late() > late_before) co_return std::move(result);
    }
  }

 private:
  struct Waiting {
    MemberIndex member;
    TimePoint late_from;  // whatever the server does for others
    TimePoint timely_until;
  };

  TimePoint LateFrom(const Waiting& waiting) const {
    const TimePoint from = std::min(waiting.late_from, engine_.health().SuspectFrom(waiting.member));
    return std::max(from, waiting.timely_until);
  }

  // A timer for the next one to become late.
  void Arm() {
    const TimePoint now = engine_.executor().Now();
    TimePoint next = TimePoint::max();
    for (const Waiting& waiting : waiting_) {
      const TimePoint from = LateFrom(waiting);
      if (from > now) next = std::min(next, from);
    }
    if (next >= armed_) return;
    armed_ = next;
    gather_.StartTimer(0, next);
  }

  Engine& engine_;
  const RequestKind kind_;
  const Duration least_;
  Gather<T> gather_;
  std::vector<Waiting> waiting_;
  TimePoint armed_ = TimePoint::max();  // the earliest timer that has not fired
};

// Asks one server after the other, those that are well first, and the next one as soon as all asked have
// failed or are late, until `good(member, answer)` holds. False: nobody's was good. `ask(member)` makes the
// task; it must not refer to what ends before the task does, which may be later than this.
template <typename T, typename Ask, typename Good>
Task<bool> AskInTurn(Engine& engine, std::vector<MemberIndex> members, Ask ask, Good good) {
  const std::vector<MemberIndex> order = engine.ByHealth(std::move(members));
  ServerGather<T> gather(engine);
  size_t next = 0;
  while (true) {
    for (; next < order.size() && gather.timely() == 0; ++next) gather.Start(order[next], ask(order[next]));
    if (gather.pending() == 0) co_return false;
    auto event = co_await gather.Next();
    if (event.value && good(event.member, *event.value)) co_return true;
  }
}

}  // namespace xec
