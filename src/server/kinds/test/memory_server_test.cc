// SPDX-License-Identifier: LGPL-3.0-or-later
// What a MemoryServer does beyond the contract: power cuts, stale states, being away, being full.
#include "server/kinds/memory_server.hh"

#include <set>

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/calls.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

class MemoryServerTest : public testing::Test {
 protected:
  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result = world_.RunTask(std::move(task));
    XEC_CHECK(result.has_value(), "the call never ended");
    return std::move(*result);
  }
  Status Make(const std::string& path, const std::string& content, bool sync) {
    return Run(CreateFile(context_, server_, path, content, sync));
  }
  ArchiveFilePtr Opened(const std::string& path, OpenMode mode) {
    Result<ArchiveFilePtr> file = Run(Open(context_, server_, path, mode));
    XEC_CHECK(file.has_value());
    return *file;
  }
  Status WriteText(const ArchiveFilePtr& file, uint64_t offset, std::string_view text) {
    return Run(Write(context_, file, offset, Slice::Copy(AsBytes(text))));
  }

  VirtualExecutor world_;
  const CallContext context_{&world_};
  std::shared_ptr<MemoryServer> server_ = std::make_shared<MemoryServer>("m01", world_);
};

TEST_F(MemoryServerTest, APowerCutKeepsWhatWasSynced) {
  EXPECT_OK(Make("/d/synced", "content", true));
  EXPECT_OK(Run(Rename(context_, server_, "/d/synced", "/d/promoted")));
  EXPECT_OK(Run(MakeDirectory(context_, server_, "/d/t.1")));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    server_->Crash(seed);
    EXPECT_EQ(server_->Content("/d/promoted"), "content");
    EXPECT_OK(Run(List(context_, server_, "/d/t.1")));
  }
}

TEST_F(MemoryServerTest, APowerCutDoesAnythingToWhatWasNot) {
  const std::string content(100, 'x');
  std::set<std::string> fates;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    server_->Wipe();
    EXPECT_OK(Make("/f", content, false));
    server_->Crash(seed);
    const std::optional<std::string> left = server_->Content("/f");
    if (!left) {
      fates.insert("gone");
    } else if (*left == content) {
      fates.insert("whole");
    } else {
      EXPECT_TRUE(content.starts_with(*left));
      fates.insert(left->empty() ? "empty" : "cut");
    }
    EXPECT_EQ(server_->used_bytes(), left ? left->size() : 0);
  }
  EXPECT_EQ(fates, (std::set<std::string>{"gone", "whole", "empty", "cut"}));
}

TEST_F(MemoryServerTest, APowerCutKeepsTheNameOfWhatWasRenamed) {
  std::set<size_t> lengths;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    server_->Wipe();
    EXPECT_OK(Make("/f", "content", false));
    EXPECT_OK(Run(Rename(context_, server_, "/f", "/g")));
    server_->Crash(seed);
    ASSERT_TRUE(server_->Content("/g").has_value()) << "the rename was answered, and the creation is older";
    lengths.insert(server_->Content("/g")->size());
  }
  EXPECT_TRUE(lengths.contains(0)) << "the content may be lost all the same";
  EXPECT_TRUE(lengths.contains(7));
}

TEST_F(MemoryServerTest, APowerCutMayGoBackToTheLastSync) {
  std::set<std::string> left;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    server_->Wipe();
    const ArchiveFilePtr file = Opened("/f", OpenMode::kCreate);
    EXPECT_OK(WriteText(file, 0, "old"));
    EXPECT_OK(Run(Sync(context_, file)));
    EXPECT_OK(WriteText(file, 3, "new"));
    server_->Crash(seed);
    ASSERT_TRUE(server_->Content("/f").has_value()) << "a synced name must stay";
    left.insert(*server_->Content("/f"));
  }
  EXPECT_TRUE(left.contains("old"));
  EXPECT_TRUE(left.contains("oldnew"));
}

TEST_F(MemoryServerTest, TheSameSeedGivesTheSamePowerCut) {
  const auto left_by = [&](uint64_t seed) {
    server_->Wipe();
    for (int i = 0; i < 20; ++i) EXPECT_OK(Make(fmt::format("/f{}", i), std::string(50, 'y'), false));
    server_->Crash(seed);
    return server_->Files();
  };
  EXPECT_EQ(left_by(5), left_by(5));
  EXPECT_NE(left_by(5), left_by(6));
}

