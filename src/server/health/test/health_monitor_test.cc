// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/health_monitor.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/calls.hh"
#include "server/decorators/fault_server.hh"
#include "server/health/health_server.hh"
#include "server/kinds/memory_server.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// One server behind health and monitor, on a virtual clock.
class HealthMonitorTest : public ::testing::Test {
 protected:
  HealthMonitorTest() {
    auto memory = std::make_shared<MemoryServer>("m", executor_, MemoryServerOptions{});
    fault_ = std::make_shared<FaultServer>(std::move(memory), executor_);
    server_ = std::make_shared<HealthServer>(fault_, health_, 0, executor_, [this] { monitor_->Watch(0); });
    monitor_->SetServers({std::make_shared<HealthServer>(fault_, health_, 0, executor_)});
    monitor_->SetListener([this](const HealthChange& change) { changes_.push_back(change); });
  }
  ~HealthMonitorTest() override {
    monitor_->Stop();
    fault_->plan().DropHung();
    executor_.RunUntilIdle(1000);
  }

  Code ListCode() {
    const CallContext context{&executor_, executor_.Now() + seconds(10)};
    const auto listed = executor_.RunTask(List(context, server_, "/"));
    XEC_CHECK(listed.has_value());
    return *listed ? Code::kInternal : listed->code();
  }
  void Pass(Duration time) { executor_.RunUntilTime(executor_.Now() + time); }
  ServerState State() { return health_->At(0, executor_.Now()).state; }
  bool Trusted() { return health_->At(0, executor_.Now()).trusted; }
  void Hang() {
    FaultRule rule;
    rule.kind = FaultKind::kHang;
    fault_->plan().Add(rule);
  }

  VirtualExecutor executor_;
  std::shared_ptr<ServerHealth> health_ = std::make_shared<ServerHealth>(1);
  std::shared_ptr<HealthMonitor> monitor_ = std::make_shared<HealthMonitor>(health_, executor_);
  std::shared_ptr<FaultServer> fault_;
  DataServerPtr server_;
  std::vector<HealthChange> changes_;
};

TEST_F(HealthMonitorTest, AServerThatIsWellIsNeverProbed) {
  ListCode();
  monitor_->Watch(0);
  Pass(seconds(100));
  EXPECT_EQ(monitor_->probes(), 0U);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(HealthMonitorTest, ADownServerIsProbedWithGrowingPausesAndFoundWhenItReturns) {
  fault_->plan().SetDown(true);
  EXPECT_EQ(ListCode(), Code::kUnavailable);
  EXPECT_EQ(State(), ServerState::kDown);
  Pass(milliseconds(150));
  ASSERT_EQ(changes_.size(), 1U);
  EXPECT_EQ(changes_[0].to, ServerState::kDown);
  EXPECT_THAT(changes_[0].problem, HasSubstr("the server is down"));
  Pass(seconds(20));
  EXPECT_GE(monitor_->probes(), 10U);
  EXPECT_LE(monitor_->probes(), 20U) << "at most one each two seconds, once the pauses have grown";
  fault_->plan().SetDown(false);
  Pass(milliseconds(2100));
  EXPECT_EQ(State(), ServerState::kUp);
  Pass(seconds(2));
  EXPECT_TRUE(Trusted());
  ASSERT_EQ(changes_.size(), 2U);
  EXPECT_EQ(changes_[1].to, ServerState::kUp);
  EXPECT_GE(changes_[1].lasted, seconds(20));
  const uint64_t probes = monitor_->probes();
  Pass(seconds(100));
  EXPECT_EQ(monitor_->probes(), probes) << "it is well and left alone";
}

TEST_F(HealthMonitorTest, AHungServerGetsOneProbeAtATimeAndItsAnswerEndsTheSuspicion) {
  ListCode();
  Hang();
  EXPECT_EQ(ListCode(), Code::kDeadlineExceeded);
  EXPECT_EQ(State(), ServerState::kSuspect);
  monitor_->Watch(0);
  Pass(seconds(4));
  EXPECT_EQ(monitor_->probes(), 1U) << "the one under way is not given up for five seconds";
  EXPECT_EQ(fault_->plan().hung(), 2U);
  fault_->plan().Clear();
  fault_->plan().ReleaseHung();
  Pass(milliseconds(10));
  EXPECT_EQ(State(), ServerState::kUp);
  EXPECT_FALSE(Trusted());
  Pass(seconds(2));
  EXPECT_TRUE(Trusted());
}

TEST_F(HealthMonitorTest, NobodyAsksNobodyProbes) {
  fault_->plan().SetDown(true);
  ListCode();
  Pass(seconds(70));
  const uint64_t probes = monitor_->probes();
  EXPECT_GT(probes, 20U);
  Pass(seconds(1000));
  EXPECT_EQ(monitor_->probes(), probes);
  monitor_->Watch(0);
  Pass(milliseconds(1));
  EXPECT_EQ(monitor_->probes(), probes + 1);
}

TEST_F(HealthMonitorTest, FlappingIsToldOnceInAWhileAndTheLastStateAlways) {
  for (int i = 0; i < 10; ++i) {
    fault_->plan().SetDown(true);
    ListCode();
    Pass(seconds(3));
    fault_->plan().SetDown(false);
    Pass(seconds(3));
  }
  EXPECT_GE(changes_.size(), 2U);
  EXPECT_LE(changes_.size(), 7U) << "20 changes in 60 s, one told in 10 s";
  Pass(seconds(60));
  EXPECT_EQ(changes_.back().to, ServerState::kUp);
  uint64_t untold = 0;
  for (const HealthChange& change : changes_) {
    untold += change.untold;
    if (change.to == ServerState::kUp) {
      EXPECT_LE(change.lasted, seconds(4)) << "however late it is told";
    }
  }
  EXPECT_GE(untold, 10U);
  EXPECT_TRUE(Trusted());
}

TEST_F(HealthMonitorTest, StoppedItSendsAndTellsNothing) {
  fault_->plan().SetDown(true);
  monitor_->Stop();
  ListCode();
  Pass(seconds(10));
  EXPECT_EQ(monitor_->probes(), 0U);
  EXPECT_TRUE(changes_.empty());
}

TEST(DescribeChangeTest, SaysWhatAndWhereAndForHowLong) {
  HealthChange change;
  change.to = ServerState::kDown;
  change.lasted = seconds(12);
  change.problem = "connection refused";
  const std::string down = DescribeChange(change, "s03 (root://h:1)");
  EXPECT_THAT(down, HasSubstr("s03 (root://h:1)"));
  EXPECT_THAT(down, HasSubstr("down for 12 s"));
  EXPECT_THAT(down, HasSubstr("connection refused"));
  change.to = ServerState::kUp;
  change.untold = 3;
  EXPECT_THAT(DescribeChange(change, "s03"), HasSubstr("answers again after 12 s"));
  EXPECT_THAT(DescribeChange(change, "s03"), HasSubstr("changed 3 more times"));
}

TEST(DescribeChangeTest, WhatHappenedJustNowHasNoTime) {
  HealthChange change;
  change.lasted = std::chrono::milliseconds(90);
  for (const auto& [state, words] :
       {std::pair{ServerState::kSuspect, "data server s03 does not answer: it is"},
        {ServerState::kDown, "data server s03 is down: "},
        {ServerState::kUp, "data server s03 answers again"}}) {
    change.to = state;
    EXPECT_THAT(DescribeChange(change, "s03"), HasSubstr(words));
    EXPECT_THAT(DescribeChange(change, "s03"), testing::Not(HasSubstr("0 s")));
  }
}

}  // namespace
}  // namespace xec
