// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/survival.hh"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/contains.hh"

namespace xec {
namespace {

// Hosts with so many servers each. t is m.
StoreDescriptor Store(const std::vector<size_t>& hosts, uint32_t data, uint32_t parity) {
  StoreDescriptor d;
  d.geometry.data_chunks = data;
  d.geometry.parity_chunks = parity;
  d.tolerance = parity;
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (size_t i = 0; i < hosts[host]; ++i) {
      d.members.push_back(
          Member{fmt::format("s{:02}", d.members.size() + 1), "local", fmt::format("h{}", host)});
    }
  }
  return d;
}

std::vector<size_t> Alone(size_t servers) { return std::vector<size_t>(servers, 1); }

PlannedObjects Objects(const StoreDescriptor& d) { return {d.geometry, d.geometry.data_chunks + 1}; }

std::string Text(const Tolerated& t) { return fmt::format("{} {} {} {}", t.read, t.names, t.write, t.full); }

std::string SurvivalText(const StoreDescriptor& d) {
  const Survival survival = SurvivalOf(d, Objects(d));
  return fmt::format("{}, {}", Text(survival.servers), Text(survival.hosts));
}

// read, names, write, full: of servers, then of hosts.
TEST(Survival, OfTypicalStores) {
  EXPECT_EQ(SurvivalText(Store(Alone(12), 8, 2)), "2 2 2 2, 2 2 2 2");
  EXPECT_EQ(SurvivalText(Store({2, 2, 2, 2, 2, 2}, 8, 2)), "2 2 2 2, 1 1 1 1");
  // A host has more homes of some names than may be away.
  EXPECT_EQ(SurvivalText(Store({4, 4, 4}, 8, 2)), "2 2 2 2, 0 0 0 0");
  EXPECT_EQ(SurvivalText(Store({3, 3, 3, 3}, 4, 3)), "3 3 3 3, 1 1 1 1");
  // Just as many servers as chunks: one that is away is a debt at once.
  EXPECT_EQ(SurvivalText(Store(Alone(10), 8, 2)), "2 2 1 0, 2 2 1 0");
  // Too few for 2t+1 homes.
  EXPECT_EQ(SurvivalText(Store(Alone(2), 1, 1)), "0 0 0 0, 0 0 0 0");
  EXPECT_EQ(SurvivalText(Store(Alone(3), 2, 1)), "1 1 0 0, 1 1 0 0");
}

// Chunks would be there, and yet nobody may say so: most members have to confirm their list.
TEST(Survival, MostMembersHaveToBeThere) {
  StoreDescriptor d = Store(Alone(7), 1, 3);
  EXPECT_TRUE(WhatIsLeft(d, Objects(d), WorstLoss(d, {0, 3})).decidable);
  for (size_t i = 0; i < 3; ++i) d.members[i].role = MemberRole::kEmptied;
  d.tolerance = 1;
  EXPECT_TRUE(WhatIsLeft(d, Objects(d), std::vector<MemberIndex>{3}).decidable);
  EXPECT_FALSE(WhatIsLeft(d, Objects(d), std::vector<MemberIndex>{0, 1, 2, 3}).decidable);
}

// What is emptied gets nothing, and is home of nothing.
TEST(Survival, MembersThatAreEmptiedCountForNothing) {
  StoreDescriptor d = Store(Alone(13), 8, 2);
  d.members[4].role = MemberRole::kEmptying;
  EXPECT_EQ(SurvivalText(d), "2 2 2 2, 2 2 2 2");
  d.members[5].role = MemberRole::kEmptied;
  EXPECT_EQ(SurvivalOf(d, Objects(d)).servers.full, 1u);
  EXPECT_EQ(WhatIsLeft(d, Objects(d), std::vector<MemberIndex>{4, 5}).chunks_lost, 0u);
}

TEST(Survival, WritesTakeWhatIsLeft) {
  const StoreDescriptor d = Store(Alone(11), 8, 2);
  const auto at = [&](size_t lost) { return WhatIsLeft(d, Objects(d), WorstLoss(d, {0, lost})); };
  EXPECT_TRUE(at(1).full);
  EXPECT_EQ(at(2).archives, 9u);
  EXPECT_TRUE(at(2).writable && !at(2).full);
  PlannedObjects strict = Objects(d);
  strict.archives_min = 10;
  EXPECT_FALSE(WhatIsLeft(d, strict, WorstLoss(d, {0, 2})).writable);
}

// All sets of so many of `count` members.
std::vector<std::vector<MemberIndex>> SetsOf(size_t count, size_t size) {
  std::vector<bool> chosen(count, false);
  std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
  std::vector<std::vector<MemberIndex>> sets;
  do {
    std::vector<MemberIndex>& set = sets.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      if (chosen[i]) set.push_back(static_cast<MemberIndex>(i));
    }
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return sets;
}

const std::vector<StoreDescriptor>& SmallStores() {
  static const std::vector<StoreDescriptor> stores = {
      Store(Alone(6), 3, 2),     Store({2, 2, 2}, 3, 2),    Store({3, 2, 1}, 3, 2), Store({4, 1, 1}, 3, 2),
      Store({3, 3}, 3, 2),       Store({5, 1, 1, 1}, 4, 2), Store({2, 2, 1}, 2, 1), Store({4, 4}, 2, 1),
      Store({2, 2, 2, 2}, 4, 3), Store({3, 3, 3}, 4, 2),    Store({1, 2}, 3, 0),    Store({6}, 4, 2)};
  return stores;
}

// The bounds are what the store's own placement comes to, no more and no less.
TEST(Survival, BoundsAreThoseOfThePlacement) {
  for (const StoreDescriptor& d : SmallStores()) {
    const HomeFinder finder(d);
    std::vector<std::vector<MemberIndex>> placed;
    for (int i = 0; i < 1500; ++i) {
      const auto order = PlacementOrder(d, finder.Of(fmt::format("n{}", i)), fmt::format("o{}", i));
      placed.push_back(PlaceLanes(d, order, d.geometry.Total(), d.geometry.parity_chunks));
    }
    for (size_t size = 0; size <= 4 && size <= d.members.size(); ++size) {
      size_t worst = 0;
      for (const std::vector<MemberIndex>& lost : SetsOf(d.members.size(), size)) {
        size_t most = 0;
        for (const std::vector<MemberIndex>& lanes : placed) {
          const auto hit = std::count_if(lanes.begin(), lanes.end(),
                                         [&](MemberIndex member) { return Contains(lost, member); });
          most = std::max(most, static_cast<size_t>(hit));
        }
        const size_t bound = WhatIsLeft(d, Objects(d), lost).chunks_lost;
        EXPECT_EQ(most, bound) << d.members.size() << " members, " << d.geometry.ToString() << ", lost "
                               << fmt::format("{}", fmt::join(lost, ","));
        worst = std::max(worst, bound);
      }
      const auto said = WhatIsLeft(d, Objects(d), WorstLoss(d, {0, size}));
      EXPECT_EQ(said.chunks_lost, worst) << d.members.size() << " members, " << size << " lost";
    }
  }
}

TEST(Survival, NoHostsAreWorseThanTheLargest) {
  for (const StoreDescriptor& d : SmallStores()) {
    const size_t hosts = CountHosts(d);
    for (size_t count = 0; count <= hosts; ++count) {
      size_t worst = 0, fewest_left = d.members.size();
      for (const std::vector<MemberIndex>& chosen : SetsOf(hosts, count)) {
        std::vector<MemberIndex> lost;
        for (size_t i = 0; i < d.members.size(); ++i) {
          for (const MemberIndex host : chosen) {
            if (d.members[i].host == fmt::format("h{}", host)) lost.push_back(static_cast<MemberIndex>(i));
          }
        }
        worst = std::max(worst, WhatIsLeft(d, Objects(d), lost).chunks_lost);
        fewest_left = std::min(fewest_left, d.members.size() - lost.size());
      }
      const std::vector<MemberIndex> said = WorstLoss(d, {count, 0});
      EXPECT_EQ(WhatIsLeft(d, Objects(d), said).chunks_lost, worst);
      EXPECT_EQ(d.members.size() - said.size(), fewest_left);
    }
  }
}

TEST(Survival, HostsWithTooManyChunksAreNamed) {
  EXPECT_TRUE(CrowdedHosts(Store({2, 2, 2, 2, 2, 2}, 8, 2), Geometry{}).empty());
  const StoreDescriptor d = Store({6, 3, 3}, 8, 2);
  const std::vector<CrowdedHost> crowded = CrowdedHosts(d, d.geometry);
  ASSERT_EQ(crowded.size(), 3u);
  EXPECT_EQ(crowded[0].host, "h0");
  EXPECT_EQ(crowded[0].servers, 6u);
  EXPECT_EQ(crowded[0].chunks, 6u);
  EXPECT_EQ(crowded[1].chunks, 3u);
}

// With three of twelve away: C(9,7) / C(12,10) of the objects have three chunks there, and C(9,2) / C(12,5)
// of the names three homes.
TEST(Survival, SharesAreThoseOfChance) {
  const StoreDescriptor d = Store(Alone(12), 8, 2);
  const PlacedSample sample(d, d.geometry);
  const std::vector<MemberIndex> two = {3, 7}, three = {3, 7, 11};
  EXPECT_EQ(sample.Unreadable(two), 0);
  EXPECT_EQ(sample.Undecidable(two), 0);
  EXPECT_NEAR(sample.Unreadable(three), 36.0 / 66, 0.03);
  EXPECT_NEAR(sample.Undecidable(three), 36.0 / 792, 0.015);
}

TEST(Survival, MoreServersGiveMore) {
  const StoreDescriptor d = Store(Alone(10), 8, 2);
  EXPECT_EQ(SurvivalText(WithMore(d, 1)), "2 2 2 1, 2 2 2 1");
  EXPECT_EQ(SurvivalText(WithMore(d, 2)), "2 2 2 2, 2 2 2 2");
  EXPECT_EQ(WithMore(d, 2).members.back().id, "s12");
  // What a store can decide it was made for.
  EXPECT_EQ(SurvivalOf(WithMore(d, 20), Objects(d)).servers.names, 2u);
}

}  // namespace
}  // namespace xec
