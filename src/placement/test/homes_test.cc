// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/homes.hh"

#include <map>
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

TEST(Homes, AreDistinctStableAndFew) {
  const StoreDescriptor d = Store(12, 12, 2);
  const auto homes = HomeFinder(d).Of("file");
  EXPECT_EQ(homes.size(), 5u);
  EXPECT_EQ(std::set<MemberIndex>(homes.begin(), homes.end()).size(), 5u);
  EXPECT_EQ(HomeFinder(d).Of("file"), homes);
  EXPECT_EQ(HomeFinder(Store(2, 2, 2)).Of("file").size(), 2u);
}

// The hash is part of the format: a change would lose every existing name.
TEST(Homes, KnownAnswers) {
  EXPECT_EQ(HomeFinder(Store(12, 12, 2)).Of("known-answer"), (std::vector<MemberIndex>{9, 7, 10, 8, 11}));
  const StoreDescriptor six = Store(6, 6, 1);
  EXPECT_EQ(PlacementOrder(six, HomeFinder(six).Of("known-answer"), "salt"),
            (std::vector<MemberIndex>{4, 2, 0, 5, 1, 3}));
}

TEST(Homes, AddingAMemberMovesFewHomes) {
  const StoreDescriptor before = Store(12, 12, 2);
  const StoreDescriptor after = Store(13, 13, 2);
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("n{}", i);
    const auto a = HomeFinder(before).Of(name);
    const auto b = HomeFinder(after).Of(name);
    moved +=
        static_cast<int>(std::count_if(a.begin(), a.end(), [&](MemberIndex m) { return !Contains(b, m); }));
  }
  EXPECT_LT(moved, 1000 * 5 / 13 * 3 / 2);
}

// What the change of members stands on: lists that follow each other share a home in any two quorums, and a
// quorum while one changes has a quorum of both lists in it.
TEST(Homes, WhileOneJoinsOrLeavesThoseOfBothListsAreHomes) {
  for (const int members : {2, 3, 4, 5, 6, 12}) {
    for (const uint32_t tolerance : {0u, 1u, 2u}) {
      const StoreDescriptor before = Store(members, members, tolerance);
      const StoreDescriptor after = Store(members + 1, members + 1, tolerance);
      StoreDescriptor joins = after, leaves = after;
      joins.members.back().role = MemberRole::kJoining;
      leaves.members.back().role = MemberRole::kLeaving;
      const HomeFinder old_homes(before), new_homes(after), both(joins), both_again(leaves);
      for (int i = 0; i < 100; ++i) {
        const std::string name = fmt::format("n{}", i);
        const Homes a = old_homes.Of(name), b = new_homes.Of(name), u = both.Of(name);
        std::set<MemberIndex> all(a.begin(), a.end());
        all.insert(b.begin(), b.end());
        EXPECT_EQ(std::set<MemberIndex>(u.begin(), u.end()), all);
        EXPECT_EQ(u.size(), all.size()) << "nobody twice";
        EXPECT_LE(u.size(), a.size() + 1);
        EXPECT_EQ(both.QuorumOf(name), u.quorum());
        EXPECT_EQ(both.AfterChange(name), b);
        EXPECT_EQ(both_again.AfterChange(name), a);
        EXPECT_GT(u.quorum() + a.quorum(), u.size()) << "adjacent quorums meet";
        EXPECT_GT(u.quorum() + b.quorum(), u.size());
        if (members > 2 * static_cast<int>(tolerance) + 1) {
          EXPECT_EQ(u.size() - u.quorum(), tolerance);
        }
      }
      EXPECT_EQ(both.silent_max(), old_homes.silent_max()) << "not one more";
      EXPECT_EQ(both.late_max(), old_homes.late_max());
    }
  }
}

TEST(Homes, MarksMeanTheSameByEveryList) {
  StoreDescriptor d = Store(12, 12, 2);
  const Homes homes = HomeFinder(d).Of("b");
  const std::vector<MemberIndex> proved = {homes[0], homes[2], homes[4]};
  const std::string marks = MarksOf(d, proved);
  EXPECT_EQ(marks.size(), 3 * kMarkChars);
  EXPECT_EQ(MarkedHomes(d, homes, marks), proved);
  StoreDescriptor next = d;
  next.members.erase(next.members.begin() + homes[0]);
  const std::vector<MemberIndex> left = MarkedHomes(next, HomeFinder(next).Of("b"), marks);
  ASSERT_EQ(left.size(), 2u);
  for (const MemberIndex member : left)
    EXPECT_NE(marks.find(MarksOf(next, std::vector{member})), std::string::npos);
  EXPECT_TRUE(MarkedHomes(d, homes, "").empty());
  EXPECT_TRUE(MarkedHomes(d, homes, "abc").empty()) << "cut short";
}

