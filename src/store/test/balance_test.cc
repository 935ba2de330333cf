// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/balance.hh"

#include <gmock/gmock.h>

#include "commit/engine/look_at_space.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/make_layout_store.hh"
#include "store/take_census.hh"

namespace xec {
namespace {

constexpr uint64_t kDisk = 8'000'000;

// Ten servers, of which the last two had no room while the objects were put.
class BalanceTest : public testing::Test {
 protected:
  BalanceTest() : test_({.geometry = kSmall, .servers = 10}), store_(MakeLayoutStore(test_.engine())) {
    for (size_t i = 0; i < test_.server_count(); ++i) test_.memory(i).SetCapacity(kDisk);
    NoteSpace({8, 9});
    for (int i = 0; i < 40; ++i) {
      names_.push_back(fmt::format("/o{}", i));
      EXPECT_TRUE(test_.Put(names_.back(), TestBytes(300'000, static_cast<uint64_t>(i))));
    }
    test_.Settle();
    NoteSpace({});
  }

  void NoteSpace(const std::vector<size_t>& full) {
    std::map<std::string, Space> heard;
    for (size_t i = 0; i < test_.server_count(); ++i)
      heard[test_.engine().server_id(static_cast<MemberIndex>(i))] = {kDisk, kDisk / 2};
    for (const size_t i : full) heard[test_.engine().server_id(static_cast<MemberIndex>(i))].free_bytes = 0;
    test_.engine().space().Note(std::move(heard), test_.engine().executor().Now());
  }

  Result<BalanceReport> Run(BalanceOptions options = {}) {
    Result<BalanceReport> report = SyncWait(Balance(test_.engine(), *store_, std::move(options)));
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

  uint64_t Used(MemberIndex member) {
    return kDisk - SyncWait(AskSpace(test_.engine())).at(member).free_bytes;
  }

  uint64_t UsedInAll() {
    uint64_t sum = 0;
    for (MemberIndex i = 0; i < 10; ++i) sum += Used(i);
    return sum;
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
  std::vector<std::string> names_;
};

TEST_F(BalanceTest, ArchivesMoveToServersThatAreEmptierAndNoMoreThanThatTakes) {
  ASSERT_LT(Used(9), kDisk / 100);
  const uint64_t used = UsedInAll();
  BalanceOptions dry;
  dry.dry_run = true;
  const Result<BalanceReport> plan = Run(dry);
  ASSERT_TRUE(plan) << plan.error().ToString();
  EXPECT_TRUE(plan->balanced);
  EXPECT_GT(plan->moved_archives, 0u);
  EXPECT_LT(Used(9), kDisk / 100) << "nothing was moved";

  const Result<BalanceReport> report = Run();
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_TRUE(report->balanced);
  EXPECT_TRUE(report->not_done.empty());
  EXPECT_EQ(report->skipped, 0u);
  for (MemberIndex i = 0; i < 10; ++i)
    EXPECT_NEAR(static_cast<double>(Used(i)) / kDisk, report->mean, 0.055) << i;
  EXPECT_LE(static_cast<double>(report->moved_bytes), 1.2 * static_cast<double>(report->least_bytes));
  EXPECT_LT(UsedInAll(), used + kDisk / 100) << "each one that was moved is gone where it was";
  ExpectFull();
  for (size_t i = 0; i < names_.size(); ++i) EXPECT_TRUE(*test_.Get(names_[i]) == TestBytes(300'000, i));

  const Result<BalanceReport> again = Run();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->balanced);
  EXPECT_EQ(again->moved_archives, 0u);
}

TEST_F(BalanceTest, ObjectsThatLackArchivesAreLeftForARepair) {
  for (const std::string& name : names_) {
    const auto [server, path] = test_.Archives(name).front();
    const DataServerPtr target = test_.engine().server(static_cast<MemberIndex>(server));
    ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), target, path)));
  }
  const Result<BalanceReport> report = Run();
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_FALSE(report->balanced);
  EXPECT_EQ(report->skipped, names_.size()) << report->objects;
  EXPECT_EQ(report->moved_archives, 0u);
}

TEST_F(BalanceTest, OneThatIsEndedIsGoneOnWithByTheNextOne) {
  BalanceOptions options;
  options.progress = [](const RebuildProgress& progress) { return progress.repaired < 3; };
  EXPECT_EQ(Run(options).code(), Code::kCancelled);
  const Result<BalanceReport> report = Run();
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_TRUE(report->balanced);
  ExpectFull();
}

TEST_F(BalanceTest, AServerThatRefusesArchivesHoldsUpOnlyWhatWasMeantForIt) {
  test_.faults(9).Add(
      {.operation = Operation::kCreate, .path_contains = "/y.", .error = {Code::kNoSpace, "no"}});
  const Result<BalanceReport> report = Run();
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_FALSE(report->balanced);
  EXPECT_FALSE(report->not_done.empty());
  EXPECT_NEAR(static_cast<double>(Used(8)) / kDisk, report->mean, 0.055);
  EXPECT_LT(Used(9), kDisk / 50);
  ExpectFull();
}

}  // namespace
}  // namespace xec
