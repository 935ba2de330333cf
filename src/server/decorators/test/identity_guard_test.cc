// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/identity_guard.hh"

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/calls.hh"
#include "server/decorators/counting_server.hh"
#include "server/decorators/fault_server.hh"
#include "server/kinds/memory_server.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

constexpr const char* kIdentityPath = "/.xec/server";

class IdentityGuardTest : public testing::Test {
 protected:
  IdentityGuardTest() {
    EXPECT_OK(Run(CreateFile(context_, memory_, kIdentityPath, "store 1 member s03\n", true)));
    EXPECT_OK(Run(CreateFile(context_, memory_, "/f", "x", true)));
  }
  ~IdentityGuardTest() override {
    fault_->plan().DropHung();
    world_.RunUntilIdle(1000);
  }

  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result = world_.RunTask(std::move(task));
    XEC_CHECK(result.has_value(), "the call never ended");
    return std::move(*result);
  }
  std::shared_ptr<IdentityGuard> Guard(Duration confirm_interval = 5s) {
    return std::make_shared<IdentityGuard>(counting_, world_,
                                           IdentityOptions{.path = kIdentityPath,
                                                           .content = "store 1 member s03\n",
                                                           .description = "member s03 of store 1",
                                                           .confirm_interval = confirm_interval,
                                                           .check_timeout = 10s});
  }
  void Pass(Duration time) { world_.RunUntilTime(world_.Now() + time); }

  VirtualExecutor world_;
  const CallContext context_{&world_};
  std::shared_ptr<MemoryServer> memory_ = std::make_shared<MemoryServer>("m01", world_);
  std::shared_ptr<FaultServer> fault_ = std::make_shared<FaultServer>(memory_, world_);
  std::shared_ptr<CountingServer> counting_ = std::make_shared<CountingServer>(fault_);
};