// Those of the ids that stores are made with.
TEST(Homes, NoTwoMembersHaveOneMark) {
  const StoreDescriptor d = Store(1024, 1024, 2);
  std::set<std::string> marks;
  for (MemberIndex m = 0; m < 1024; ++m) EXPECT_TRUE(marks.insert(MarksOf(d, std::vector{m})).second) << m;
}

TEST(Placement, OneThatLeavesComesLastAndOneThatIsEmptiedNever) {
  StoreDescriptor d = Store(8, 8, 1);
  d.members[3].role = MemberRole::kLeaving;
  d.members[5].role = MemberRole::kEmptying;
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("n{}", i);
    const Homes homes = HomeFinder(d).Of(name);
    EXPECT_FALSE(Contains(homes, MemberIndex{5}));
    const auto order = PlacementOrder(d, homes, "salt");
    EXPECT_EQ(order.size(), 7u);
    EXPECT_EQ(order.back(), 3);
    EXPECT_FALSE(Contains(order, MemberIndex{5}));
  }
}

TEST(Placement, HomesComeFirstAndHostsAreSpread) {
  const StoreDescriptor d = Store(12, 6, 2);
  for (int i = 0; i < 200; ++i) {
    const auto homes = HomeFinder(d).Of(fmt::format("n{}", i));
    const auto lanes = PlaceLanes(d, PlacementOrder(d, homes, "salt"), 12, 2);
    EXPECT_EQ(std::set<MemberIndex>(lanes.begin(), lanes.end()).size(), 12u);
    EXPECT_TRUE(std::equal(homes.begin(), homes.end(), lanes.begin()));
    const auto three = PlaceLanes(d, PlacementOrder(d, homes, "salt"), 6, 1);
    std::map<std::string, int> hosts;
    for (const MemberIndex m : three) EXPECT_EQ(++hosts[d.members[m].host], 1);
  }
}

// Old stores' placements are searched in this order.
TEST(Placement, EqualWeightsChangeNothing) {
  const StoreDescriptor d = Store(30, 30, 2);
  const std::vector<double> equal(30, 12345.0);
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::format("n{}", i);
    const auto homes = HomeFinder(d).Of(name);
    EXPECT_EQ(PlacementOrder(d, homes, name, equal), PlacementOrder(d, homes, name));
  }
}

TEST(Placement, ThoseWithMoreRoomComeFirstMoreOftenAndHomesStayInFront) {
  const StoreDescriptor d = Store(12, 12, 1);
  std::vector<double> weights(12, 1.0);
  weights[4] = 3.0;
  weights[7] = 0.0;
  std::map<MemberIndex, int> first;
  int counted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = fmt::format("n{}", i);
    const auto homes = HomeFinder(d).Of(name);
    const auto order = PlacementOrder(d, homes, fmt::format("oid{}", i), weights);
    EXPECT_TRUE(std::equal(homes.begin(), homes.end(), order.begin()));
    ASSERT_EQ(std::set<MemberIndex>(order.begin(), order.end()).size(), 12u);
    EXPECT_TRUE(Contains(homes, MemberIndex{7}) || order.back() == 7);
    if (Contains(homes, MemberIndex{4}) || Contains(homes, MemberIndex{7})) continue;
    ++counted;
    ++first[order[3]];
  }
  // Of the nine that are no homes seven have one part each, one has three and one none; and each of ten is
  // a home three times of ten.
  EXPECT_NEAR(first[4], counted * 30 / 100, counted / 50);
  EXPECT_NEAR(first[0], counted * 7 / 100, counted / 50);
}

TEST(Placement, TakesTheFirstCandidatesOfHostsThatHaveRoom) {
  const StoreDescriptor d = Store(6, 3, 1);
  const std::vector<MemberIndex> candidates = {5, 2, 0, 3, 1};
  std::map<std::string, std::vector<MemberIndex>> of_host;
  for (MemberIndex m = 0; m < 6; ++m) of_host[d.members[m].host].push_back(m);
  ASSERT_EQ(of_host.size(), 3u);
  EXPECT_EQ(PlaceLanes(d, candidates, 2, 6), (std::vector<MemberIndex>{5, 2}));
  EXPECT_EQ(PlaceLanes(d, candidates, 9, 6).size(), 5u);
  for (const MemberIndex first : PlaceLanes(d, candidates, 2, 1, of_host.at(d.members[5].host)))
    EXPECT_NE(d.members[first].host, d.members[5].host);
}

}  // namespace
}  // namespace xec
