// SPDX-License-Identifier: LGPL-3.0-or-later
// The faults that can be ordered, and the counts of CountingServer.
#include "server/decorators/fault_server.hh"

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"
#include "server/calls.hh"
#include "server/decorators/counting_server.hh"
#include "server/kinds/memory_server.hh"
#include "server/test/expect_status.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

class FaultServerTest : public testing::Test {
 protected:
  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result = world_.RunTask(std::move(task));
    XEC_CHECK(result.has_value(), "the call never ended");
    return std::move(*result);
  }
  Status MakeDir(const std::string& path) { return Run(MakeDirectory(context_, server_, path)); }
  Status Make(const std::string& path) {
    return Run(CreateFile(context_, server_, path, "0123456789", true));
  }
  bool Exists(const std::string& path) { return Run(List(context_, memory_, path)).has_value(); }
  FaultPlan& plan() { return server_->plan(); }

  VirtualExecutor world_;
  const CallContext context_{&world_};
  std::shared_ptr<MemoryServer> memory_ = std::make_shared<MemoryServer>("m01", world_);
  std::shared_ptr<FaultServer> server_ = std::make_shared<FaultServer>(memory_, world_, 42);
};

TEST_F(FaultServerTest, FailBeforeHasNoEffectFailAfterHasOne) {
  plan().Add(
      {.kind = FaultKind::kFailBefore, .operation = Operation::kMakeDirectory, .path_contains = "before"});
  plan().Add(
      {.kind = FaultKind::kFailAfter, .operation = Operation::kMakeDirectory, .path_contains = "after"});
  EXPECT_CODE(MakeDir("/before"), Code::kUnavailable);
  EXPECT_CODE(MakeDir("/after"), Code::kUnavailable);
  EXPECT_OK(MakeDir("/other"));
  EXPECT_FALSE(Exists("/before"));
  EXPECT_TRUE(Exists("/after"));
  EXPECT_EQ(plan().injected(), 2u);
}

TEST_F(FaultServerTest, OnlyTheNthMatchingRequest) {
  const uint64_t rule = plan().Add(
      {.operation = Operation::kMakeDirectory, .first = 2, .count = 2, .error = {Code::kNoSpace, "full"}});
  EXPECT_OK(MakeDir("/1"));
  EXPECT_OK(Make("/f"));
  EXPECT_CODE(MakeDir("/2"), Code::kNoSpace);
  EXPECT_CODE(MakeDir("/3"), Code::kNoSpace);
  EXPECT_OK(MakeDir("/4"));
  plan().Remove(rule);
  plan().Add({.operation = Operation::kRemove});
  EXPECT_OK(MakeDir("/5"));
  EXPECT_CODE(Run(Remove(context_, server_, "/f")), Code::kUnavailable);
  plan().Clear();
  EXPECT_OK(Run(Remove(context_, server_, "/f")));
}

TEST_F(FaultServerTest, RandomRulesFollowTheSeed) {
  const auto failures_with = [&](uint64_t seed) {
    const auto server = std::make_shared<FaultServer>(memory_, world_, seed);
    server->plan().Add({.one_in = 4});
    std::string failures;
    for (int i = 0; i < 100; ++i) failures += Run(List(context_, server, "/")) ? '.' : 'x';
    return failures;
  };
  const std::string once = failures_with(7);
  EXPECT_EQ(once, failures_with(7));
  EXPECT_NE(once, failures_with(8));
  const auto count = std::count(once.begin(), once.end(), 'x');
  EXPECT_GT(count, 10);
  EXPECT_LT(count, 45);
}

TEST_F(FaultServerTest, WhatHangsIsReleasedOrDropped) {
  plan().Add({.kind = FaultKind::kHang, .operation = Operation::kMakeDirectory, .count = 2});
  std::string answers;
  server_->MakeDirectory({}, "/a", [&](Status s) { answers += s ? "ok " : "failed "; });
  world_.RunUntilIdle(100);
  EXPECT_EQ(plan().hung(), 1u);
  EXPECT_EQ(answers, "");
  plan().ReleaseHung();
  world_.RunUntilIdle(100);
  EXPECT_EQ(answers, "ok ");
  EXPECT_TRUE(Exists("/a"));
  server_->MakeDirectory({}, "/b", [&](Status s) { answers += s ? "ok " : CodeName(s.code()); });
  plan().DropHung();
  world_.RunUntilIdle(100);
  EXPECT_EQ(answers, "ok unavailable");
  EXPECT_FALSE(Exists("/b"));
  EXPECT_EQ(plan().hung(), 0u);
}