TEST_F(IdentityGuardTest, ChecksOnceThenOnlyForOldNotFounds) {
  const auto guard = Guard();
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(guard->checks(), 1u);
  EXPECT_EQ(counting_->Total(), 4u);  // open, read, close, list
  EXPECT_CODE(Run(List(context_, guard, "/none")), Code::kNotFound);
  EXPECT_EQ(guard->checks(), 1u);
  Pass(3s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  Pass(3s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(guard->checks(), 1u);
  EXPECT_CODE(Run(List(context_, guard, "/none")), Code::kNotFound);
  EXPECT_EQ(guard->checks(), 2u);
}

TEST_F(IdentityGuardTest, WhatABatchDoesNotFindIsProvedToo) {
  const auto guard = Guard();
  EXPECT_OK(Run(MakeDirectory(context_, memory_, "/d")));
  EXPECT_OK(Run(ListMany(context_, guard, {"/d", "/d"})));
  Pass(3s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  Pass(3s);
  EXPECT_OK(Run(ListMany(context_, guard, {"/d", "/d"})));
  EXPECT_EQ(guard->checks(), 1u);
  const auto lists = Run(ListMany(context_, guard, {"/d", "/none"}));
  ASSERT_TRUE(lists);
  EXPECT_TRUE((*lists)[0] && !(*lists)[1]);
  EXPECT_EQ(guard->checks(), 2u);
  Pass(3s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_TRUE(memory_->Tamper(kIdentityPath, [](std::string& text) { text = "store 2 member s03\n"; }));
  Pass(3s);
  EXPECT_CODE(Run(ListMany(context_, guard, {"/d", "/none"})), Code::kUnavailable);
}

TEST_F(IdentityGuardTest, AServerNotHeardOfForLongIsCheckedBeforeItIsUsedAgain) {
  const auto guard = Guard();
  EXPECT_OK(Run(List(context_, guard, "/")));
  // Nobody has asked it for anything while it was off and got another store's disk.
  Pass(6s);
  EXPECT_TRUE(memory_->Tamper(kIdentityPath, [](std::string& text) { text = "store 2 member s03\n"; }));
  EXPECT_CODE(Run(List(context_, guard, "/")), Code::kUnavailable);
  EXPECT_CODE(Run(MakeDirectory(context_, guard, "/d")), Code::kUnavailable);
  EXPECT_CODE(Run(List(context_, memory_, "/d")), Code::kNotFound);
}

TEST_F(IdentityGuardTest, AFileThatAnswersProvesThatTheServerWasNotAway) {
  const auto guard = Guard();
  const auto file = Run(Open(context_, guard, "/f", OpenMode::kRead));
  ASSERT_TRUE(file);
  for (int i = 0; i < 5; ++i) {
    Pass(4s);
    EXPECT_OK(Run(Read(context_, *file, {ByteRange{0, 1}}, Slice(Buffer::Allocate(1)))));
  }
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(guard->checks(), 1u);
}

// Found by the simulator (seed 65): a process that was stopped took an answer of before for news of now.
TEST_F(IdentityGuardTest, AnAnswerThatWaitedWhileTheProcessWasStoppedProvesNothing) {
  for (size_t steps = 0; steps < 24; ++steps) {
    VirtualExecutor world;
    VirtualProcess process(world);
    const auto server = std::make_shared<MemoryServer>("m01", world);
    EXPECT_TRUE(world.RunTask(CreateFile({&world}, server, kIdentityPath, "store 1\n", true)));
    const auto guard = std::make_shared<IdentityGuard>(
        server->ViewFor(process), process,
        IdentityOptions{.path = kIdentityPath, .content = "store 1\n", .description = "ours"});
    size_t answers = 0, of_others = 0;
    const auto look = [&](Result<std::vector<Entry>> listed) {
      ++answers;
      of_others += listed && listed->size() > 1 ? 1 : 0;
      if (answers < 3)
        guard->List({}, "/", [&](Result<std::vector<Entry>> again) {
          ++answers;
          of_others += again && again->size() > 1 ? 1 : 0;
        });
    };
    guard->List({}, "/", look);
    world.RunUntilIdle(steps);
    process.SleepUntil(world.Now() + 1h);
    world.RunUntilTime(world.Now() + 1min);
    server->Tamper(kIdentityPath, [](std::string& text) { text = "store 2\n"; });
    EXPECT_TRUE(world.RunTask(MakeDirectory({&world}, server, "/theirs")));
    world.RunUntilTime(world.Now() + 2h);
    EXPECT_GT(answers, 0u) << steps;
    EXPECT_EQ(of_others, 0u) << steps;
  }
}

// A server that takes seconds for everything was taken for one that does not answer.
TEST_F(IdentityGuardTest, ASlowServerIsUsed) {
  MemoryServerOptions slow;
  slow.latency = [](Operation) { return Duration(1500ms); };  // there and back
  const auto server = std::make_shared<MemoryServer>("m02", world_, slow);
  EXPECT_OK(Run(CreateFile(context_, server, kIdentityPath, "store 1\n", true)));
  const auto guard = std::make_shared<IdentityGuard>(
      server, world_, IdentityOptions{.path = kIdentityPath, .content = "store 1\n", .description = "ours"});
  for (int i = 0; i < 3; ++i) EXPECT_OK(Run(List(context_, guard, "/")));
}

// The disk was changed between the check and the request, which waited for long.
TEST_F(IdentityGuardTest, AnAnswerThatTookLongIsProvedAfterwards) {
  const auto guard = Guard();
  EXPECT_OK(Run(List(context_, guard, "/")));
  fault_->plan().Add({.kind = FaultKind::kHang, .operation = Operation::kList, .count = 2});
  for (const bool swapped : {false, true}) {
    std::optional<Status> listed;
    guard->List({}, "/", [&](Result<std::vector<Entry>> result) {
      listed = result ? OkStatus() : Status(result.error());
    });
    Pass(6s);
    EXPECT_FALSE(listed);
    if (swapped) memory_->Wipe();
    fault_->plan().ReleaseHung();
    Pass(1s);
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->has_value(), !swapped);
  }
}

TEST_F(IdentityGuardTest, AnotherStoresServerIsNeverUsed) {
  EXPECT_TRUE(memory_->Tamper(kIdentityPath, [](std::string& text) { text = "store 2 member s03\n"; }));
  const auto guard = Guard();
  const Status made = Run(MakeDirectory(context_, guard, "/d"));
  EXPECT_CODE(made, Code::kUnavailable);
  EXPECT_NE(made.error().message.find("m01 is not member s03 of store 1"), std::string::npos)
      << made.error().message;
  EXPECT_CODE(Run(List(context_, memory_, "/d")), Code::kNotFound);
}

TEST_F(IdentityGuardTest, AnEmptyDiskDoesNotSayNotFound) {
  const auto guard = Guard();
  EXPECT_OK(Run(List(context_, guard, "/")));
  Pass(6s);
  memory_->Wipe();
  EXPECT_CODE(Run(List(context_, guard, "/f")), Code::kUnavailable);
  EXPECT_CODE(Run(Open(context_, guard, "/f", OpenMode::kRead)), Code::kUnavailable);
  EXPECT_CODE(Run(Remove(context_, guard, "/f")), Code::kUnavailable);
}

TEST_F(IdentityGuardTest, IntervalZeroProvesEachNotFoundAfresh) {
  const auto guard = Guard(0s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  memory_->Wipe();
  EXPECT_CODE(Run(List(context_, guard, "/none")), Code::kUnavailable);
}

TEST_F(IdentityGuardTest, AServerThatWasAwayIsCheckedBeforeItIsUsedAgain) {
  const auto guard = Guard();
  EXPECT_OK(Run(List(context_, guard, "/")));
  memory_->SetDown(true);
  EXPECT_CODE(Run(List(context_, guard, "/")), Code::kUnavailable);
  memory_->SetDown(false);
  memory_->Wipe();
  EXPECT_CODE(Run(MakeDirectory(context_, guard, "/d")), Code::kUnavailable);
  EXPECT_CODE(Run(List(context_, memory_, "/d")), Code::kNotFound);
  // The right disk is back.
  EXPECT_OK(Run(CreateFile(context_, memory_, kIdentityPath, "store 1 member s03\n", true)));
  EXPECT_OK(Run(MakeDirectory(context_, guard, "/d")));
}

TEST_F(IdentityGuardTest, ManyWaitForOneCheck) {
  const auto guard = Guard();
  fault_->plan().Add({.kind = FaultKind::kDelay, .operation = Operation::kOpen, .delay = 1s});
  int answers = 0;
  for (int i = 0; i < 50; ++i) {
    guard->List({}, "/", [&](Result<std::vector<Entry>> listed) {
      EXPECT_OK(listed);
      ++answers;
    });
  }
  world_.RunUntilIdle(10000);
  EXPECT_EQ(answers, 50);
  EXPECT_EQ(guard->checks(), 1u);
}

// A check that began before the "not found" may have read the identity of the disk that was there before.
TEST_F(IdentityGuardTest, AnOlderCheckUnderWayIsNotEnough) {
  const auto guard = Guard(0s);
  EXPECT_OK(Run(List(context_, guard, "/")));
  fault_->plan().Add({.kind = FaultKind::kDelay, .operation = Operation::kRead, .delay = 3s});
  int answers = 0;
  const auto expect = [&](Result<std::vector<Entry>> listed) {
    EXPECT_CODE(listed, Code::kNotFound);
    ++answers;
  };
  guard->List({}, "/none", expect);
  Pass(1s);
  guard->List({}, "/none", expect);
  guard->List({}, "/none", expect);
  world_.RunUntilIdle(1000);
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(guard->checks(), 3u);
}

TEST_F(IdentityGuardTest, AHungCheckEndsAndIsTriedAgain) {
  const auto guard = Guard();
  fault_->plan().Add({.kind = FaultKind::kHang, .operation = Operation::kRead, .count = 1});
  const TimePoint start = world_.Now();
  EXPECT_CODE(Run(List(context_, guard, "/")), Code::kUnavailable);
  EXPECT_EQ(world_.Now() - start, Duration(10s));
  EXPECT_OK(Run(List(context_, guard, "/")));
  fault_->plan().ReleaseHung();
  world_.RunUntilIdle(100);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(guard->checks(), 2u);
}

TEST_F(IdentityGuardTest, AProcessThatGoesLeavesNobodyWaiting) {
  std::weak_ptr<FaultServer> server;
  {
    VirtualExecutor process;
    const auto hung = std::make_shared<FaultServer>(memory_, process);
    server = hung;
    FaultRule rule;
    rule.kind = FaultKind::kHang;
    hung->plan().Add(rule);
    const auto guard = std::make_shared<IdentityGuard>(
        hung, process,
        IdentityOptions{.path = kIdentityPath, .content = "c", .description = "d", .check_timeout = 10s});
    const auto never = [guard](const Result<std::vector<Entry>>&) { FAIL(); };
    guard->List({process.Now() + 10s}, "/", never);
    process.RunUntilTime(process.Now() + 1s);
    // Needs a check that begins after the one under way.
    guard->List({process.Now() + 10s}, "/", never);
    EXPECT_EQ(guard->checks(), 1u);
    hung->plan().DropHung();
  }
  EXPECT_TRUE(server.expired());
}

TEST_F(IdentityGuardTest, AnUnreadableIdentityIsUnavailable) {
  fault_->plan().Add({.operation = Operation::kOpen, .error = {Code::kPermissionDenied, "no"}});
  EXPECT_CODE(Run(List(context_, Guard(), "/")), Code::kUnavailable);
  fault_->plan().Clear();
  fault_->plan().Add({.operation = Operation::kRead, .error = {Code::kCorruption, "bad"}});
  EXPECT_CODE(Run(List(context_, Guard(), "/")), Code::kUnavailable);
  fault_->plan().Clear();
  EXPECT_TRUE(memory_->Tamper(kIdentityPath, [](std::string& text) { text += std::string(10000, 'x'); }));
  EXPECT_CODE(Run(List(context_, Guard(), "/")), Code::kUnavailable);
}

TEST_F(IdentityGuardTest, FilesAreUsedWithoutMoreChecks) {
  const auto guard = Guard();
  EXPECT_EQ(*Run(ReadFile(context_, guard, "/f", 10)), "x");
  EXPECT_EQ(counting_->Total(), 6u);
}

// A disk with a clock.
class DiskClockGuardTest : public IdentityGuardTest {
 protected:
  DiskClockGuardTest() { Tell(1000); }

  void Tell(DiskTime time) {
    EXPECT_OK(Run(CreateFile(context_, memory_, "/.xec/clock/" + FormatDiskTime(time), "", true)));
  }
  DataServerPtr Watch() {
    return WatchDiskClock(counting_, world_, DiskClock{clocks_, "s01", "/.xec/clock", 100ms});
  }

  std::shared_ptr<DiskClocks> clocks_ = std::make_shared<DiskClocks>();
};

TEST_F(DiskClockGuardTest, EachListingIsProvedByALookAtTheClock) {
  const auto guard = Watch();
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(counting_->Total(), 2u);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(counting_->Total(), 3u);
  Pass(300ms);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(counting_->Total(), 5u);
  Pass(300ms);
  EXPECT_OK(Run(MakeDirectory(context_, guard, "/d")));
  EXPECT_EQ(counting_->Total(), 6u);
}

TEST_F(DiskClockGuardTest, AReadingIsKnownOnceALaterOneStandsBesideIt) {
  const auto guard = Watch();
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(clocks_->Latest("s01"), 0u);
  Tell(1099);
  Pass(300ms);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(clocks_->Latest("s01"), 0u);
  Tell(1100);
  Pass(300ms);
  EXPECT_OK(Run(List(context_, guard, "/")));
  EXPECT_EQ(clocks_->Latest("s01"), 1000u);
}

TEST_F(DiskClockGuardTest, AClockThatWentBackMeansUnavailable) {
  const auto guard = Watch();
  clocks_->Raise("s01", 2000);
  const auto listed = Run(List(context_, guard, "/"));
  EXPECT_CODE(listed, Code::kUnavailable);
  EXPECT_NE(listed.error().message.find("went back in time"), std::string::npos);
  Tell(1999);
  EXPECT_CODE(Run(List(context_, guard, "/")), Code::kUnavailable);
  Tell(2000);
  EXPECT_OK(Run(List(context_, guard, "/")));
}

TEST_F(DiskClockGuardTest, WhatIsNoReadingIsNoTime) {
  for (const char* entry :
       {"r.1234abcd", "0", "01", "-1", "1e3", "99999999999999999999999", "253402300800000", ""})
    EXPECT_FALSE(ParseDiskTime(entry)) << entry;
  EXPECT_EQ(ParseDiskTime("253402300799999"), 253402300799999u);
}

}  // namespace
}  // namespace xec
