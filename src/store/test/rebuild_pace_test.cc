// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_pace.hh"

#include <gtest/gtest.h>

#include "store/rebuild_rate.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(250);

// Tells the same for so long, with latencies that differ by a little, as real ones do.
class Told {
 public:
  explicit Told(size_t most) : pace(most) {}
  void For(Duration time, bool clients, std::optional<Duration> latency) {
    for (const TimePoint until = now + time; now < until; now += kTick) {
      jitter = -jitter;
      pace.Note({.clients = clients, .latency = latency ? std::optional(*latency + jitter) : std::nullopt},
                now);
    }
  }
  RebuildPace pace;
  TimePoint now{seconds(1000)};
  Duration jitter = std::chrono::microseconds(1);
};

TEST(RebuildPaceTest, NobodyElseLeavesAllOfIt) {
  Told told(6);
  told.For(seconds(10), false, milliseconds(2));
  EXPECT_EQ(told.pace.at_once(), 6u);
  EXPECT_FALSE(told.pace.beside_clients());
  EXPECT_EQ(RebuildPace(1000).at_once(), RebuildPace::kObjectsMax);
  EXPECT_EQ(RebuildPace(0).at_once(), 1u);
}

TEST(RebuildPaceTest, AClientLeavesOneAtOnceAndItComesBackStepByStep) {
  Told told(8);
  told.For(seconds(5), false, milliseconds(2));
  told.For(kTick, true, milliseconds(2));
  EXPECT_EQ(told.pace.at_once(), 1u);
  EXPECT_TRUE(told.pace.beside_clients());
  told.For(RebuildPace::kClientsGone - kTick, false, milliseconds(2));
  EXPECT_EQ(told.pace.at_once(), 1u) << "the next one may come at once";
  told.For(RebuildPace::kRaiseEvery + 2 * kTick, false, milliseconds(2));
  EXPECT_EQ(told.pace.at_once(), 2u);
  told.For(8 * RebuildPace::kRaiseEvery, false, milliseconds(2));
  EXPECT_EQ(told.pace.at_once(), 8u);
}

TEST(RebuildPaceTest, OneThatIsBehindGivesWayToNobody) {
  RebuildPace pace(8);
  pace.Note({.clients = true}, TimePoint() + std::chrono::hours(1));
  EXPECT_EQ(pace.at_once(), 1u);
  EXPECT_TRUE(pace.beside_clients());
  pace.NoteBehind(true);
  EXPECT_EQ(pace.at_once(), 8u);
  EXPECT_FALSE(pace.beside_clients());
  pace.NoteBehind(false);
  EXPECT_EQ(pace.at_once(), 1u);
  EXPECT_TRUE(pace.beside_clients());
}

TEST(RebuildPaceTest, SlowServersHalveItUntilTheyAreFastAgain) {
  Told told(8);
  told.For(seconds(5), false, milliseconds(2));
  told.For(seconds(1), false, milliseconds(21));
  EXPECT_EQ(told.pace.at_once(), 8u) << "less than the rise";
  told.For(RebuildPace::kLowerEvery, false, milliseconds(30));
  EXPECT_EQ(told.pace.at_once(), 4u);
  told.For(3 * RebuildPace::kLowerEvery, false, milliseconds(30));
  EXPECT_EQ(told.pace.at_once(), 1u);
  told.For(seconds(30), false, milliseconds(30));
  EXPECT_EQ(told.pace.at_once(), 1u) << "never none";
  told.For(10 * RebuildPace::kRaiseEvery, false, milliseconds(3));
  EXPECT_EQ(told.pace.at_once(), 8u);
}

TEST(RebuildPaceTest, SlowDisksAreMeasuredByThemselves) {
  Told told(8);
  told.For(seconds(5), false, milliseconds(15));
  told.For(seconds(5), false, milliseconds(58));
  EXPECT_EQ(told.pace.at_once(), 8u) << "less than four times";
  told.For(seconds(5), false, milliseconds(62));
  EXPECT_LT(told.pace.at_once(), 8u);
}

// What was idle long ago says nothing about today.
TEST(RebuildPaceTest, TheIdleLevelIsForgotten) {
  Told told(8);
  told.For(seconds(5), false, milliseconds(2));
  told.For(RebuildPace::kLevelMemory + minutes(1), false, milliseconds(40));
  EXPECT_EQ(told.pace.at_once(), 8u);
}

TEST(RebuildPaceTest, ALatencyThatDoesNotChangeIsNoNews) {
  RebuildPace pace(8);
  TimePoint now{seconds(1000)};
  for (int i = 0; i < 20; ++i, now += kTick) pace.Note({.latency = milliseconds(2)}, now);
  for (int i = 0; i < 200; ++i, now += kTick) pace.Note({.latency = milliseconds(50)}, now);
  EXPECT_EQ(pace.at_once(), 8u);
}

TEST(RebuildPaceTest, BesideClientsAllTogetherWorkAQuarterOfTheTime) {
  for (const size_t objects : {size_t{1}, size_t{2}, size_t{8}}) {
    const Duration worked = milliseconds(100);
    const Duration rest = RebuildPace::Rest(worked, objects);
    EXPECT_EQ(rest, (4 * static_cast<int>(objects) - 1) * worked);
  }
  EXPECT_EQ(RebuildPace::Rest(minutes(1), 1), RebuildPace::kRestMax);
}

TEST(RebuildRateTest, NobodyKnowsAtFirstAndThenTheSlowerOfBytesAndObjectsCounts) {
  RebuildRate rate;
  TimePoint now{seconds(50)};
  rate.Note(0, 0, now);
  EXPECT_FALSE(rate.Left(1000, 10));
  EXPECT_EQ(rate.Left(0, 0), Duration::zero());
  for (int i = 1; i <= 10; ++i)
    rate.Note(100u * static_cast<unsigned>(i), static_cast<unsigned>(i), now += seconds(1));
  EXPECT_EQ(rate.Left(1000, 1), seconds(10));
  EXPECT_EQ(rate.Left(1000, 30), seconds(30));
  EXPECT_EQ(rate.Left(0, 30), seconds(30));
}

TEST(RebuildRateTest, TheLastMinuteCounts) {
  RebuildRate rate;
  TimePoint now{seconds(50)};
  uint64_t bytes = 0;
  for (int i = 0; i < 100; ++i) rate.Note(bytes += 1000, 0, now += seconds(1));
  for (int i = 0; i < 100; ++i) rate.Note(bytes += 10, 0, now += seconds(1));
  EXPECT_EQ(rate.Left(100, 0), seconds(10));
  for (int i = 0; i < 100; ++i) rate.Note(bytes, 0, now += seconds(1));
  EXPECT_FALSE(rate.Left(100, 0)) << "nothing gets on";
}

}  // namespace
}  // namespace xec
