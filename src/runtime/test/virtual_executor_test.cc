// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/virtual_executor.hh"

#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace xec {
namespace {

using namespace std::chrono_literals;

std::vector<int> OrderOf(VirtualOptions options) {
  VirtualExecutor world(options);
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) world.Post([&order, i] { order.push_back(i); });
  EXPECT_EQ(world.RunUntilIdle(1000), 20u);
  return order;
}

TEST(VirtualExecutor, SameSeedSameOrderOtherSeedOtherOrder) {
  EXPECT_EQ(OrderOf({.seed = 7}), OrderOf({.seed = 7}));
  EXPECT_NE(OrderOf({.seed = 7}), OrderOf({.seed = 8}));
  std::vector<int> sorted = OrderOf({.seed = 7, .fifo = true});
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
}

TEST(VirtualExecutor, TheClockMovesOnlyWhenNothingIsReady) {
  VirtualExecutor world;
  std::vector<std::string> seen;
  world.RunAt(world.Now() + 5s, [&] { seen.push_back("5s"); });
  world.RunAt(world.Now() + 1s, [&] {
    seen.push_back("1s");
    world.Post(
        [&] { seen.push_back(world.Now() == VirtualExecutor::kStart + 1s ? "posted at 1s" : "late"); });
  });
  world.Post([&] { seen.push_back("now"); });
  const WallMillis wall = world.WallNow();
  world.RunUntilIdle(100);
  EXPECT_EQ(seen, (std::vector<std::string>{"now", "1s", "posted at 1s", "5s"}));
  EXPECT_EQ(world.WallNow() - wall, 5000);
  EXPECT_FALSE(world.RunOne());
}

TEST(VirtualExecutor, ACancelledTimerNeverRuns) {
  VirtualExecutor world;
  int ran = 0;
  const TimerId first = world.RunAt(world.Now() + 1s, [&] { ++ran; });
  const TimerId second = world.RunAt(world.Now() + 2s, [&] { ++ran; });
  world.RunAt(world.Now() + 1500ms, [&] { EXPECT_TRUE(world.Cancel(second)); });
  EXPECT_TRUE(world.Cancel(first));
  EXPECT_FALSE(world.Cancel(first));
  world.RunUntilIdle(100);
  EXPECT_EQ(ran, 0);
  EXPECT_FALSE(world.Cancel(0));
}

TEST(VirtualExecutor, ADueTimerCanStillBeCancelled) {
  VirtualExecutor world({.fifo = true});
  int ran = 0;
  const TimePoint at = world.Now() + 1s;
  TimerId other = 0;
  world.RunAt(at, [&] { EXPECT_TRUE(world.Cancel(other)); });
  other = world.RunAt(at, [&] { ++ran; });
  world.RunUntilIdle(100);
  EXPECT_EQ(ran, 0);
}

TEST(VirtualExecutor, RunUntilTimeStopsThere) {
  VirtualExecutor world;
  int ran = 0;
  world.RunAt(world.Now() + 1s, [&] { ++ran; });
  world.RunAt(world.Now() + 3s, [&] { ++ran; });
  world.RunUntilTime(world.Now() + 2s);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(world.Now(), VirtualExecutor::kStart + 2s);
}

struct CountsDestruction {
  explicit CountsDestruction(int* c) : count(c) {}
  CountsDestruction(CountsDestruction&& o) noexcept : count(std::exchange(o.count, nullptr)) {}
  ~CountsDestruction() {
    if (count != nullptr) ++*count;
  }
  int* count;
};

TEST(VirtualProcess, KillDestroysItsWorkAndTimersOnly) {
  VirtualExecutor world;
  VirtualProcess doomed(world);
  VirtualProcess other(world);
  int destroyed = 0;
  int ran = 0;
  doomed.Post([&ran, token = CountsDestruction(&destroyed)] { ran += 100; });
  doomed.RunAt(world.Now() + 1s, [&ran, token = CountsDestruction(&destroyed)] { ran += 100; });
  other.Post([&] { ++ran; });
  other.RunAt(world.Now() + 1s, [&] { ++ran; });
  doomed.Kill();
  EXPECT_EQ(destroyed, 2);
  doomed.Post([&ran, token = CountsDestruction(&destroyed)] { ran += 100; });
  EXPECT_NE(doomed.RunAt(world.Now(), [&ran, token = CountsDestruction(&destroyed)] { ran += 100; }), 0u);
  EXPECT_EQ(destroyed, 4);
  world.RunUntilIdle(100);
  EXPECT_EQ(ran, 2);
}

TEST(VirtualProcess, AProcessMayKillItself) {
  VirtualExecutor world;
  VirtualProcess process(world);
  int ran = 0;
  for (int i = 0; i < 5; ++i) {
    process.Post([&] {
      ++ran;
      process.Kill();
    });
  }
  world.RunUntilIdle(100);
  EXPECT_EQ(ran, 1);
}

TEST(VirtualProcess, NothingOfItRunsWhileItSleeps) {
  VirtualExecutor world;
  VirtualProcess sleeper(world);
  VirtualProcess other(world);
  std::vector<std::string> ran;
  const auto note = [&](std::string who) {
    return
        [&, who] { ran.push_back(fmt::format("{} {}", who, (world.Now() - VirtualExecutor::kStart) / 1s)); };
  };
  sleeper.Post(note("posted"));
  sleeper.RunAt(world.Now() + 1s, note("timer"));
  const TimerId cancelled = sleeper.RunAt(world.Now() + 2s, note("cancelled"));
  sleeper.RunAt(world.Now() + 70s, note("later"));
  other.RunAt(world.Now() + 3s, note("other"));
  sleeper.SleepUntil(world.Now() + 60s);
  EXPECT_TRUE(sleeper.asleep());
  world.RunUntilTime(world.Now() + 30s);
  EXPECT_EQ(ran, std::vector<std::string>{"other 3"});
  EXPECT_TRUE(sleeper.Cancel(cancelled)) << "though it was due while the process slept";
  world.RunUntilIdle(100);
  std::sort(ran.begin() + 1, ran.begin() + 3);
  EXPECT_EQ(ran, (std::vector<std::string>{"other 3", "posted 60", "timer 60", "later 70"}));
  EXPECT_FALSE(sleeper.asleep());
}

TEST(VirtualProcess, HasItsOwnWallClock) {
  VirtualExecutor world;
  VirtualProcess process(world, {.wall_skew = -2h, .wall_drift_ppm = 1000});
  EXPECT_EQ(process.WallNow() - world.WallNow(), -7'200'000);
  world.RunUntilTime(world.Now() + 1000s);
  EXPECT_EQ(process.WallNow() - world.WallNow(), -7'200'000 + 1000);
  process.SetWallSkew(0s);
  EXPECT_EQ(process.WallNow() - world.WallNow(), 1000);
  EXPECT_EQ(process.Now(), world.Now());
}

Task<int> SleepThenAnswer(Executor& executor, int value) {
  OneShot<int> done;
  executor.RunAt(executor.Now() + 1h, [set = done.Setter(), value] { set(value); });
  co_return co_await done;
}

Task<int> NeverAnswers() {
  OneShot<int> done;
  co_return co_await done;
}

TEST(VirtualExecutor, RunsTasksInNoRealTime) {
  VirtualExecutor world;
  EXPECT_EQ(world.RunTask(SleepThenAnswer(world, 3)), 3);
  EXPECT_EQ(world.RunTask(NeverAnswers()), std::nullopt);
}

}  // namespace
}  // namespace xec