TEST_F(MemoryServerTest, HandlesDoNotSurviveARestartButBytesDo) {
  EXPECT_OK(Make("/f", "content", false));
  const ArchiveFilePtr file = Opened("/f", OpenMode::kRead);
  server_->Restart();
  const std::vector<ByteRange> ranges = {{0, 7}};
  EXPECT_CODE(Run(Read(context_, file, ranges, Slice(Buffer::Allocate(7)))), Code::kUnavailable);
  EXPECT_CODE(Run(Close(context_, file)), Code::kUnavailable);
  EXPECT_EQ(server_->Content("/f"), "content");
}

TEST_F(MemoryServerTest, WhatIsUnderWayDuringACrashDoesNotHappen) {
  int answers = 0;
  server_->MakeDirectory({}, "/d", [&](Status status) {
    ++answers;
    EXPECT_CODE(status, Code::kUnavailable);
  });
  server_->Restart();
  world_.RunUntilIdle(100);
  EXPECT_EQ(answers, 1);
  EXPECT_CODE(Run(List(context_, server_, "/d")), Code::kNotFound);
}

TEST_F(MemoryServerTest, AServerThatIsDownAnswersUnavailable) {
  EXPECT_OK(Make("/f", "x", true));
  server_->SetDown(true);
  EXPECT_CODE(Run(Remove(context_, server_, "/f")), Code::kUnavailable);
  EXPECT_CODE(Run(GetSpace(context_, server_)), Code::kUnavailable);
  server_->SetDown(false);
  EXPECT_OK(Run(Remove(context_, server_, "/f")));
}

TEST_F(MemoryServerTest, ASnapshotBringsBackAStaleServer) {
  EXPECT_OK(Make("/old", "1", true));
  const ArchiveFilePtr file = Opened("/g", OpenMode::kCreate);
  const auto snapshot = server_->Take();
  EXPECT_OK(WriteText(file, 0, "later"));
  EXPECT_OK(Run(Rename(context_, server_, "/old", "/new")));
  server_->Restore(snapshot);
  EXPECT_EQ(server_->Files(), (std::map<std::string, uint64_t>{{"/old", 1}, {"/g", 0}}));
  // The snapshot itself is untouched by what happens later.
  EXPECT_OK(Run(Remove(context_, server_, "/old")));
  server_->Restore(snapshot);
  EXPECT_EQ(server_->Content("/old"), "1");
}

TEST_F(MemoryServerTest, AFullServerRefusesBytesUntilThereIsRoom) {
  server_->SetCapacity(10);
  EXPECT_OK(Make("/a", "12345678", true));
  EXPECT_CODE(Make("/b", "123", true), Code::kNoSpace);
  EXPECT_EQ(Run(GetSpace(context_, server_))->free_bytes, 2u);
  EXPECT_OK(Run(Remove(context_, server_, "/a")));
  EXPECT_OK(Make("/c", "123", true));
  EXPECT_EQ(server_->used_bytes(), 3u);
}

TEST_F(MemoryServerTest, TamperChangesBytesBehindTheBack) {
  EXPECT_OK(Make("/f", "abc", true));
  EXPECT_TRUE(server_->Tamper("/f", [](std::string& bytes) { bytes[1] = 'X'; }));
  EXPECT_FALSE(server_->Tamper("/g", [](std::string&) {}));
  EXPECT_EQ(*Run(ReadFile(context_, server_, "/f", 10)), "aXc");
}

TEST_F(MemoryServerTest, LatencyIsPaidThereAndBack) {
  const auto slow = std::make_shared<MemoryServer>(
      "slow", world_,
      MemoryServerOptions{.latency = [](Operation op) { return op == Operation::kList ? 3ms : 1ms; }});
  const TimePoint start = world_.Now();
  EXPECT_OK(Run(List(context_, slow, "/")));
  EXPECT_EQ(world_.Now() - start, Duration(6ms));
}

TEST_F(MemoryServerTest, IllegalPathsAreRefused) {
  for (const char* path : {"", "relative", "/a//b", "/a/", "/./a", "/a/../b", "//"}) {
    SCOPED_TRACE(path);
    EXPECT_CODE(Run(List(context_, server_, path)), Code::kInvalidArgument);
    EXPECT_CODE(Run(Open(context_, server_, path, OpenMode::kCreate)), Code::kInvalidArgument);
    EXPECT_CODE(Run(Rename(context_, server_, "/ok", path)), Code::kInvalidArgument);
  }
}

TEST_F(MemoryServerTest, ADirectoryIsNotRenamedIntoItself) {
  EXPECT_OK(Run(MakeDirectory(context_, server_, "/d/e")));
  EXPECT_CODE(Run(Rename(context_, server_, "/d", "/d/e/f")), Code::kInvalidArgument);
  EXPECT_OK(Run(List(context_, server_, "/d/e")));
}

}  // namespace
}  // namespace xec
