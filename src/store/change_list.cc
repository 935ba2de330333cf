// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/change_list.hh"

#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/members/move_names.hh"
#include "commit/members/spread_list.hh"
#include "placement/list_changes.hh"
#include "store/decide_list.hh"

namespace xec {
namespace {

constexpr Duration kWaitStep = std::chrono::seconds(1);
// Two rounds in which a process learns of a new list.
constexpr Duration kFollowPatience = std::chrono::seconds(60);

Error Stopped() { return Fail(Code::kCancelled, "this process ends"); }

// Awaits the turn every second until `done` holds. False: the turn ended it.
Task<bool> WaitUntil(Engine& engine, Turn& turn, std::string what, std::function<bool()> done) {
  while (!done()) {
    if (turn) {
      WalkPoint point{what, 0};
      const bool go_on = co_await turn(std::move(point));
      if (!go_on) co_return false;
    }
    co_await Pause(engine, kWaitStep);
  }
  co_return true;
}

// Until all but as many as may be away have the list. False: the turn ended it.
Task<bool> SpreadToAll(ListInUse list, Turn& turn) {
  for (;;) {
    const bool spread = co_await SpreadList(list.engine, list.stored);
    if (spread) co_return true;
    const TimePoint again = list.engine.executor().Now() + 5 * kWaitStep;
    const bool go_on = co_await WaitUntil(list.engine, turn, "telling the data servers",
                                          [&] { return list.engine.executor().Now() >= again; });
    if (!go_on) co_return false;
  }
}

}  // namespace

uint64_t NowSeconds(const Engine& engine) {
  return static_cast<uint64_t>(engine.executor().WallNow()) / 1000;
}

Duration WaitForOthers(const Engine& engine, const StoreDescriptor& list) {
  if (MutantActive(Mutant::kMoveBeforeAllKnow)) return {};
  return std::chrono::seconds(list.lease_s) + engine.options().metadata_timeout;
}

Task<Status> BeginChange(std::function<ListInUse()> now, StoreDescriptor next) {
  const ListInUse list = now();
  Executor& executor = list.engine.executor();
  const Result<StoreDescriptor> decided = co_await DecideList(list.engine, next);
  if (!decided) co_return decided.error();
  (void)co_await SpreadList(list.engine, *decided);
  const TimePoint until = executor.Now() + kFollowPatience;
  while (now().stored.epoch < decided->epoch && executor.Now() < until)
    co_await Pause(list.engine, kWaitStep / 4);
  if (now().stored.epoch < decided->epoch) {
    co_return Fail(
        Code::kUnavailable,
        "the change is decided (epoch {}), but too few data servers show it as yet: it goes on when "
        "they answer",
        decided->epoch);
  }
  if (!(*decided == next)) {
    co_return Fail(Code::kConflict,
                   "the data servers are being changed by somebody else (epoch {}): see xec server list",
                   decided->epoch);
  }
  co_return OkStatus();
}

namespace {

// One part: from a list that is to be followed to the one that follows it.
Task<Status> CarryOutPart(ListInUse list, Turn& turn) {
  Engine& engine = list.engine;
  bool go_on = co_await SpreadToAll(list, turn);
  if (!go_on) co_return Stopped();
  const TimePoint from = engine.executor().Now() + WaitForOthers(engine, list.stored);
  go_on = co_await WaitUntil(engine, turn, "waiting until every process knows of the change",
                             [&] { return engine.executor().Now() >= from; });
  if (!go_on) co_return Stopped();
  const bool changing = list.stored.IsChanging();
  Status done;
  if (changing) done = co_await MoveNames(engine, turn);
  if (!changing) done = co_await SweepNames(engine, turn);
  if (!done) co_return done;
  StoreDescriptor next = changing ? AfterChange(list.stored) : AfterSweep(list.stored, NowSeconds(engine));
  const Result<StoreDescriptor> decided = co_await DecideList(engine, std::move(next));
  if (!decided) co_return decided.error();
  (void)co_await SpreadList(engine, *decided);
  co_return OkStatus();
}

}  // namespace

Task<Status> CarryOutChange(std::function<ListInUse()> now, Turn turn) {
  for (;;) {
    const ListInUse list = now();
    if (NeedSettled(list.stored)) co_return OkStatus();
    const Status done = co_await CarryOutPart(list, turn);
    if (!done && done.code() == Code::kCancelled) co_return done;
    // Another process may have been faster: then this one could not go on by its list.
    const TimePoint until = list.engine.executor().Now() + kFollowPatience;
    const auto follows = [&] { return now().stored.epoch > list.stored.epoch; };
    const bool go_on = co_await WaitUntil(list.engine, turn, "taking up the new list",
                                          [&] { return follows() || list.engine.executor().Now() >= until; });
    if (!go_on) co_return Stopped();
    if (!follows() && !done) co_return done;
  }
}

}  // namespace xec
