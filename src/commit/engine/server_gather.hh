// SPDX-License-Identifier: LGPL-3.0-or-later
// ServerGather<T>: a Gather of one task for each server, which knows the late ones: a server that is suspect
// or down, or whose task takes longer than the patience with it. An operation goes on without late ones as if
// they had failed, once its rule is fulfilled by the others; as long as it is not, it asks further servers in
// their place and waits on. So a quorum stays a quorum, and a deadline is waited for only when too many
// servers are bad (promise P8).
//
// A sync may take seconds on a busy disk. After kCheckAfter of waiting, or where that is more after `least`,
// the server is probed as well: one that answers nothing at all is suspect then long before such a request is
// late.
//
// Tasks that are left behind run on to their end, as those of Gather do: what they still do must be as
// harmless as the requests of a client that sleeps.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "commit/engine/engine.hh"
#include "runtime/gather.hh"

namespace xec {

// What is done about late ones when nobody else has the answer.
enum class Late { kPassedOver, kWaitedFor };

// What a ServerGather knows without the results: the servers that it waits for, and the late ones of them.
class ServerWaits {
 public:
  ServerWaits(const ServerWaits&) = delete;
  ServerWaits& operator=(const ServerWaits&) = delete;

  size_t pending() const { return waiting_.size(); }
  // How many of those pending are late, and their tags. That changes only in Next() and Start(): whatever
  // the owner decides between two calls of Next() it decides by the same answer, and is told of one more.
  size_t late() const;
  std::vector<size_t> LateTags() const;
  // Those pending that are not late.
  size_t timely() const { return pending() - late(); }

 protected:
  ServerWaits(Engine& engine, RequestKind kind, Duration least)
      : engine_(engine), kind_(kind), least_(least) {}
  ~ServerWaits() = default;

  Duration Patience(MemberIndex member) const { return engine_.health().Patience(member, kind_); }
  void Add(size_t tag, MemberIndex member, Duration patience);
  // The task with this tag has ended; answers its member.
  MemberIndex End(size_t tag);
  // Has one become late that was not when last asked, or is it `until`?
  bool HasNews(TimePoint until);
  // Has those probed that are silent for long.
  void Check();
  // When the next one becomes late, or `until`, if that is before the timers that were told so far; else
  // nothing.
  std::optional<TimePoint> NextTimer(TimePoint until);
  // A timer has fired.
  void Disarm() { armed_ = TimePoint::max(); }

 private:
  struct Waiting {
    size_t tag;
    MemberIndex member;
    TimePoint started;
    Duration patience;  // with this task, whatever the server does for others; longer while all are behind
    TimePoint timely_until;
    bool late = false;
  };

  bool NoteLate(Waiting& waiting, TimePoint now);
  TimePoint CheckFrom(const Waiting& waiting) const;
  TimePoint LateFrom(const Waiting& waiting, TimePoint now) const;

  Engine& engine_;
  const RequestKind kind_;
  const Duration least_;
  std::vector<Waiting> waiting_;
  bool news_ = false;  // one was late when it was started
  TimePoint armed_ = TimePoint::max();  // the earliest timer that has not fired
};

template <typename T>
class ServerGather : public ServerWaits {
 public:
  struct Event {
    MemberIndex member = 0;
    size_t tag = 0;
    std::optional<T> value;  // nullopt: one more has become late, or it is time
  };

  // `kind`: the slowest kind of request in a task; patience is that of one such request. `least`: so long
  // a silence is no lateness, for work that nobody waits for.
  explicit ServerGather(Engine& engine, RequestKind kind = RequestKind::kMetadata, Duration least = {})
      : ServerWaits(engine, kind, least), gather_(engine.scope(), engine.executor()) {}

  using Work = typename Gather<T>::Work;

  // One task at a time for each member; its tag is the member.
  void Start(MemberIndex member, Work task) { Start(member, member, Patience(member), std::move(task)); }
  // One task at a time for each tag. By itself it is late after `patience`, or later while everybody is
  // behind.
  void Start(size_t tag, MemberIndex member, Duration patience, Work task) {
    Add(tag, member, patience);
    gather_.Start(tag, std::move(task));
  }

  // A caller that goes on waiting waits for late ones.
  bool OnlyLateOnes() const { return timely() == 0 && !gather_.has_result(); }

  // The next result, or the news that one more has become late (or was when it was started), or that it is
  // `until`. Something must be pending.
  Task<Event> Next(TimePoint until = TimePoint::max()) {
    while (true) {
      Event result;
      // After a stall of our own, answers may be here that would seem to be late.
      if (!gather_.ready() && HasNews(until)) co_return std::move(result);
      if (!gather_.ready()) Check();
      if (const std::optional<TimePoint> timer = NextTimer(until)) gather_.StartTimer(0, *timer);
      typename Gather<T>::Event event = co_await gather_.Next();
      if (event.value) {
        result.tag = event.tag;
        result.value = std::move(event.value);
        result.member = End(result.tag);
        co_return std::move(result);
      }
      Disarm();
    }
  }

 private:
  Gather<T> gather_;
};

// The `least` of a cleaner: one that hears everybody can do more, and nobody waits for it.
constexpr Duration kCleanerPatience = std::chrono::seconds(1);

// For `enough` of AskInTurn. Passed over are as many late ones as homes of a name may be bad, where the
// caller looks again when nobody's answer was good.
inline auto UnlessTooMany(const Engine& engine, Late late_ones) {
  const size_t bad = late_ones == Late::kPassedOver ? engine.LateHomesMax() : 0;
  return [bad](size_t late) { return late <= bad; };
}

// Asks one server after the other, those that are well first, and the next one as soon as all asked have
// failed or are late, until `good(member, answer)` holds. False: nobody's was good. `ask(member)` makes the
// task; it must not refer to what ends before the task does, which may be later than this. `enough(late)`:
// when all others have answered, so many that are late are not waited for. `least`: as of ServerGather.
template <typename T, typename Ask, typename Good, typename Enough>
Task<bool> AskInTurn(Engine& engine, std::vector<MemberIndex> members, Ask ask, Good good, Enough enough,
                     Duration least = {}) {
  const std::vector<MemberIndex> order = engine.ByHealth(std::move(members));
  ServerGather<T> gather(engine, RequestKind::kMetadata, least);
  size_t next = 0;
  while (true) {
    for (; next < order.size() && gather.timely() == 0; ++next) gather.Start(order[next], ask(order[next]));
    if (gather.pending() == 0) co_return false;
    if (gather.OnlyLateOnes() && enough(gather.pending())) co_return false;
    auto event = co_await gather.Next();
    if (event.value && good(event.member, *event.value)) co_return true;
  }
}
template <typename T, typename Ask, typename Good>
Task<bool> AskInTurn(Engine& engine, std::vector<MemberIndex> members, Ask ask, Good good) {
  co_return co_await AskInTurn<T>(engine, std::move(members), std::move(ask), std::move(good),
                                  [](size_t) { return false; });
}

}  // namespace xec
