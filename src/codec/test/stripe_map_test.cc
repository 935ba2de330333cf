// SPDX-License-Identifier: LGPL-3.0-or-later
#include "codec/stripe_map.hh"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace xec {
namespace {

const Geometry kGeometry{2, 1, 4096};  // stripes of 8192 bytes

uint64_t BytesOf(const std::vector<PartRun>& runs) {
  uint64_t bytes = 0;
  for (const PartRun& run : runs) bytes += run.count * run.part_bytes;
  return bytes;
}

// Walks through the object and checks that the two directions of the map agree at every step.
std::vector<StripeExtent> Walk(const StripeMap& map) {
  std::vector<StripeExtent> extents;
  for (uint64_t at = 0; at < map.object_size();) {
    const StripeExtent extent = map.At(at);
    EXPECT_EQ(extent.begin, at);
    EXPECT_GT(extent.bytes, 0u);
    EXPECT_EQ(map.At(extent.end() - 1), extent);
    EXPECT_EQ(map.Of(extent.stripe), extent);
    uint64_t data = 0;
    for (uint32_t chunk = 0; chunk < map.geometry().data_chunks; ++chunk)
      data += map.ChunkBytes(extent.stripe, chunk);
    EXPECT_EQ(data, extent.bytes);
    EXPECT_EQ(map.ChunkBytes(extent.stripe, 2), map.ChunkBytes(extent.stripe, 0));
    extents.push_back(extent);
    at = extent.end();
  }
  EXPECT_EQ(extents.size(), map.StripeCount());
  return extents;
}

TEST(StripeMap, WithoutPartsItIsThatOfTheGeometry) {
  for (const uint64_t size : {0u, 1u, 4096u, 8191u, 8192u, 8193u, 100'000u}) {
    const StripeMap map(kGeometry, size);
    EXPECT_EQ(map.StripeCount(), kGeometry.StripeCount(size));
    uint64_t stripe = 0;
    for (const StripeExtent& extent : Walk(map)) {
      EXPECT_EQ(extent.stripe, stripe);
      EXPECT_EQ(extent.bytes, kGeometry.StripeBytes(size, stripe));
      ++stripe;
    }
    for (uint32_t chunk = 0; chunk < 3; ++chunk) {
      EXPECT_EQ(map.ChunkBytes(0, chunk), kGeometry.ChunkBytes(size, 0, chunk));
      EXPECT_EQ(map.ChunkBytes(stripe, chunk), 0u);
    }
  }
}

TEST(StripeMap, PartsHaveStripesOfTheirOwn) {
  // Two of a stripe and a half, then one byte.
  const std::vector<PartRun> runs = {{100, 12'000, 2, 50}, {1000, 1, 1, 1}};
  ASSERT_EQ(CheckParts(kGeometry, BytesOf(runs), runs), nullptr);
  const StripeMap map(kGeometry, BytesOf(runs), runs);
  const std::vector<StripeExtent> expected = {
      {100, 0, 8192}, {101, 8192, 3808}, {150, 12'000, 8192}, {151, 20'192, 3808}, {1000, 24'000, 1}};
  EXPECT_EQ(Walk(map), expected);
  EXPECT_EQ(map.At(12'001), expected[2]);
  EXPECT_EQ(map.ChunkBytes(101, 0), 3808u);
  EXPECT_EQ(map.ChunkBytes(101, 1), 0u);
  for (const uint64_t other : {0u, 99u, 102u, 149u, 152u, 200u, 999u, 1001u}) {
    EXPECT_EQ(map.Of(other).bytes, 0u) << other;
    EXPECT_EQ(map.ChunkBytes(other, 0), 0u) << other;
  }
}

TEST(StripeMap, PartsMayFollowWithoutGapsAndReachTheLastNumber) {
  const std::vector<PartRun> runs = {{0, 8193, 3, 2}, {6, 8192, 2, 1}, {kStripeNumbersMax - 1, 5, 1, 1}};
  ASSERT_EQ(CheckParts(kGeometry, BytesOf(runs), runs), nullptr);
  const std::vector<StripeExtent> extents = Walk(StripeMap(kGeometry, BytesOf(runs), runs));
  ASSERT_EQ(extents.size(), 9u);
  EXPECT_EQ(extents[1], (StripeExtent{1, 8192, 1}));
  EXPECT_EQ(extents.back().stripe, kStripeNumbersMax - 1);
}

TEST(StripeMap, AllPartsThatS3Allows) {
  const std::vector<PartRun> runs = {{1, 20'000, kPartsMax - 1, 1 << 18}, {kStripeNumbersMax - 1, 1, 1, 1}};
  ASSERT_EQ(CheckParts(kGeometry, BytesOf(runs), runs), nullptr);
  EXPECT_EQ(Walk(StripeMap(kGeometry, BytesOf(runs), runs)).size(), 3 * (kPartsMax - 1) + 1);
}

TEST(StripeMap, WrongPartsAreToldFromGoodOnes) {
  const auto problem = [](uint64_t size, std::vector<PartRun> runs) -> std::string_view {
    const char* found = CheckParts(kGeometry, size, runs);
    return found == nullptr ? "" : found;
  };
  constexpr uint64_t kHuge = UINT64_MAX;
  EXPECT_EQ(problem(0, {}), "");
  EXPECT_EQ(problem(5, {}), "");
  EXPECT_EQ(problem(5, {{7, 5, 1, 1}}), "");
  EXPECT_EQ(problem(5, {{7, 5, 0, 1}}), "a part is empty");
  EXPECT_EQ(problem(5, {{7, 5, 1, 1}, {8, 0, 1, 1}}), "a part is empty");
  EXPECT_EQ(problem(6, {{7, 5, 1, 1}}), "its parts are smaller than the object");
  EXPECT_EQ(problem(4, {{7, 5, 1, 1}}), "its parts are larger than the object");
  EXPECT_EQ(problem(9, {{7, 5, 2, 1}}), "its parts are larger than the object");
  EXPECT_EQ(problem(4, {{7, kHuge, 2, 1}}), "its parts are larger than the object");
  EXPECT_EQ(problem(kHuge, {{7, kHuge / 2 + 1, 2, 1}}), "its parts are larger than the object");
  EXPECT_EQ(problem(kPartsMax + 1, {{7, 1, kPartsMax + 1, 1}}), "it has too many parts");
  EXPECT_EQ(problem(kPartsMax + 1, {{7, 1, kPartsMax, 1}, {1 << 20, 1, 1, 1}}), "it has too many parts");
  EXPECT_EQ(problem(5, {{7, 5, kHuge, 1}}), "it has too many parts");
  EXPECT_EQ(problem(kHuge, {{7, kHuge, 1, kHuge}}), "its parts have too many stripes");
  EXPECT_EQ(problem(8 * 9000 * 8192, {{0, 9000 * 8192, 8, 9000}}), "its parts have too many stripes");
  EXPECT_EQ(problem(20'000, {{7, 10'000, 2, 1}}), "a stripe number of its parts is impossible");
  EXPECT_EQ(problem(5, {{7, 5, 1, 0}}), "a stripe number of its parts is impossible");
  EXPECT_EQ(problem(5, {{kHuge, 5, 1, 1}}), "a stripe number of its parts is impossible");
  EXPECT_EQ(problem(10, {{7, 5, 2, kHuge}}), "a stripe number of its parts is impossible");
  EXPECT_EQ(problem(5, {{kStripeNumbersMax, 5, 1, 1}}), "the stripe numbers of its parts do not ascend");
  EXPECT_EQ(problem(10, {{7, 5, 1, 1}, {7, 5, 1, 1}}), "the stripe numbers of its parts do not ascend");
  EXPECT_EQ(problem(15, {{7, 5, 2, 10}, {12, 5, 1, 1}}), "the stripe numbers of its parts do not ascend");
}

using StripeMapDeathTest = testing::Test;

TEST(StripeMapDeathTest, NoStripeHasBytesBehindTheEnd) {
  EXPECT_DEATH((void)StripeMap(kGeometry, 10).At(10), "offset 10 of 10");
}

}  // namespace
}  // namespace xec
