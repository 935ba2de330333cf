// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair_queue.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using End = RepairQueue::End;

ObjectPath Path(const std::string& text) { return *ObjectPath::Parse(text); }

class RepairQueueTest : public testing::Test {
 protected:
  void Report(const std::string& path, int64_t version = 1) {
    queue_.Report(Path(path), VersionOf(version), "it is damaged", now_);
  }
  static Version VersionOf(int64_t version) { return Version{static_cast<uint64_t>(version), 7, 0}; }
  std::string Take() {
    const std::optional<DamagedObject> taken = queue_.Take(now_);
    return taken ? taken->path.text() : "";
  }
  bool Finish(const std::string& path, End end, int64_t version = 1) {
    return queue_.Finish({Path(path), VersionOf(version), ""}, end, now_);
  }

  RepairQueue queue_;
  TimePoint now_ = TimePoint{} + minutes(1);
};

TEST_F(RepairQueueTest, InTheOrderOfReportsAndOnceEach) {
  Report("/b");
  Report("/a");
  Report("/b");
  EXPECT_EQ(Take(), "/b");
  Report("/b");
  EXPECT_EQ(Take(), "/a");
  EXPECT_EQ(Take(), "");
  EXPECT_EQ(queue_.counts().reported, 2u);
}

TEST_F(RepairQueueTest, AnotherVersionIsAnotherObject) {
  Report("/a", 1);
  Report("/a", 2);
  EXPECT_EQ(queue_.counts().waiting, 2u);
}

TEST_F(RepairQueueTest, WhatWasRepairedMayBeReportedAtOnce) {
  Report("/a");
  EXPECT_EQ(Take(), "/a");
  EXPECT_TRUE(Finish("/a", End::kRepaired));
  Report("/a");
  EXPECT_EQ(Take(), "/a");
}

TEST_F(RepairQueueTest, WhatWasWholeIsLeftAloneForAWhile) {
  Report("/a");
  EXPECT_EQ(Take(), "/a");
  EXPECT_TRUE(Finish("/a", End::kWhole));
  now_ += RepairQueue::kRestTime - seconds(1);
  Report("/a");
  EXPECT_EQ(Take(), "");
  now_ += seconds(1);
  Report("/a");
  EXPECT_EQ(Take(), "/a");
}

TEST_F(RepairQueueTest, FailuresWaitLongerEachTimeAndEnd) {
  Report("/a");
  std::vector<int64_t> pauses;
  for (int attempt = 1; attempt <= RepairQueue::kAttemptsMax; ++attempt) {
    int64_t waited = 0;
    for (; Take().empty() && waited < 10'000; ++waited) now_ += seconds(1);
    pauses.push_back(waited);
    EXPECT_EQ(Finish("/a", End::kFailed), attempt < RepairQueue::kAttemptsMax);
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{0, 10, 40, 160, 640}));
  EXPECT_EQ(queue_.counts().given_up, 1u);
  now_ += RepairQueue::kRestTime - seconds(1);
  Report("/a");
  EXPECT_EQ(Take(), "");
  now_ += seconds(1);
  EXPECT_EQ(Take(), "") << "not by itself";
  Report("/a");
  EXPECT_EQ(Take(), "/a");
}

TEST_F(RepairQueueTest, ItIsBounded) {
  for (size_t i = 0; i < RepairQueue::kObjectsMax + 5; ++i) Report(fmt::format("/{:04}", i));
  EXPECT_EQ(queue_.counts().waiting, RepairQueue::kObjectsMax);
  EXPECT_EQ(queue_.counts().dropped, 5u);
  EXPECT_EQ(Take(), "/0000");
  Finish("/0000", End::kWhole);
  Report("/more");
  EXPECT_EQ(queue_.counts().dropped, 6u);
  now_ += RepairQueue::kRestTime;
  Report("/more");
  EXPECT_EQ(queue_.counts().dropped, 6u);
  EXPECT_EQ(queue_.counts().waiting, RepairQueue::kObjectsMax);
}

}  // namespace
}  // namespace xec
