// SPDX-License-Identifier: LGPL-3.0-or-later
// Data servers that take no writes: how they are found, and what is told of them when.
#include "assembly/servers/write_probe.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.hh"
#include "placement/store_descriptor.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/decorators/fault_server.hh"
#include "server/kinds/memory_server.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using News = WriteWatch::News;

TEST(WriteProbeTest, TellsRefusalsFromOtherErrors) {
  EXPECT_EQ(RefusalOf(Fail(Code::kNoSpace, "create /a on /d: Disk quota exceeded")), WriteRefusal::kFull);
  EXPECT_EQ(RefusalOf(Fail(Code::kPermissionDenied, "create /a on /d: Permission denied")),
            WriteRefusal::kDenied);
  // In the words of the system, and of a stock server.
  EXPECT_EQ(RefusalOf(Fail(Code::kPermissionDenied, "create /a on /d: Read-only file system")),
            WriteRefusal::kReadOnly);
  EXPECT_EQ(
      RefusalOf(Fail(Code::kPermissionDenied, "open failed: Unable to create /a; read-only file system")),
      WriteRefusal::kReadOnly);
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kNotFound, Code::kNotDirectory})
    EXPECT_FALSE(RefusalOf(Fail(code, "x")));
}

TEST(WriteWatchTest, TellsOnceThatAServerRefusesAndOnceThatItTakesWritesAgain) {
  WriteWatch watch(2);
  TimePoint now{};
  const auto note = [&](std::optional<WriteRefusal> refusal) { return watch.Note(1, refusal, now += 10s); };
  EXPECT_EQ(note(std::nullopt), News::kNone);
  EXPECT_EQ(note(WriteRefusal::kFull), News::kRefuses);
  const TimePoint since = now;
  EXPECT_EQ(note(WriteRefusal::kFull), News::kNone);
  // Room for a small file now and then is no news.
  EXPECT_EQ(note(std::nullopt), News::kNone);
  EXPECT_EQ(note(std::nullopt), News::kNone);
  EXPECT_EQ(note(WriteRefusal::kFull), News::kNone);
  // What has to be done is another thing now.
  EXPECT_EQ(note(WriteRefusal::kReadOnly), News::kRefuses);
  EXPECT_EQ(watch.RefusedSince(1), since);
  for (int i = 1; i < WriteWatch::kWellRounds; ++i) EXPECT_EQ(note(std::nullopt), News::kNone);
  EXPECT_EQ(note(std::nullopt), News::kTakes);
  EXPECT_EQ(note(std::nullopt), News::kNone);
  EXPECT_EQ(watch.Note(0, std::nullopt, now), News::kNone);
}

// A server that refuses names in its root only would seem to be well in the rounds in which it is not asked.
TEST(WriteWatchTest, AsksTheRootsOfServersSeldomUntilOneRefuses) {
  WriteWatch watch(2);
  for (uint64_t round = 0; round < 2 * WriteWatch::kRootRounds; ++round) {
    EXPECT_TRUE(watch.AsksRoot(0, true, round));
    EXPECT_EQ(watch.AsksRoot(1, false, round), round % WriteWatch::kRootRounds == 0);
  }
  watch.Note(1, WriteRefusal::kDenied, TimePoint{});
  for (int i = 0; i < WriteWatch::kWellRounds; ++i) {
    EXPECT_TRUE(watch.AsksRoot(1, false, 1));
    watch.Note(1, std::nullopt, TimePoint{});
  }
  EXPECT_FALSE(watch.AsksRoot(1, false, 1));
}

class TryWritesTest : public testing::Test {
 protected:
  TryWritesTest() { Make(kIdentityPath); }

  void Make(std::string_view path) {
    const CallContext call = Call();
    ASSERT_TRUE(SyncWait(CreateFile(call, server_, std::string(path), "x", false)));
  }
  CallContext Call() { return {&pool_, pool_.Now() + 30s}; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& [name, size] : memory_->Files()) names.push_back(name);
    return names;
  }
  TriedWrites Try() {
    const auto tried = SyncWait(TryWrites(pool_, server_, true, 30s));
    EXPECT_TRUE(tried) << tried.error().message;
    return tried ? *tried : TriedWrites{};
  }
  void ExpectClean() {
    EXPECT_EQ(Files(), std::vector<std::string>{std::string(kIdentityPath)});
    const CallContext call = Call();
    EXPECT_EQ(SyncWait(List(call, server_, std::string(kProbeFolder))).code(), Code::kNotFound);
  }

  ThreadPool pool_{"test", 1};
  std::shared_ptr<MemoryServer> memory_ = std::make_shared<MemoryServer>("m", pool_);
  std::shared_ptr<FaultServer> faults_ = std::make_shared<FaultServer>(memory_, pool_);
  DataServerPtr server_ = faults_;
};

TEST_F(TryWritesTest, LeavesNothingBehind) {
  EXPECT_FALSE(Try().refusal);
  ExpectClean();
}

TEST_F(TryWritesTest, RemovesWhatWasLeft) {
  // Left by a process that was killed while it tried; by a full disk, which made a file of the folder.
  for (const std::string_view left : {kProbePath, kProbeFolder}) {
    Make(left);
    EXPECT_FALSE(Try().refusal);
    ExpectClean();
  }
}

TEST_F(TryWritesTest, SaysWhyAServerRefuses) {
  faults_->plan().SetReadOnly(true);
  TriedWrites tried = Try();
  EXPECT_EQ(tried.refusal, WriteRefusal::kDenied);
  EXPECT_THAT(tried.why,
              HasSubstr("(no name can be made in m: the server is read-only): see the owner and the mode"));
  faults_->plan().Clear();
  // The disk tells how much is free: something else must have run out.
  faults_->plan().SetFull(true);
  tried = Try();
  EXPECT_EQ(tried.refusal, WriteRefusal::kFull);
  EXPECT_THAT(tried.why, HasSubstr("its inodes, or a quota, are used up"));
  faults_->plan().Clear();
  // Room for a name, not for what is in the file.
  memory_->SetCapacity(memory_->used_bytes() + 4096);
  tried = Try();
  EXPECT_EQ(tried.refusal, WriteRefusal::kFull);
  EXPECT_THAT(tried.why, HasSubstr("it is full"));
  ExpectClean();
  memory_->SetCapacity(kGiB);
  // In the root no names may be made.
  faults_->plan().Add({.operation = Operation::kRemoveDirectory,
                       .error = Fail(Code::kPermissionDenied, "remove it: Read-only file system")});
  tried = Try();
  EXPECT_EQ(tried.refusal, WriteRefusal::kReadOnly);
  EXPECT_THAT(tried.why, HasSubstr("(no name can be made in m: Read-only file system)"));
  faults_->plan().Clear();
  ExpectClean();
}

TEST_F(TryWritesTest, SilenceTellsNothing) {
  faults_->plan().SetDown(true);
  EXPECT_EQ(SyncWait(TryWrites(pool_, server_, true, 30s)).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace xec
