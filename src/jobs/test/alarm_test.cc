// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/alarm.hh"

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

using std::chrono::seconds;

class AlarmTest : public testing::Test {
 protected:
  ~AlarmTest() override { scope_.Abandon(); }
  Task<void> WaitUntil(TimePoint until) {
    co_await alarm_.Wait(until);
    ended_at_ = executor_.Now();
  }

  VirtualExecutor executor_;
  Alarm alarm_{executor_};
  std::optional<TimePoint> ended_at_;
  TaskScope scope_;
};

TEST_F(AlarmTest, EndsAtItsTime) {
  const TimePoint until = executor_.Now() + seconds(5);
  scope_.Spawn(WaitUntil(until));
  executor_.RunUntilIdle(100);
  EXPECT_EQ(ended_at_, until);
}

TEST_F(AlarmTest, EndsWhenSomebodyRingsAndLeavesNoTimerBehind) {
  scope_.Spawn(WaitUntil(executor_.Now() + seconds(5)));
  EXPECT_FALSE(ended_at_);
  alarm_.Ring();
  EXPECT_EQ(ended_at_, executor_.Now());
  EXPECT_EQ(executor_.timers(), 0u);
}

TEST_F(AlarmTest, RememberedIsThatSomebodyRangBefore) {
  alarm_.Ring();
  alarm_.Ring();
  scope_.Spawn(WaitUntil(TimePoint::max()));
  EXPECT_TRUE(ended_at_);
  ended_at_.reset();
  scope_.Spawn(WaitUntil(TimePoint::max()));
  EXPECT_FALSE(ended_at_) << "once";
}

}  // namespace
}  // namespace xec
