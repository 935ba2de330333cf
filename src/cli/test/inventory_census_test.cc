// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/inventory_census.hh"

#include <filesystem>

#include <gtest/gtest.h>

#include "inventory/inventory_writer.hh"

namespace xec {
namespace {

class InventoryCensusTest : public testing::Test {
 protected:
  InventoryCensusTest() : file_(testing::TempDir() + "inventory_census_test.sqlite") {
    std::filesystem::remove(file_);
    store_.store_id = std::string(32, 'a');
    store_.geometry = {2, 1, 4096};
    for (int i = 0; i < 5; ++i) store_.members.push_back(Member{fmt::format("s{:02}", i + 1), "local", "h"});
  }
  ~InventoryCensusTest() override { std::filesystem::remove(file_); }

  // Of one stripe, lane i on the i-th of the servers.
  ObjectPlaces Object(const std::string& path, std::vector<MemberIndex> servers, bool held = true) {
    ObjectPlaces object{.path = path, .geometry = store_.geometry, .bytes = 8000};
    for (uint32_t lane = 0; lane < servers.size(); ++lane)
      object.runs.push_back({lane, 0, 1, 4000, servers[lane], held || lane > 0});
    return object;
  }

  void Walk(const std::vector<ObjectPlaces>& objects, int64_t began_ms, bool ends = true) {
    Result<InventoryWriter> writer = InventoryWriter::Open(file_, store_, {});
    ASSERT_TRUE(writer) << writer.error().message;
    Result<InventoryWalk> walk = writer->BeginWalk(false, began_ms);
    ASSERT_TRUE(walk);
    ASSERT_TRUE(writer->Write(*walk, objects, {}, began_ms));
    EXPECT_TRUE(!ends || writer->EndWalk(*walk, began_ms + 1));
  }

  const std::string file_;
  StoreDescriptor store_;
};

TEST_F(InventoryCensusTest, CountsWithoutWhatIsAway) {
  Walk({Object("/a", {0, 1, 2}), Object("/b", {2, 3, 4}), Object("/gone", {0, 1, 2}, false),
        Object("/empty", {})},
       1000);
  InventoryCensus inventory(file_);
  const Result<InventoryCount> all = inventory.Count(store_, {});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->walk.began_ms, 1000);
  EXPECT_EQ(all->census->full(), 3u);
  EXPECT_EQ(all->census->thin(), 1u);
  EXPECT_EQ(all->census->names().front().path, "/gone");
  EXPECT_EQ(all->census->names().front().left.problem, "it lacks lane 0 (not on s01)");
  EXPECT_EQ(all->census->WithNextLoss(1).objects, 1u);

  const Result<InventoryCount> without = inventory.Count(store_, {2});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->census->away(), 3u);
  EXPECT_EQ(without->census->lost(), 0u) << "silence is no loss";
  EXPECT_EQ(without->census->WithNextLoss(1).objects, 1u);
  EXPECT_EQ(without->census->WithNextLoss(3).objects, 1u);
  EXPECT_EQ(without->census->names().back().left.problem, "it lacks lane 0 (s03 does not answer)");
}

TEST_F(InventoryCensusTest, ReadsAgainOnlyWhatHasChanged) {
  Walk({Object("/a", {0, 1, 2})}, 1000);
  InventoryCensus inventory(file_);
  const auto first = inventory.Count(store_, {})->census;
  EXPECT_EQ(inventory.Count(store_, {})->census, first);
  Walk({Object("/a", {0, 1, 2}), Object("/b", {0, 1, 2})}, 5000);
  const Result<InventoryCount> later = inventory.Count(store_, {});
  EXPECT_EQ(later->walk.began_ms, 5000);
  EXPECT_EQ(later->census->full(), 2u);
}

TEST_F(InventoryCensusTest, SaysWhyItKnowsNothing) {
  EXPECT_EQ(InventoryCensus("").Count(store_, {}).code(), Code::kNotFound);
  EXPECT_EQ(InventoryCensus(file_).Count(store_, {}).code(), Code::kNotFound);
  Walk({}, 1000, false);
  EXPECT_EQ(InventoryCensus(file_).Count(store_, {}).code(), Code::kUnavailable);
  StoreDescriptor other = store_;
  other.store_id = std::string(32, 'b');
  EXPECT_EQ(InventoryCensus(file_).Count(other, {}).code(), Code::kConflict);
}

// What lies on a member that was removed helps nobody.
TEST_F(InventoryCensusTest, AMemberThatHasLeftHoldsNothing) {
  Walk({Object("/a", {0, 1, 2})}, 1000);
  StoreDescriptor later = store_;
  later.members.erase(later.members.begin());
  const Result<InventoryCount> counted = InventoryCensus(file_).Count(later, {});
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->census->names().front().left.survives, 0);
  EXPECT_EQ(counted->census->WithNextLoss(0).objects, 1u) << "s02 has another index now";
}

}  // namespace
}  // namespace xec
