// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_runner.hh"

#include <deque>

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr JobText kText = {.name = "work", .summary = "works", .unit = "pieces", .has_passes = true};
constexpr JobText kNeeded = {.name = "needed", .summary = "is needed", .must_run = "all would end"};

// Steps of a tenth of a second that end as the test says; after that each rests for a second.
class FakeJob final : public Job {
 public:
  FakeJob(Executor& executor, const JobText& text) : executor_(executor), text_(text) {}

  const JobText& text() const override { return text_; }
  JobPace pace() const override { return pace_; }
  Duration first_pause() const override { return seconds(10); }
  Task<StepEnd> Step(JobStep step) override {
    ++begun;
    const TimePoint until = executor_.Now() + takes;
    Alarm nobody(executor_);
    while (executor_.Now() < until && !step.stopped())
      co_await nobody.Wait(executor_.Now() + milliseconds(10));
    stopped = step.stopped();
    begun_at.push_back(executor_.Now() - takes);
    step.show({.done = ++done, .total = 9, .at = "here"});
    StepEnd end{.kind = StepEnd::kRest, .pause = seconds(1)};
    if (!ends.empty()) {
      end = ends.front();
      ends.pop_front();
    }
    under_way = end.kind == StepEnd::kMore;
    co_return end;
  }
  Task<void> Cancel() override {
    ++cancelled;
    under_way = false;
    co_return;
  }
  std::string cursor() const override { return under_way ? fmt::format("at {}", done) : ""; }
  void Restore(std::string cursor) override { restored = std::move(cursor); }

  Duration takes = milliseconds(100);
  std::deque<StepEnd> ends;
  JobPace pace_;
  int begun = 0;
  uint64_t done = 0;
  int cancelled = 0;
  bool stopped = false;
  bool under_way = false;
  std::string restored;
  std::vector<TimePoint> begun_at;

 private:
  Executor& executor_;
  const JobText& text_;
};

class JobRunnerTest : public testing::Test {
 protected:
  JobRunnerTest() {
    auto job = std::make_unique<FakeJob>(executor_, kText);
    auto needed = std::make_unique<FakeJob>(executor_, kNeeded);
    job_ = job.get();
    needed_ = needed.get();
    std::vector<std::unique_ptr<Job>> jobs;
    jobs.push_back(std::move(job));
    jobs.push_back(std::move(needed));
    runner_.Start(std::move(jobs));
  }
  ~JobRunnerTest() override { scope_.Abandon(); }

  void Pass(Duration time) { executor_.RunUntilTime(executor_.Now() + time); }
  JobReport Report() const { return runner_.Reports()[0]; }
  void Ask(JobVerb verb) {
    orders_.Take({"work", verb, orders_.NextTime("work", executor_.WallNow())});
    runner_.Tell(orders_);
  }

  VirtualExecutor executor_;
  FakeJob* job_ = nullptr;
  FakeJob* needed_ = nullptr;
  JobOrders orders_;
  TaskScope scope_;
  JobRunner runner_{executor_, scope_};
};

