// SPDX-License-Identifier: LGPL-3.0-or-later
// A server comes back after what it held was written anew on others.
#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/repair/test/test_repair.hh"
#include "placement/homes.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

EngineOptions OldAtOnce() {
  EngineOptions options = Patient();
  options.tombstone_horizon = {};
  return options;
}

class SurplusTest : public testing::Test {
 protected:
  // The object has a lane twice: on `back_` and on another server.
  void SetUp() override {
    ASSERT_TRUE(store_.Put("/o", bytes_));
    store_.Settle();
    before_ = Holders();
    back_ = before_.back();
    store_.memory(back_).SetDown(true);
    RepairOptions options;
    options.gone = {back_};
    const Result<RepairReport> repaired = Repair(std::move(options));
    ASSERT_TRUE(repaired) << repaired.error().message;
    ASSERT_EQ(repaired->archives_made, 1u);
    store_.memory(back_).SetDown(false);
    store_.Settle();
    both_ = Holders();
    ASSERT_EQ(both_.size(), kSmall.Total() + 1);
  }

  Result<RepairReport> Repair(RepairOptions options) {
    Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
    if (!info) return info.error();
    options.deep = false;
    Result<RepairReport> report =
        SyncWait(RepairObject(store_.engine(), std::move(*info), std::move(options)));
    store_.Settle();
    return report;
  }

  RepairOptions All() const {
    RepairOptions options;
    options.shown_on = both_;
    return options;
  }

  std::vector<MemberIndex> Holders() const {
    std::vector<MemberIndex> holders;
    for (const auto& [server, path] : store_.Archives("/o")) {
      if (path.find("/p.") != std::string::npos) holders.push_back(static_cast<MemberIndex>(server));
    }
    return holders;
  }

  TestStore store_{{.geometry = kSmall, .engine = OldAtOnce()}};
  const std::string bytes_ = TestBytes(100'000);
  MemberIndex back_ = 0;
  std::vector<MemberIndex> before_, both_;
};

TEST_F(SurplusTest, OneOfTheTwoArchivesGoes) {
  RepairOptions dry = All();
  dry.dry_run = true;
  const Result<RepairReport> told = Repair(std::move(dry));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->archives_surplus, 1u);
  EXPECT_EQ(Holders(), both_);
  const Result<RepairReport> done = Repair(All());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->archives_surplus, 1u);
  EXPECT_TRUE(done->Whole());
  EXPECT_EQ(Holders().size(), kSmall.Total());
  ExpectWhole(store_, bytes_);
  const Result<RepairReport> again = Repair(All());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->archives_surplus, 0u);
  EXPECT_EQ(Holders().size(), kSmall.Total());
}

// Somebody may just be moving it.
TEST(YoungSurplusTest, NoneGoesThatWasWrittenAMomentAgo) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto archives = store.Archives("/o");
  std::vector<MemberIndex> all;
  for (size_t i = 0; i < store.server_count(); ++i) all.push_back(static_cast<MemberIndex>(i));
  const auto free = std::find_if(all.begin(), all.end(), [&](MemberIndex server) {
    return std::none_of(archives.begin(), archives.end(),
                        [&](const auto& one) { return one.first == server; });
  });
  ASSERT_NE(free, all.end());
  const auto& [server, path] = archives.back();
  ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(*free), path,
                                  *store.memory(server).Content(path), true)));
  const Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  RepairOptions options;
  options.deep = false;
  options.shown_on = all;
  const auto report = SyncWait(RepairObject(store.engine(), *info, std::move(options)));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_surplus, 0u);
  EXPECT_EQ(report->archives_twice, 1u);
  EXPECT_EQ(report->problems, std::vector<std::string>{});
  EXPECT_EQ(store.Archives("/o").size(), archives.size() + 1);
}

TEST_F(SurplusTest, NoneGoesWhileALaneIsMissing) {
  const auto lost = std::find_if(both_.begin(), both_.end(), [&](MemberIndex server) {
    return Contains(store_.engine().Homes(TestStore::Path("/o")), server) && server != back_;
  });
  store_.memory(*lost).SetDown(true);
  const Result<RepairReport> report = Repair(All());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_surplus, 0u);
  store_.memory(*lost).SetDown(false);
  EXPECT_EQ(Holders(), both_);
}

// Whichever of the two the manifest names that was read.
TEST_F(SurplusTest, TheOneThatPlacementPrefersStays) {
  const Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  const std::vector<MemberIndex> order = PlacementOrder(
      store_.engine().descriptor(), store_.engine().Homes(TestStore::Path("/o")), info->accepted.oid);
  std::vector<MemberIndex> sorted;
  for (const MemberIndex server : order) {
    if (Contains(both_, server)) sorted.push_back(server);
  }
  const auto twin = std::find_if(both_.begin(), both_.end(),
                                 [&](MemberIndex server) { return !Contains(before_, server); });
  ASSERT_NE(twin, both_.end());
  const bool back_first =
      std::find(sorted.begin(), sorted.end(), back_) < std::find(sorted.begin(), sorted.end(), *twin);
  ASSERT_TRUE(Repair(All()));
  EXPECT_TRUE(Contains(Holders(), back_first ? back_ : *twin));
  EXPECT_FALSE(Contains(Holders(), back_first ? *twin : back_));
}

}  // namespace
}  // namespace xec
