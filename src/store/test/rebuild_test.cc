// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/rebuild.hh"

#include <future>

#include <gmock/gmock.h>

#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/make_layout_store.hh"
#include "store/take_census.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RebuildTest : public testing::Test {
 protected:
  RebuildTest() : test_({.geometry = kSmall, .servers = 8}), store_(MakeLayoutStore(test_.engine())) {
    for (const char* name : {"/a", "/a/b", "/z"}) EXPECT_TRUE(SyncWait(store_->MakeDirectory(name, false)));
    int number = 0;
    for (const char* folder : {"", "/a", "/a/b", "/z"}) {
      for (const size_t size : {0u, 5000u, 40'000u, 200'000u}) {
        names_.push_back(fmt::format("{}/o{}", folder, number++));
        EXPECT_TRUE(test_.Put(names_.back(), TestBytes(size, static_cast<uint64_t>(number))));
      }
    }
    test_.Settle();
  }

  Result<RebuildReport> Run(RebuildOptions options = {}) {
    Result<RebuildReport> report = SyncWait(Rebuild(test_.engine(), *store_, std::move(options)));
    test_.Settle();
    return report;
  }

  void ExpectFull() {
    CensusOptions options;
    options.deep = true;
    const Result<Census> census = SyncWait(TakeCensus(test_.engine(), *store_, options));
    ASSERT_TRUE(census);
    EXPECT_EQ(census->full(), names_.size());
    EXPECT_EQ(census->thin(), 0u);
  }

  void Lose(const std::string& object, size_t which) {
    const auto [server, path] = test_.Archives(object).at(which);
    const DataServerPtr target = test_.engine().server(static_cast<MemberIndex>(server));
    ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), target, path)));
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
  std::vector<std::string> names_;
};

TEST_F(RebuildTest, AServerThatLostEverythingGetsItBackAndASecondRunDoesNothing) {
  test_.memory(3).Wipe();
  RebuildOptions dry;
  dry.dry_run = true;
  const Result<RebuildReport> plan = Run(dry);
  ASSERT_TRUE(plan) << plan.error().ToString();
  ASSERT_GT(plan->total.needed, 0u);
  EXPECT_EQ(plan->total.bytes_written, 0u);
  EXPECT_EQ(plan->total.bytes_read, 0u);
  EXPECT_EQ(plan->written.size(), 1u);
  ASSERT_TRUE(plan->written.contains(3));

  RebuildProgress last;
  RebuildOptions options;
  options.progress = [&](const RebuildProgress& progress) {
    EXPECT_GE(progress.objects, last.objects);
    last = progress;
    return true;
  };
  const Result<RebuildReport> report = Run(options);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_TRUE(report->Done());
  EXPECT_EQ(report->total.objects, names_.size());
  EXPECT_EQ(report->total.needed, plan->total.needed);
  EXPECT_EQ(report->total.repaired, plan->total.needed);
  EXPECT_EQ(report->written.at(3).bytes, plan->written.at(3).bytes);
  EXPECT_EQ(report->total.bytes_lost, plan->written.at(3).bytes);
  EXPECT_LE(report->total.bytes_written, report->total.bytes_lost * 11 / 10 + 100 * report->total.needed);
  EXPECT_LE(report->total.bytes_read, report->total.bytes_lost * (kSmall.data_chunks + 1));
  EXPECT_TRUE(last.all_found);
  EXPECT_EQ(last.left, Duration::zero());
  ExpectFull();

  const Result<RebuildReport> again = Run();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->total.needed, 0u);
  EXPECT_EQ(again->total.bytes_read + again->total.bytes_written, 0u);
  EXPECT_EQ(test_.engine().budget().in_use(), 0u);
}

TEST_F(RebuildTest, AServerThatIsGoneIsReplacedByOthers) {
  test_.memory(5).SetDown(true);
  const Result<RebuildReport> waits = Run();
  ASSERT_TRUE(waits) << waits.error().ToString();
  EXPECT_EQ(waits->total.needed, 0u) << "silence is no loss";
  EXPECT_THAT(waits->silent, ElementsAre(5));
  RebuildOptions options;
  options.gone = {5};
  const Result<RebuildReport> report = Run(options);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_TRUE(report->Done());
  EXPECT_GT(report->total.repaired, 0u);
  EXPECT_FALSE(report->written.contains(5));
  ExpectFull();
}

