// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/balance_plan.hh"

#include <set>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "base/random.hh"

namespace xec {
namespace {

constexpr uint64_t kDisk = 100'000'000;
constexpr uint64_t kLane = 100'000 - BalancePlan::kBesideChunks;

StoreDescriptor Store(size_t members) {
  StoreDescriptor d;
  d.tolerance = 2;
  for (size_t i = 0; i < members; ++i)
    d.members.push_back(Member{fmt::format("s{:02}", i + 1), "local", fmt::format("h{}", i)});
  return d;
}

// Servers by how much of each is used, in percent, and objects whose lanes are on some of the first ones.
class BalancePlanTest : public testing::Test {
 protected:
  void Make(const std::vector<unsigned>& percents, double within = 0.05) {
    store_ = Store(percents.size());
    for (size_t i = 0; i < percents.size(); ++i)
      heard_[static_cast<MemberIndex>(i)] = {kDisk, kDisk - kDisk / 100 * percents[i],
                                             fmt::format("disk {}", i)};
    plan_.emplace(store_, heard_, within);
  }

  BalancePlan::Object AnObject(size_t lanes, size_t among) {
    BalancePlan::Object object;
    const std::string name = fmt::format("o{}", next_++);
    for (const MemberIndex home : HomeFinder(store_).Of(name)) object.homes.push_back(home);
    object.per_host_max = 2;
    std::vector<MemberIndex> holders = PlacementOrder(store_, {}, name);
    std::erase_if(holders, [&](MemberIndex member) { return member >= among; });
    holders.resize(lanes);
    for (size_t i = 0; i < store_.members.size(); ++i) {
      const auto member = static_cast<MemberIndex>(i);
      if (!Contains(holders, member)) object.spares.push_back(member);
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) object.lanes.push_back({lane, holders[lane], kLane});
    return object;
  }

  void ExpectWithin(double within) {
    for (const auto& fill : plan_->Fills()) EXPECT_NEAR(fill->after(), plan_->mean(), within + 0.0011);
  }

  StoreDescriptor store_;
  std::map<MemberIndex, Space> heard_;
  std::optional<BalancePlan> plan_;
  int next_ = 0;
};

TEST_F(BalancePlanTest, FourEmptyServersAreFilledWithTheLeastThatHasToBeMoved) {
  std::vector<unsigned> percents(12, 70);
  percents.resize(16, 0);
  Make(percents);
  EXPECT_NEAR(plan_->mean(), 0.525, 0.001);
  EXPECT_EQ(plan_->least_bytes(), 4 * kDisk * 475 / 1000);
  for (int i = 0; i < 840 && !plan_->Balanced(); ++i) (void)plan_->Choose(AnObject(10, 12), false);
  EXPECT_TRUE(plan_->Balanced());
  ExpectWithin(0.05);
  EXPECT_LT(static_cast<double>(plan_->moved_bytes()), 1.02 * static_cast<double>(plan_->least_bytes()));
}

TEST_F(BalancePlanTest, ArchivesOfHomesStayUnlessTheyMayMove) {
  Make({90, 90, 90, 0});
  BalancePlan::Object object = AnObject(3, 3);
  object.homes = {0, 1, 2};
  EXPECT_TRUE(plan_->Choose(object, false).empty());
  EXPECT_EQ(plan_->Choose(object, true).size(), 1u);
  object.homes = {0, 2, 3};
  const std::vector<LaneMove> moves = plan_->Choose(object, false);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].from, 1);
  EXPECT_EQ(moves[0].to, 3);
}

TEST_F(BalancePlanTest, NoHostGetsMoreThanItMay) {
  Make({90, 90, 90, 90, 0, 0});
  for (const size_t i : {3, 4, 5}) store_.members[i].host = "together";
  BalancePlan::Object object = AnObject(4, 4);
  object.homes.clear();
  object.per_host_max = 1;
  const std::vector<LaneMove> moves = plan_->Choose(object, true);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].from, 3) << "its own host has the place of the lane that goes";
}

TEST_F(BalancePlanTest, NothingMovesThatIsBalanced) {
  Make({52, 48, 50, 46, 54, 50});
  EXPECT_TRUE(plan_->Balanced());
  EXPECT_EQ(plan_->least_bytes(), 0u);
  EXPECT_TRUE(plan_->Choose(AnObject(4, 4), true).empty());
}

TEST_F(BalancePlanTest, WhatWasNotMovedIsChosenAgain) {
  Make({90, 90, 90, 90, 90, 0});
  const std::vector<LaneMove> moves = plan_->Choose(AnObject(4, 5), true);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(plan_->moved_bytes(), kLane);
  plan_->Undo(moves);
  EXPECT_EQ(plan_->moved_bytes(), 0u);
  for (const auto& fill : plan_->Fills()) EXPECT_EQ(fill->after_bytes, fill->before_bytes);
}

TEST_F(BalancePlanTest, MembersThatShareADiskOrAreAboutToGoOrAreSilentTakeNoPart) {
  Make({90, 90, 90, 0});
  heard_[3].filesystem = heard_[0].filesystem;
  plan_.emplace(store_, heard_, 0.05);
  EXPECT_TRUE(plan_->Balanced()) << "all that is known has 90 percent";
  heard_.erase(2);
  heard_[3].filesystem = "disk 3";
  store_.members[3].role = MemberRole::kEmptying;
  plan_.emplace(store_, heard_, 0.05);
  EXPECT_TRUE(plan_->Balanced());
  EXPECT_FALSE(plan_->Fills()[2]);
  EXPECT_FALSE(plan_->Fills()[3]);
}

}  // namespace
}  // namespace xec