TEST_F(FaultServerTest, CorruptFlipsOneBitShortAnswersLess) {
  EXPECT_OK(Make("/f"));
  const uint64_t rule = plan().Add({.kind = FaultKind::kCorrupt, .path_contains = "/f"});
  const std::string corrupt = *Run(ReadFile(context_, server_, "/f", 100));
  const std::string right = "0123456789";
  ASSERT_EQ(corrupt.size(), right.size());
  int bits = 0;
  for (size_t i = 0; i < right.size(); ++i)
    bits += __builtin_popcount(static_cast<unsigned char>(corrupt[i] ^ right[i]));
  EXPECT_EQ(bits, 1);
  plan().Remove(rule);
  plan().Add({.kind = FaultKind::kShortRead});
  EXPECT_EQ(*Run(ReadFile(context_, server_, "/f", 100)), "01234");
  EXPECT_EQ(memory_->Content("/f"), right);
}

TEST_F(FaultServerTest, FaultsOfOpenFilesGoByTheirPath) {
  plan().Add({.operation = Operation::kSync, .path_contains = "/bad"});
  EXPECT_OK(Make("/good"));
  EXPECT_CODE(Make("/bad"), Code::kUnavailable);
}

TEST_F(FaultServerTest, DownReadOnlyAndFull) {
  EXPECT_OK(Make("/f"));
  plan().SetReadOnly(true);
  EXPECT_CODE(Make("/g"), Code::kPermissionDenied);
  EXPECT_CODE(Run(Remove(context_, server_, "/f")), Code::kPermissionDenied);
  EXPECT_EQ(*Run(ReadFile(context_, server_, "/f", 100)), "0123456789");
  plan().SetReadOnly(false);
  plan().SetFull(true);
  EXPECT_CODE(Make("/g"), Code::kNoSpace);
  EXPECT_OK(Run(Rename(context_, server_, "/f", "/g")));
  plan().SetFull(false);
  plan().SetDown(true);
  EXPECT_CODE(Run(List(context_, server_, "/")), Code::kUnavailable);
  plan().Clear();
  EXPECT_OK(Run(List(context_, server_, "/")));
}

TEST_F(FaultServerTest, InjectedAnswersAreNotInline) {
  plan().SetDown(true);
  bool answered = false;
  server_->List({}, "/", [&](Result<std::vector<Entry>>) { answered = true; });
  EXPECT_FALSE(answered);
  world_.RunUntilIdle(10);
  EXPECT_TRUE(answered);
}

TEST_F(FaultServerTest, CountingCountsEachRequestOnce) {
  const auto counts = std::make_shared<RequestCounts>();
  const auto one = std::make_shared<CountingServer>(memory_, counts);
  const auto two = std::make_shared<CountingServer>(memory_, counts);
  EXPECT_OK(Run(CreateFile(context_, one, "/f", "x", true)));
  EXPECT_OK(Run(ReadFile(context_, two, "/f", 10)));
  EXPECT_CODE(Run(List(context_, two, "/none")), Code::kNotFound);
  EXPECT_EQ(
      one->counts().ByName(),
      (std::map<std::string, uint64_t>{
          {"create", 1}, {"write", 1}, {"sync", 1}, {"close", 2}, {"open", 1}, {"read", 1}, {"list", 1}}));
  EXPECT_EQ(two->Total(), 8u);
  EXPECT_EQ(counts->Of(Operation::kClose), 2u);
  one->Reset();
  EXPECT_EQ(two->Total(), 0u);
  EXPECT_TRUE(counts->ByName().empty());
}

TEST(Operation, EachHasANameOfItsOwn) {
  std::map<std::string, int> names;
  for (size_t i = 0; i < kOperationCount; ++i) ++names[OperationName(static_cast<Operation>(i))];
  EXPECT_EQ(names.size(), kOperationCount);
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace xec
