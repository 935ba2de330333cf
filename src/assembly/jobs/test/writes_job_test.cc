// SPDX-License-Identifier: LGPL-3.0-or-later
// The members change while the disks are tried.
#include <utility>

#include <gmock/gmock.h>

#include "assembly/jobs/store_jobs.hh"
#include "commit/test/test_world.hh"

namespace xec {

extern const JobKind kWritesJob;

namespace {

using testing::HasSubstr;

// Bug: what a disk answered was told by the list that was in force by then, which may have fewer members:
// gateways died of a member that was taken off.
TEST(WritesJobTest, WhatADiskAnswersIsToldByTheListByWhichItWasAsked) {
  TestWorld world({.servers = 6}), smaller({.servers = 3});
  TestWorld::Gateway& gateway = world.NewGateway();
  TestWorld::Gateway& other = smaller.NewGateway();
  Generation before, after;
  before.beneath = std::move(gateway.engine);
  after.beneath = std::move(other.engine);
  JobRunner runner(world.executor, gateway.scope);
  const Configuration configuration;
  Generation* now = &before;
  JobSite site{.now = [&]() -> Generation& { return *std::exchange(now, &after); },
               .follow = {},
               .clocks = {},
               .configuration = configuration,
               .process = "here",
               .runner = runner};
  gateway.faults.back()->plan().SetReadOnly(true);
  const std::unique_ptr<Job> job = kWritesJob.make(site);
  const StepEnd end = world.Run(job->Step({}));
  ASSERT_TRUE(end.problem);
  EXPECT_THAT(end.problem->message, HasSubstr("data server s05 ("));
  gateway.engine = std::move(before.beneath);
  other.engine = std::move(after.beneath);
}

}  // namespace
}  // namespace xec
