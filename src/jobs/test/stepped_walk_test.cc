// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/stepped_walk.hh"

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Walks over ten numbers; each takes a tenth of a second.
class SteppedWalkTest : public testing::Test {
 protected:
  ~SteppedWalkTest() override { scope_.Abandon(); }

  Task<void> Walk(Turn turn) {
    Alarm nobody(executor_);
    for (uint64_t i = 0; i < 10; ++i) {
      WalkPoint point{fmt::format("/{}", i), i};
      const bool go_on = co_await turn(std::move(point));
      if (!go_on) co_return;
      co_await nobody.Wait(executor_.Now() + milliseconds(100));
      ++done_;
    }
    whole_ = true;
  }

  bool Step(JobStep step) {
    if (!step.stopped) step.stopped = [this] { return stopped_; };
    return *executor_.RunTask(walk_.Step(std::move(step)));
  }
  void End() {
    const auto end = [this]() -> Task<bool> {
      co_await walk_.End();
      co_return true;
    };
    ASSERT_TRUE(executor_.RunTask(end()));
  }

  VirtualExecutor executor_;
  TaskScope scope_;
  uint64_t done_ = 0;
  bool whole_ = false;
  bool stopped_ = false;
  SteppedWalk walk_{scope_, executor_, [this](Turn turn) { return Walk(std::move(turn)); }};
};

TEST_F(SteppedWalkTest, AStepEndsAfterItsUnits) {
  EXPECT_FALSE(Step({.units_max = 3}));
  EXPECT_EQ(done_, 3u);
  EXPECT_EQ(walk_.units(), 3u);
  EXPECT_EQ(walk_.point().at, "/3");
  EXPECT_EQ(walk_.point().done, 3u);
  executor_.RunUntilTime(executor_.Now() + seconds(60));
  EXPECT_EQ(done_, 3u) << "nothing between two steps";
  EXPECT_FALSE(Step({.units_max = 6}));
  EXPECT_EQ(done_, 9u);
  EXPECT_TRUE(Step({.units_max = 6}));
  EXPECT_TRUE(whole_);
  EXPECT_EQ(scope_.running(), 0u);
}

TEST_F(SteppedWalkTest, AStepEndsAtItsTime) {
  EXPECT_FALSE(Step({.until = executor_.Now() + milliseconds(450), .units_max = 100}));
  EXPECT_EQ(done_, 5u);
  EXPECT_TRUE(Step({.units_max = 100}));
}

TEST_F(SteppedWalkTest, AStepEndsWhenItIsStopped) {
  EXPECT_FALSE(Step({.units_max = 100, .stopped = [this] { return done_ == 2; }}));
  EXPECT_EQ(done_, 2u);
}

TEST_F(SteppedWalkTest, AWalkThatIsEndedGivesUp) {
  EXPECT_FALSE(Step({.units_max = 3}));
  End();
  EXPECT_EQ(done_, 3u);
  EXPECT_FALSE(whole_);
  EXPECT_EQ(scope_.running(), 0u);
  End();
}

TEST_F(SteppedWalkTest, AWalkThatWasNotBegunNeverIs) {
  End();
  EXPECT_EQ(scope_.running(), 0u);
  EXPECT_EQ(done_, 0u);
}

}  // namespace
}  // namespace xec
