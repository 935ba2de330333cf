// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_schedule.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kNow = TimePoint(std::chrono::hours(1));

TEST(PauseAfterTest, RoundsThatTakeLongComeLessOften) {
  EXPECT_EQ(PauseAfter(seconds(0), minutes(1)), minutes(1));
  EXPECT_EQ(PauseAfter(seconds(15), minutes(1)), minutes(1));
  EXPECT_EQ(PauseAfter(seconds(30), minutes(1)), minutes(2));
  EXPECT_EQ(PauseAfter(minutes(30), minutes(1)), minutes(10));
  EXPECT_EQ(PauseAfter(minutes(30), minutes(20)), minutes(20));
}

TEST(PauseForRateTest, IsWhatIsLeftOfTheTime) {
  EXPECT_EQ(PauseForRate(10, 0, seconds(1)), seconds(0)) << "no rate";
  EXPECT_EQ(PauseForRate(10, 5, seconds(0)), seconds(2));
  EXPECT_EQ(PauseForRate(10, 5, milliseconds(500)), milliseconds(1500));
  EXPECT_EQ(PauseForRate(10, 5, seconds(3)), seconds(0));
  EXPECT_EQ(PauseForRate(0, 5, seconds(0)), seconds(0));
}

TEST(BackOffTest, DoublesUpToTheMost) {
  EXPECT_EQ(BackOff(0, seconds(1), seconds(8)), seconds(0));
  EXPECT_EQ(BackOff(1, seconds(1), seconds(8)), seconds(1));
  EXPECT_EQ(BackOff(2, seconds(1), seconds(8)), seconds(2));
  EXPECT_EQ(BackOff(4, seconds(1), seconds(8)), seconds(8));
  EXPECT_EQ(BackOff(1000000, seconds(1), seconds(8)), seconds(8));
  EXPECT_EQ(BackOff(2, seconds(3), seconds(5)), seconds(5));
  EXPECT_EQ(BackOff(7, seconds(0), seconds(0)), seconds(0)) << "not wanted";
}

TEST(NextDueTest, TheLongestPauseCounts) {
  StepEnd end{.kind = StepEnd::kRest, .pause = seconds(3)};
  EXPECT_EQ(NextDue(end, {}, 0, kNow, kNow), kNow + seconds(3));
  end.units = 10;
  EXPECT_EQ(NextDue(end, {.units_per_second = 2}, 0, kNow - seconds(1), kNow), kNow + seconds(4));
  const JobPace pace{.units_per_second = 0, .retry_first = seconds(10), .retry_max = seconds(60)};
  EXPECT_EQ(NextDue(end, pace, 0, kNow, kNow), kNow + seconds(3));
  EXPECT_EQ(NextDue(end, pace, 2, kNow, kNow), kNow + seconds(20));
}

TEST(LimitedStepTest, TimeAndUnits) {
  EXPECT_EQ(LimitedStep({}, kNow).until, kNow + kStepTime);
  EXPECT_EQ(LimitedStep({}, kNow).units_max, UINT64_MAX);
  EXPECT_EQ(LimitedStep({.units_per_second = 7}, kNow).units_max, 7u);
}

TEST(DecideMoveTest, WhatIsAskedComesBeforeWhatIsDue) {
  JobStanding standing{.told = true, .due = kNow};
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kStep);
  standing.due = kNow + seconds(1);
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kWait);
  EXPECT_EQ(DecideMove(standing, kNow).until, standing.due);
  standing.due = kNow;
  standing.paused = true;
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kWait);
  EXPECT_EQ(DecideMove(standing, kNow).until, TimePoint::max());
  standing.cancelled = true;
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kCancel) << "also of a job that is paused";
  standing.done = true;
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kEnd);
  standing = {.told = true, .stopping = true, .cancelled = true, .due = kNow};
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kEnd);
}

TEST(DecideMoveTest, WhatMustRunIsNeitherHeldNorPaused) {
  JobStanding standing{.due = kNow};
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kWait) << "nobody has told what was asked";
  standing.must_run = true;
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kStep);
  standing.paused = true;
  EXPECT_EQ(DecideMove(standing, kNow).kind, NextMove::kStep);
}

}  // namespace
}  // namespace xec