TEST_F(JobRunnerTest, StepsComeWhenTheyAreDue) {
  runner_.Tell(orders_);
  Pass(milliseconds(9'900));
  EXPECT_EQ(job_->begun, 0);
  EXPECT_EQ(Report().state, JobState::kWaiting);
  EXPECT_EQ(Report().next_ms, executor_.WallNow() + 100);
  Pass(milliseconds(150));
  EXPECT_EQ(job_->begun, 1);
  EXPECT_EQ(Report().state, JobState::kRunning);
  EXPECT_FALSE(Report().next_ms);
  Pass(milliseconds(100));
  EXPECT_EQ(Report().state, JobState::kWaiting);
  EXPECT_EQ(Report().progress, (JobProgress{1, 9, "here"}));
  Pass(seconds(11));
  EXPECT_EQ(job_->begun, 11) << "each takes a tenth of a second, and rests for a second";
}

TEST_F(JobRunnerTest, NothingThatMayBePausedBeginsBeforeItIsKnownWhatWasAsked) {
  Pass(seconds(60));
  EXPECT_EQ(job_->begun, 0);
  EXPECT_GT(needed_->begun, 40);
  Ask(JobVerb::kPause);
  Pass(seconds(60));
  EXPECT_EQ(job_->begun, 0);
  EXPECT_EQ(Report().state, JobState::kPaused);
  Ask(JobVerb::kResume);
  Pass(seconds(1));
  EXPECT_EQ(job_->begun, 1) << "at once: it was due long ago";
}

TEST_F(JobRunnerTest, APauseWaitsForTheStepAndHoldsThePass) {
  job_->ends = {{.kind = StepEnd::kMore}, {.kind = StepEnd::kMore}, {.kind = StepEnd::kMore}};
  runner_.Tell(orders_);
  Pass(milliseconds(10'050));
  Ask(JobVerb::kPause);
  EXPECT_EQ(Report().state, JobState::kRunning);
  Pass(seconds(60));
  EXPECT_EQ(job_->begun, 1);
  EXPECT_EQ(job_->cancelled, 0);
  EXPECT_EQ(Report().state, JobState::kPaused);
  EXPECT_EQ(Report().cursor, "at 1") << "told while it is paused";
  EXPECT_EQ(executor_.WallNow() - Report().since_ms, 59'950);
  Ask(JobVerb::kResume);
  Pass(milliseconds(250));
  EXPECT_EQ(job_->begun, 4);
  EXPECT_EQ(Report().state, JobState::kRunning);
}

TEST_F(JobRunnerTest, ACancelledPassIsGivenUpAndBeginsAnewLater) {
  for (int i = 0; i < 100; ++i) job_->ends.push_back({.kind = StepEnd::kMore});
  job_->takes = seconds(3);
  runner_.Tell(orders_);
  Pass(milliseconds(11'000));
  EXPECT_EQ(Report().state, JobState::kRunning);
  Ask(JobVerb::kCancel);
  Pass(milliseconds(20));
  EXPECT_TRUE(job_->stopped) << "the step is told";
  EXPECT_EQ(job_->cancelled, 1);
  EXPECT_EQ(Report().state, JobState::kWaiting);
  EXPECT_EQ(Report().cursor, "");
  Pass(seconds(9));
  EXPECT_EQ(job_->begun, 1);
  Pass(seconds(2));
  EXPECT_EQ(job_->begun, 2);
  runner_.Tell(orders_);
  Pass(seconds(1));
  EXPECT_EQ(job_->cancelled, 1) << "once for what was asked once";
}

TEST_F(JobRunnerTest, APausedPassCanBeCancelled) {
  job_->ends = {{.kind = StepEnd::kMore}};
  runner_.Tell(orders_);
  Pass(milliseconds(10'050));
  Ask(JobVerb::kPause);
  Pass(seconds(1));
  Ask(JobVerb::kCancel);
  Pass(seconds(60));
  EXPECT_EQ(job_->cancelled, 1);
  EXPECT_EQ(job_->begun, 1);
  EXPECT_EQ(Report().state, JobState::kPaused);
}

TEST_F(JobRunnerTest, WhatWasCancelledBeforeThisProcessBeganIsOver) {
  job_->ends = {{.kind = StepEnd::kMore}, {.kind = StepEnd::kMore}};
  Ask(JobVerb::kCancel);
  Pass(milliseconds(10'050));
  runner_.Tell(orders_);
  Pass(milliseconds(100));
  EXPECT_EQ(job_->cancelled, 0);
  EXPECT_EQ(job_->begun, 2);
}

TEST_F(JobRunnerTest, ACancellationWithNothingUnderWayDoesNothing) {
  runner_.Tell(orders_);
  Ask(JobVerb::kCancel);
  Pass(milliseconds(10'050));
  EXPECT_EQ(job_->cancelled, 0);
  EXPECT_EQ(job_->begun, 1);
  EXPECT_FALSE(job_->stopped);
}

TEST_F(JobRunnerTest, ACursorOfAnEarlierProcessComesBeforeTheFirstStep) {
  runner_.Restore("work", "at 17");
  runner_.Restore("unknown", "x");
  runner_.Tell(orders_);
  EXPECT_EQ(Report().cursor, "at 17") << "should this process end before that";
  Pass(milliseconds(10'050));
  EXPECT_EQ(job_->restored, "at 17");
  EXPECT_EQ(needed_->restored, "");
}

TEST_F(JobRunnerTest, WhoRestoresACursorKnowsWhatWasCancelledBefore) {
  orders_.Take({"work", JobVerb::kCancel, 5});
  runner_.Restore("work", "at 17");
  runner_.Tell(orders_);
  EXPECT_EQ(Report().cursor, "at 17");
}

TEST_F(JobRunnerTest, ACursorThatWaitsCanBeCancelled) {
  runner_.Restore("work", "at 17");
  runner_.Tell(orders_);
  Ask(JobVerb::kCancel);
  EXPECT_EQ(Report().cursor, "");
  Pass(milliseconds(10'050));
  EXPECT_EQ(job_->restored, "");
  EXPECT_EQ(job_->begun, 1);
}

TEST_F(JobRunnerTest, ProblemsAreRememberedAndMakeStepsRarer) {
  job_->pace_ = {.units_per_second = 0, .retry_first = seconds(4), .retry_max = seconds(8)};
  StepEnd bad{.kind = StepEnd::kRest, .pause = seconds(1)};
  bad.problem = Fail(Code::kUnavailable, "no luck");
  job_->ends = {bad, bad, bad, bad};
  runner_.Tell(orders_);
  Pass(seconds(60));
  ASSERT_GE(job_->begun_at.size(), 6u);
  std::vector<Duration> pauses;
  for (size_t i = 1; i < 6; ++i) pauses.push_back(job_->begun_at[i] - job_->begun_at[i - 1] - job_->takes);
  EXPECT_EQ(pauses, (std::vector<Duration>{seconds(4), seconds(8), seconds(8), seconds(8), seconds(1)}));
  EXPECT_EQ(Report().problem, "no luck");
  EXPECT_GT(Report().problem_ms, 0);
}

TEST_F(JobRunnerTest, TheRateHolds) {
  job_->pace_ = {.units_per_second = 10, .retry_first = {}, .retry_max = {}};
  for (int i = 0; i < 100; ++i) job_->ends.push_back({.kind = StepEnd::kMore, .units = 5});
  runner_.Tell(orders_);
  Pass(seconds(10) + milliseconds(4'900));
  EXPECT_EQ(job_->begun, 10) << "5 units each, 50 in 5 s";
}

TEST_F(JobRunnerTest, AJobThatIsDoneNeverComesBack) {
  job_->ends = {{.kind = StepEnd::kDone}};
  runner_.Tell(orders_);
  Pass(seconds(60));
  EXPECT_EQ(job_->begun, 1);
  EXPECT_EQ(Report().state, JobState::kDone);
}

TEST_F(JobRunnerTest, StoppingEndsStepsAndPassesAtOnce) {
  job_->takes = seconds(1000);
  for (int i = 0; i < 100; ++i) job_->ends.push_back({.kind = StepEnd::kMore});
  runner_.Tell(orders_);
  Pass(seconds(20));
  const int others = needed_->begun;
  runner_.Stop();
  Pass(milliseconds(20));
  EXPECT_EQ(scope_.running(), 0u);
  EXPECT_TRUE(job_->stopped);
  EXPECT_EQ(job_->cancelled, 1);
  Pass(seconds(60));
  EXPECT_EQ(job_->begun, 1);
  EXPECT_LE(needed_->begun, others + 1);
}

TEST_F(JobRunnerTest, NothingStartsAfterAStop) {
  JobRunner runner(executor_, scope_);
  runner.Stop();
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(std::make_unique<FakeJob>(executor_, kNeeded));
  const size_t running = scope_.running();
  runner.Start(std::move(jobs));
  EXPECT_EQ(scope_.running(), running);
}

TEST_F(JobRunnerTest, StoppingEndsWhoIsHeld) {
  runner_.Stop();
  Pass(milliseconds(200));
  EXPECT_EQ(scope_.running(), 0u);
  EXPECT_EQ(job_->begun, 0);
}

}  // namespace
}  // namespace xec
