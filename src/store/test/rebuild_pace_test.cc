// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild_pace.hh"

#include <gtest/gtest.h>

#include "store/rebuild_rate.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kShare = RebuildPace::kSharePercent / 100.0;
constexpr Duration kTick = milliseconds(250);

// Tells the same for so long, with latencies that differ by a little, as real ones do.
class Told {
 public:
  explicit Told(size_t most) : pace(most) {}
  void For(Duration time, bool clients, std::optional<Duration> latency) {
    for (const TimePoint until = now + time; now < until; now += kTick) {
      jitter = -jitter;
      pace.Note({.clients = clients,
                 .latency = latency ? std::optional(*latency + jitter) : std::nullopt,
                 .work = work += 10'000'000,
                 .busy = true},
                now);
    }
  }
  RebuildPace pace;
  TimePoint now{seconds(1000)};
  Duration jitter = std::chrono::microseconds(1);
  uint64_t work = 0;
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
  Told told(8);
  RebuildPace& pace = told.pace;
  told.For(seconds(5), false, milliseconds(2));
  told.For(kTick, true, milliseconds(2));
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
  told.For(RebuildPace::kMemory + minutes(1), false, milliseconds(40));
  EXPECT_EQ(told.pace.at_once(), 8u);
}

TEST(RebuildPaceTest, ALatencyThatDoesNotChangeIsNoNews) {
  RebuildPace pace(8);
  TimePoint now{seconds(1000)};
  for (int i = 0; i < 20; ++i, now += kTick) pace.Note({.latency = milliseconds(2)}, now);
  for (int i = 0; i < 200; ++i, now += kTick) pace.Note({.latency = milliseconds(50)}, now);
  EXPECT_EQ(pace.at_once(), 8u);
}

// A rebuild that does so much in a second with one object at once, and so much more with each further one,
// up to `most`; when it may.
class Worked {
 public:
  explicit Worked(uint64_t one) : one_(one) {}
  void For(Duration time, bool clients, uint64_t most) {
    for (const TimePoint until = now + time; now < until; now += kTick) {
      const RebuildPace::Limit limit = pace.limit();
      if (limit.Rest(work, now) == Duration::zero())
        work += std::min<uint64_t>(pace.at_once() * one_, most) / 4;
      pace.Note({.clients = clients, .work = work, .busy = true}, now);
    }
  }
  double RateIn(Duration time, bool clients, uint64_t most) {
    const uint64_t before = work;
    For(time, clients, most);
    return static_cast<double>(work - before) / std::chrono::duration<double>(time).count();
  }
  RebuildPace pace{8};
  TimePoint now{seconds(1000)};
  uint64_t work = 0;

 private:
  const uint64_t one_;
};

TEST(RebuildPaceTest, BesideClientsItHasItsShareOfWhatItDoesAlone) {
  Worked worked(100'000'000);
  worked.For(seconds(10), false, 400'000'000);
  worked.For(seconds(5), true, 400'000'000);
  EXPECT_NEAR(worked.RateIn(seconds(60), true, 400'000'000), kShare * 400e6, 5e6);
  EXPECT_EQ(worked.pace.at_once(), 1u) << "one is enough for it";
}

TEST(RebuildPaceTest, WhereOneIsNotEnoughForItsShareThereAreMore) {
  Worked worked(100'000'000);
  worked.For(seconds(10), false, 800'000'000);
  Worked slowed(20'000'000);
  slowed.pace = worked.pace;
  slowed.now = worked.now;
  slowed.work = worked.work;
  slowed.For(seconds(10), true, 800'000'000);
  EXPECT_GT(slowed.pace.at_once(), 3u);
  EXPECT_NEAR(slowed.RateIn(seconds(60), true, 800'000'000), std::min(160e6, kShare * 800e6), 20e6);
}

TEST(RebuildPaceTest, BesideClientsFromTheBeginningItTriesHowFastItIs) {
  Worked worked(100'000'000);
  worked.For(kTick, true, 400'000'000);
  EXPECT_EQ(worked.pace.at_once(), 8u);
  EXPECT_EQ(worked.pace.limit().Rest(uint64_t{1} << 60, worked.now), Duration::zero());
  worked.For(RebuildPace::kWindow + 2 * kTick, true, 400'000'000);
  EXPECT_EQ(worked.pace.at_once(), 1u);
  EXPECT_GT(worked.pace.limit().Rest(uint64_t{1} << 60, worked.now), Duration::zero());
  worked.For(seconds(10), true, 400'000'000);
  EXPECT_NEAR(worked.RateIn(seconds(60), true, 400'000'000), kShare * RebuildPace::kTriedFactor * 400e6, 20e6)
      << "the clients had the rest";
}

// Nor is it tried for long with that.
TEST(RebuildPaceTest, WhatItDoesWithLittleToDoIsNotHowFastItIs) {
  RebuildPace pace(8);
  TimePoint now{seconds(1000)};
  const auto note = [&](bool clients, Duration time) {
    for (const TimePoint until = now + time; now < until; now += kTick)
      pace.Note({.clients = clients, .work = 400}, now);
  };
  note(false, seconds(10));
  note(true, kTick);
  EXPECT_EQ(pace.at_once(), 8u);
  EXPECT_EQ(pace.limit().Rest(1000, now), Duration::zero());
  note(true, RebuildPace::kTryMax + kTick);
  EXPECT_EQ(pace.at_once(), 1u);
  EXPECT_EQ(pace.limit().work_per_s, kShare * RebuildPace::kSlowest);
  note(true, RebuildPace::kTryAgain - RebuildPace::kTryMax);
  EXPECT_EQ(pace.at_once(), 8u) << "it is tried again";
}

TEST(RebuildPaceTest, ARestIsShortAndThereIsNoneWhereItIsBehind) {
  const TimePoint at{seconds(1000)};
  const RebuildPace::Limit limit{.work_per_s = 1000, .work = 500, .at = at};
  EXPECT_EQ(limit.Rest(500, at), Duration::zero());
  EXPECT_EQ(limit.Rest(600, at), milliseconds(100));
  EXPECT_EQ(limit.Rest(600'000, at), RebuildPace::kRestMax);
  EXPECT_EQ(limit.Rest(600, at + milliseconds(60)), milliseconds(40)) << "though nothing was noted since";
  EXPECT_EQ(limit.Rest(600, at + seconds(1)), Duration::zero());
  EXPECT_EQ(RebuildPace::Limit{}.Rest(uint64_t{1} << 60, at), Duration::zero());
}

// With few objects to repair, and clients from the beginning, and also if the first stripe takes long.
TEST(RebuildPaceTest, ThereIsAlwaysALittle) {
  for (const bool busy : {false, true}) {
    RebuildPace pace(8);
    TimePoint now{seconds(1000)};
    for (int i = 0; i < 30; ++i, now += kTick) pace.Note({.clients = true, .busy = busy}, now);
    EXPECT_EQ(pace.limit().work_per_s, kShare * RebuildPace::kSlowest);
    EXPECT_EQ(pace.limit().Rest(0, now), Duration::zero());
    EXPECT_LE(pace.limit().Rest(1 << 20, now + RebuildPace::kRestMax), Duration::zero());
  }
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
