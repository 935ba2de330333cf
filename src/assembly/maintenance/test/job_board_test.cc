// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/job_board.hh"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::array<MemberIndex, 3> kThree = {0, 1, 2};

class JobBoardTest : public testing::Test {
 protected:
  Status Ask(JobVerb verb, const std::string& job = "clean") {
    return world_.Run(AskOfJob(*one_.engine, job, verb));
  }
  JobBoard Board() { return world_.Run(ReadJobBoard(*two_.engine, Quorum(world_.memory.size()))); }
  std::vector<ProcessRecord> Records() {
    JobBoard board = world_.Run(ReadJobBoard(*two_.engine, world_.memory.size()));
    return world_.Run(ReadJobRecords(*two_.engine, std::move(board)));
  }
  void Tell(JobTeller& teller, const std::string& process) {
    const JobBoard board = Board();
    ProcessRecord record{process, 1, one_.process.WallNow(), {}};
    record.jobs.push_back({.name = "clean", .cursor = "/at/" + process});
    const auto tell = [&]() -> Task<bool> {
      co_await teller.Tell(board, record);
      co_return true;
    };
    world_.Run(tell());
  }
  // Names in the folder on that server.
  std::vector<std::string> Entries(MemberIndex member) {
    std::vector<std::string> names;
    const CallContext call{&world_.executor, world_.executor.Now() + 10s};
    const auto listed = world_.Run(List(call, world_.memory[member], std::string(kJobBoardFolder)));
    if (!listed) return names;
    for (const Entry& entry : *listed) names.push_back(entry.name);
    return names;
  }

  TestWorld world_{TestWorld::Options{.servers = 5, .tolerance = 1}};
  TestWorld::Gateway& one_ = world_.NewGateway();
  TestWorld::Gateway& two_ = world_.NewGateway();
};

TEST_F(JobBoardTest, NothingWasAskedInANewStore) {
  EXPECT_THAT(Board().heard, SizeIs(3));
  EXPECT_THAT(Board().orders.Paused(), SizeIs(0));
  EXPECT_THAT(Records(), SizeIs(0));
}

TEST_F(JobBoardTest, WhatIsAskedIsSeenAndLeavesOneMark) {
  ASSERT_TRUE(Ask(JobVerb::kPause));
  EXPECT_TRUE(Board().orders.Of("clean").paused);
  EXPECT_FALSE(Board().orders.Of("repair").paused);
  ASSERT_TRUE(Ask(JobVerb::kResume));
  EXPECT_FALSE(Board().orders.Of("clean").paused);
  ASSERT_TRUE(Ask(JobVerb::kPause));
  EXPECT_TRUE(Board().orders.Of("clean").paused);
  ASSERT_TRUE(Ask(JobVerb::kCancel));
  EXPECT_GT(Board().orders.Of("clean").cancelled_ms, Board().orders.Of("clean").since_ms);
  for (MemberIndex member = 0; member < 5; ++member) EXPECT_THAT(Entries(member), SizeIs(2)) << member;
}

TEST_F(JobBoardTest, WhoWasAwayDoesNotBringAPauseBack) {
  ASSERT_TRUE(Ask(JobVerb::kPause));
  world_.memory[0]->SetDown(true);
  world_.memory[1]->SetDown(true);
  ASSERT_TRUE(Ask(JobVerb::kResume));
  world_.memory[0]->SetDown(false);
  world_.memory[1]->SetDown(false);
  world_.memory[3]->SetDown(true);
  world_.memory[4]->SetDown(true);
  world_.Pass(60s);
  EXPECT_FALSE(Board().orders.Of("clean").paused) << "one of three has the later mark";
}

TEST_F(JobBoardTest, TooFewServersAreAnError) {
  for (const MemberIndex member : kThree) world_.memory[member]->SetDown(true);
  EXPECT_EQ(Ask(JobVerb::kPause).code(), Code::kNoQuorum);
  EXPECT_THAT(Board().heard, SizeIs(2));
}

TEST_F(JobBoardTest, ServersThatRefuseAreNamed) {
  for (const MemberIndex member : kThree) one_.faults[member]->plan().SetReadOnly(true);
  const Status asked = Ask(JobVerb::kPause);
  EXPECT_EQ(asked.code(), Code::kPermissionDenied);
  EXPECT_THAT(asked.error().message, testing::HasSubstr("2 of 5 data servers have taken down"));
}

TEST_F(JobBoardTest, WhatIsToldIsReadAndReplaced) {
  JobTeller teller(*one_.engine), other(*two_.engine);
  for (int round = 0; round < 3; ++round) {
    Tell(teller, "a:1");
    Tell(other, "b:1");
    world_.Pass(10s);
  }
  const auto records = Records();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].process, "a:1");
  EXPECT_EQ(records[1].process, "b:1");
  EXPECT_EQ(records[0].jobs[0].cursor, "/at/a:1");
  size_t entries = 0;
  for (MemberIndex member = 0; member < 5; ++member) entries += Entries(member).size();
  EXPECT_EQ(entries, 4u) << "each on as many servers as may be away, and one more";
  world_.memory[0]->SetDown(true);
  EXPECT_THAT(Records(), SizeIs(2));
}

TEST_F(JobBoardTest, AProcessTakesOverFromTheOneBefore) {
  JobTeller before(*one_.engine), other(*one_.engine);
  Tell(before, "a:1");
  Tell(other, "b:1");
  JobTeller after(*two_.engine);
  const JobBoard board = Board();
  const auto taken = world_.Run(after.TakeOver(board, "a:1"));
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].jobs[0].cursor, "/at/a:1");
  Tell(after, "a:1");
  EXPECT_THAT(Records(), SizeIs(2));
}

TEST_F(JobBoardTest, WhoIsSilentForLongIsForgotten) {
  JobTeller silent(*one_.engine), teller(*two_.engine);
  Tell(silent, "a:1");
  world_.Pass(59min);
  Tell(teller, "b:1");
  EXPECT_THAT(Records(), SizeIs(2));
  world_.Pass(2min);
  EXPECT_THAT(Records(), SizeIs(1));
  Tell(teller, "b:1");
  EXPECT_THAT(Entries(0), SizeIs(1)) << "its record is removed";
}

TEST_F(JobBoardTest, ARecordThatIsCutOffIsPassedOver) {
  JobTeller teller(*one_.engine);
  Tell(teller, "a:1");
  for (MemberIndex member = 0; member < 5; ++member) {
    for (const std::string& entry : Entries(member)) {
      ASSERT_TRUE(world_.memory[member]->Tamper(fmt::format("{}/{}", kJobBoardFolder, entry),
                                                [](std::string& text) { text.resize(text.size() / 2); }));
    }
  }
  EXPECT_THAT(Records(), SizeIs(0));
  Tell(teller, "a:1");
  EXPECT_THAT(Records(), SizeIs(1));
}

}  // namespace
}  // namespace xec