TEST_F(RebuildTest, WhatCannotBeRepairedIsToldWithTheReasonAndDoesNotStopTheOthers) {
  const std::string& lost = names_[3];
  for (int i = 0; i < 3; ++i) Lose(lost, 0);
  Lose(names_[7], 2);
  int told = 0;
  RebuildOptions options;
  options.told = [&](const RebuiltObject& object) {
    if (object.path != lost) return;
    ++told;
    EXPECT_EQ(object.code, Code::kDataLoss);
  };
  const Result<RebuildReport> report = Run(options);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->Done());
  EXPECT_EQ(report->total.needed, 2u);
  EXPECT_EQ(report->total.repaired, 1u);
  EXPECT_EQ(report->total.not_done, 1u);
  ASSERT_EQ(report->not_done.size(), 1u);
  EXPECT_EQ(report->not_done[0].path, lost);
  EXPECT_TRUE(report->not_done[0].lost);
  EXPECT_THAT(report->not_done[0].problem, HasSubstr("stripe 0 of " + lost + " is lost: 3 of the 4 chunks"));
  EXPECT_EQ(told, 2) << "once at first, once at the end";
}

// It is dead while it is found, and answers when everything else was done.
TEST_F(RebuildTest, WhatFailsAtFirstIsTriedAgainAtTheEnd) {
  Lose(names_[3], 1);
  // No server takes a draft, at first.
  for (size_t i = 0; i < 8; ++i) {
    test_.faults(i).Add({.operation = Operation::kCreate,
                         .path_contains = "/y.",
                         .count = 1,
                         .error = {Code::kNoSpace, "no space"}});
  }
  const Result<RebuildReport> report = Run();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->Done()) << testing::PrintToString(report->not_done.size());
  EXPECT_EQ(report->total.repaired, 1u);
  ExpectFull();
}

TEST_F(RebuildTest, OneThatIsEndedGoesOnWhereItWas) {
  test_.memory(3).Wipe();
  RebuildOptions options;
  std::string at;
  int turns = 0;
  options.turn = [&](WalkPoint point) -> Task<bool> {
    at = point.at;
    co_return ++turns < 10;
  };
  const Result<RebuildReport> ended = Run(options);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.code(), Code::kCancelled);
  ASSERT_THAT(at, testing::StartsWith("/"));
  RebuildOptions rest;
  rest.from = at;
  const Result<RebuildReport> report = Run(rest);
  ASSERT_TRUE(report);
  EXPECT_LE(report->total.objects, names_.size());
  ExpectFull();

  RebuildOptions last;
  last.from = "/z/o13";
  const Result<RebuildReport> few = Run(last);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->total.objects, 3u);

  RebuildOptions stopped;
  stopped.progress = [](const RebuildProgress&) { return false; };
  const Result<RebuildReport> none = Run(stopped);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.code(), Code::kCancelled);
}

// Two at once, as of two gateways: at most what is under way is done twice.
TEST_F(RebuildTest, TwoAtOnceDoNoHarm) {
  test_.memory(3).Wipe();
  auto other = std::async(std::launch::async, [&] { return SyncWait(Rebuild(test_.engine(), *store_, {})); });
  const Result<RebuildReport> one = SyncWait(Rebuild(test_.engine(), *store_, {}));
  const Result<RebuildReport> two = other.get();
  test_.Settle();
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  EXPECT_TRUE(one->Done()) << testing::PrintToString(one->total.not_done);
  EXPECT_TRUE(two->Done()) << testing::PrintToString(two->total.not_done);
  ExpectFull();
  for (const std::string& name : names_) {
    for (const auto& [server, path] : test_.Archives(name)) EXPECT_THAT(path, testing::Not(HasSubstr("/y.")));
  }
}

TEST_F(RebuildTest, ADeepOneFindsWhatOnlyReadingShows) {
  const auto [server, path] = test_.Archives(names_[3])[2];
  test_.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  const Result<RebuildReport> shallow = Run();
  ASSERT_TRUE(shallow);
  EXPECT_EQ(shallow->total.needed, 0u);
  RebuildOptions options;
  options.deep = true;
  const Result<RebuildReport> report = Run(options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->total.needed, 1u);
  EXPECT_EQ(report->total.repaired, 1u);
  ExpectFull();
}

}  // namespace
}  // namespace xec
