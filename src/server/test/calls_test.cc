// SPDX-License-Identifier: LGPL-3.0-or-later
// Deadlines of the calls, in virtual time, on servers that hang, are slow or lose replies.
#include "server/calls.hh"

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/decorators/fault_server.hh"
#include "server/kinds/memory_server.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

class CallsTest : public testing::Test {
 protected:
  CallsTest()
      : memory_(std::make_shared<MemoryServer>("memory", world_)),
        server_(std::make_shared<FaultServer>(memory_, world_)) {}
  ~CallsTest() override {
    server_->plan().DropHung();
    world_.RunUntilIdle(1000);
  }

  CallContext In(Duration time) { return {&world_, world_.Now() + time}; }

  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result = world_.RunTask(std::move(task));
    XEC_CHECK(result.has_value(), "the call never ended");
    return std::move(*result);
  }

  ArchiveFilePtr Created(const std::string& path) {
    Result<ArchiveFilePtr> file = Run(Open(In(1s), server_, path, OpenMode::kCreate));
    XEC_CHECK(file.has_value());
    return *file;
  }

  VirtualExecutor world_;
  std::shared_ptr<MemoryServer> memory_;
  std::shared_ptr<FaultServer> server_;
};

TEST_F(CallsTest, EveryCallToAHungServerEndsAtItsDeadline) {
  const ArchiveFilePtr file = Created("/f");
  server_->plan().Add({.kind = FaultKind::kHang});
  const DataServerPtr server = server_;
  std::vector<ByteRange> ranges = {{0, 1}};
  const Attributes attributes = {{"a", "b"}};
  const auto ends = [&](auto task) {
    const TimePoint start = world_.Now();
    const auto result = Run(std::move(task));
    EXPECT_CODE(result, Code::kDeadlineExceeded);
    EXPECT_EQ(world_.Now() - start, Duration(3s));
  };
  ends(Open(In(3s), server, "/g", OpenMode::kCreate));
  ends(List(In(3s), server, "/"));
  ends(Rename(In(3s), server, "/a", "/b"));
  ends(Remove(In(3s), server, "/a"));
  ends(MakeDirectory(In(3s), server, "/a"));
  ends(RemoveDirectory(In(3s), server, "/a"));
  ends(SetAttributes(In(3s), server, "/a", attributes));
  ends(GetAttributes(In(3s), server, "/a", ""));
  ends(GetSpace(In(3s), server));
  ends(Read(In(3s), file, ranges, Slice(Buffer::Allocate(1))));
  ends(Write(In(3s), file, 0, Slice::Copy(AsBytes("x"))));
  ends(Sync(In(3s), file));
  ends(Close(In(3s), file));
  ends(CreateFile(In(3s), server, "/g", "content", true));
  ends(ReadFile(In(3s), server, "/g", 100));
  EXPECT_EQ(server_->plan().hung(), 15u);
}

TEST_F(CallsTest, WhatWasGivenUpOnMayStillHappen) {
  server_->plan().Add({.kind = FaultKind::kHang, .operation = Operation::kMakeDirectory});
  EXPECT_CODE(Run(MakeDirectory(In(1s), server_, "/late")), Code::kDeadlineExceeded);
  EXPECT_CODE(Run(List(In(1s), server_, "/late")), Code::kNotFound);
  server_->plan().ReleaseHung();
  world_.RunUntilIdle(100);
  EXPECT_OK(Run(List(In(1s), server_, "/late")));
}

TEST_F(CallsTest, AnAnswerInTimeLeavesNoTimerBehind) {
  server_->plan().Add({.kind = FaultKind::kDelay, .delay = 2s});
  const TimePoint start = world_.Now();
  EXPECT_OK(Run(MakeDirectory(In(3s), server_, "/d")));
  EXPECT_EQ(world_.Now() - start, Duration(2s));
  EXPECT_EQ(world_.timers(), 0u);
}

TEST_F(CallsTest, WithoutADeadlineACallWaits) {
  server_->plan().Add({.kind = FaultKind::kDelay, .delay = 100h});
  EXPECT_OK(Run(MakeDirectory({&world_}, server_, "/d")));
}

TEST_F(CallsTest, ARequestOwnsItsBufferAndItsFilePastTheDeadline) {
  std::weak_ptr<Buffer> buffer;
  std::weak_ptr<ArchiveFile> watched;
  {
    const ArchiveFilePtr file = Created("/f");
    watched = file;
    server_->plan().Add({.kind = FaultKind::kHang, .operation = Operation::kWrite});
    Slice slice = Slice::Copy(AsBytes("late bytes"));
    buffer = slice.buffer;
    EXPECT_CODE(Run(Write(In(1s), file, 0, std::move(slice))), Code::kDeadlineExceeded);
  }
  EXPECT_FALSE(buffer.expired());
  EXPECT_FALSE(watched.expired());
  server_->plan().ReleaseHung();
  world_.RunUntilIdle(100);
  EXPECT_TRUE(buffer.expired());
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(memory_->Content("/f"), "late bytes");
}

TEST_F(CallsTest, ARequestOwnsItsServerPastTheDeadline) {
  auto other = std::make_shared<FaultServer>(memory_, world_);
  const std::weak_ptr<FaultServer> watched = other;
  const std::shared_ptr<FaultPlan> plan = other->plan().shared_from_this();
  plan->Add({.kind = FaultKind::kHang});
  EXPECT_CODE(Run(MakeDirectory(In(1s), std::move(other), "/d")), Code::kDeadlineExceeded);
  EXPECT_FALSE(watched.expired());
  plan->DropHung();
  world_.RunUntilIdle(100);
  EXPECT_TRUE(watched.expired());
}

TEST_F(CallsTest, CreateFileReportsTheStepThatFailed) {
  for (const Operation step : {Operation::kCreate, Operation::kWrite, Operation::kSync, Operation::kClose}) {
    SCOPED_TRACE(OperationName(step));
    server_->plan().Clear();
    server_->plan().Add({.operation = step, .error = {Code::kNoSpace, "full"}});
    EXPECT_CODE(Run(CreateFile(In(1s), server_, fmt::format("/f-{}", OperationName(step)), "x", true)),
                Code::kNoSpace);
  }
  server_->plan().Clear();
  server_->plan().Add({.operation = Operation::kSync});
  EXPECT_OK(Run(CreateFile(In(1s), server_, "/unsynced", "x", false)));
}

TEST_F(CallsTest, ReadFileRefusesWhatIsTooLong) {
  EXPECT_OK(Run(CreateFile(In(1s), server_, "/f", "12345", true)));
  EXPECT_EQ(*Run(ReadFile(In(1s), server_, "/f", 5)), "12345");
  EXPECT_CODE(Run(ReadFile(In(1s), server_, "/f", 4)), Code::kCorruption);
}

TEST_F(CallsTest, AKilledProcessHearsNothingButItsRequestHappens) {
  VirtualProcess process(world_);
  const DataServerPtr view = memory_->ViewFor(process);
  bool answered = false;
  view->MakeDirectory({}, "/d", [&](Status) { answered = true; });
  process.Kill();
  world_.RunUntilIdle(100);
  EXPECT_FALSE(answered);
  EXPECT_OK(Run(List(In(1s), server_, "/d")));
}

}  // namespace
}  // namespace xec
