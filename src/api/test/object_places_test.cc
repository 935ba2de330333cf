// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/object_places.hh"

#include <set>

#include <gmock/gmock.h>

namespace xec {
namespace {

using testing::ElementsAre;

constexpr uint64_t kChunk = 4096;

// Lanes as in the native layout: chunk c of stripe s is in lane (c + s) mod (k + m), lane i on server i.
ObjectPlaces Object(
    const Geometry& geometry, uint64_t bytes, uint64_t first_stripe = 0,
    const std::function<void(ChunkReport&)>& change = [](ChunkReport&) {}) {
  ObjectPlaces object;
  object.path = "/o";
  object.geometry = geometry;
  object.bytes = bytes;
  PlacesBuilder builder(std::move(object));
  for (uint64_t stripe = 0; stripe < geometry.StripeCount(bytes); ++stripe) {
    for (uint32_t chunk = 0; chunk < geometry.Total(); ++chunk) {
      ChunkReport report;
      report.stripe = first_stripe + stripe * (first_stripe == 0 ? 1 : 100);
      report.chunk = chunk;
      report.bytes = geometry.ChunkBytes(bytes, stripe, chunk);
      if (report.bytes == 0) continue;
      const auto lane = static_cast<uint32_t>((chunk + stripe) % geometry.Total());
      report.server = static_cast<MemberIndex>(lane);
      change(report);
      builder.Add(lane, report);
    }
  }
  return builder.Take();
}

std::optional<ObjectLoss> Without(const ObjectPlaces& object, MemberIndex server) {
  return LossOf(object, [&](const LaneRun& run) { return run.server == server; });
}

TEST(ObjectPlacesTest, ALaneOnOneServerIsOneRun) {
  const Geometry geometry{2, 1, kChunk};
  const ObjectPlaces object = Object(geometry, 3 * 2 * kChunk);
  EXPECT_THAT(object.runs,
              ElementsAre(LaneRun{0, 0, 3, 3 * kChunk, 0, true}, LaneRun{1, 0, 3, 3 * kChunk, 1, true},
                          LaneRun{2, 0, 3, 3 * kChunk, 2, true}));
  EXPECT_EQ(Object(geometry, 3 * 2 * kChunk, 700).runs, object.runs) << "whatever the stripes' numbers are";
}

TEST(ObjectPlacesTest, ALossIsToldWithLanesStripesAndBytes) {
  const ObjectPlaces object = Object({2, 1, kChunk}, 3 * 2 * kChunk);
  const std::optional<ObjectLoss> loss = Without(object, 1);
  ASSERT_TRUE(loss);
  EXPECT_THAT(loss->lanes, ElementsAre(1));
  EXPECT_EQ(loss->stripes, 3u);
  EXPECT_EQ(loss->bytes, 3 * kChunk);
  EXPECT_EQ(loss->survives, 0);
  EXPECT_FALSE(Without(object, 7));
  EXPECT_FALSE(Without(Object({2, 1, kChunk}, 0), 0)) << "there is nothing to lose";
}

TEST(ObjectPlacesTest, AShortStripeNeedsFewerChunks) {
  // One data chunk and two of parity: lanes 0, 4 and 5.
  const ObjectPlaces small = Object({4, 2, kChunk}, 100);
  EXPECT_EQ(small.runs.size(), 3u);
  EXPECT_FALSE(Without(small, 2));
  EXPECT_EQ(Without(small, 0)->survives, 1);
  const auto both = LossOf(small, [](const LaneRun& run) { return run.server != 5; });
  EXPECT_EQ(both->survives, 0);
  EXPECT_THAT(both->lanes, ElementsAre(0, 4));
  EXPECT_TRUE(LossOf(small, [](const LaneRun&) { return true; })->BeyondRepair());
  // The second stripe has one data chunk, in lane 1, and parity in 5 and 0.
  const ObjectPlaces two = Object({4, 2, kChunk}, 4 * kChunk + 1);
  EXPECT_EQ(Without(two, 2)->stripes, 1u);
  EXPECT_EQ(Without(two, 1)->stripes, 2u);
  EXPECT_EQ(Without(two, 1)->bytes, kChunk + 1);
}

TEST(ObjectPlacesTest, WhatIsMissingAlreadyCounts) {
  const auto lose = [](ChunkReport& report) {
    if (report.server == 3 && report.stripe == 1) report.health = ChunkHealth::kMissing;
  };
  const ObjectPlaces object = Object({4, 2, kChunk}, 3 * 4 * kChunk, 0, lose);
  EXPECT_EQ(object.runs.size(), 8u) << "lane 3 has three";
  EXPECT_EQ(Without(object, 0)->survives, 0) << "in the second stripe";
  EXPECT_EQ(Without(object, 3)->survives, 1);
  EXPECT_EQ(Without(object, 3)->stripes, 3u);
  const auto more = LossOf(object, [](const LaneRun& run) { return run.server <= 1; });
  EXPECT_TRUE(more->BeyondRepair());
}

TEST(ObjectPlacesTest, AServerThatDoesNotAnswerHoldsWhatItShould) {
  const ObjectPlaces object = Object({4, 2, kChunk}, 4 * kChunk, 0, [](ChunkReport& report) {
    if (report.server <= 1) report.health = ChunkHealth::kUnavailable;
    report.doubted = report.server == 1;
  });
  EXPECT_EQ(Without(object, 0)->survives, 0) << "one is doubted: its own server has answered";
  EXPECT_EQ(Without(object, 1)->survives, 1);
}

TEST(ObjectPlacesTest, TwoLanesOnOneServerAreOneLoss) {
  const ObjectPlaces object =
      Object({4, 2, kChunk}, 4 * kChunk, 0, [](ChunkReport& report) { report.server /= 2; });
  EXPECT_THAT(Without(object, 0)->lanes, ElementsAre(0, 1));
  EXPECT_EQ(Without(object, 0)->stripes, 1u);
  EXPECT_EQ(Without(object, 0)->survives, 0);
}

TEST(ObjectPlacesTest, WhatIsLeftIsCountedAsByACensus) {
  const ObjectPlaces object = Object({4, 2, kChunk}, 3 * 4 * kChunk);
  const auto without = [&](std::set<MemberIndex> servers) {
    return RedundancyOf(object, [&](const LaneRun& run) { return servers.contains(run.server); });
  };
  EXPECT_TRUE(without({}).Full());
  EXPECT_EQ(without({}).bytes, 3 * 4 * kChunk);
  EXPECT_EQ(without({0}).survives, 1);
  EXPECT_TRUE(without({0}).critical.empty());
  EXPECT_EQ(without({0, 5}).survives, 0);
  EXPECT_THAT(without({0, 5}).critical, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(without({0, 1, 5}).survives, -1);
  EXPECT_TRUE(RedundancyOf(Object({4, 2, kChunk}, 0), [](const LaneRun&) { return true; }).Full())
      << "there is nothing to lose";
}

TEST(ObjectPlacesTest, TheWorstStripeDecidesWhatIsLeft) {
  // The second stripe is short: data in lane 1, parity in 5 and 0.
  const ObjectPlaces object = Object({4, 2, kChunk}, 4 * kChunk + 1);
  const auto left =
      RedundancyOf(object, [](const LaneRun& run) { return run.server == 5 || run.server == 0; });
  EXPECT_EQ(left.survives, 0);
  EXPECT_THAT(left.critical, ElementsAre(1, 2, 3, 4));
  const auto other =
      RedundancyOf(object, [](const LaneRun& run) { return run.server == 2 || run.server == 3; });
  EXPECT_EQ(other.survives, 0);
  EXPECT_THAT(other.critical, ElementsAre(0, 1, 4, 5));
}

}  // namespace
}  // namespace xec
