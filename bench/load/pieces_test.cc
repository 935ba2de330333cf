// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/pieces.hh"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace xec::load {
namespace {

void ExpectGood(const PieceOptions& options, const std::vector<Piece>& pieces) {
  ASSERT_EQ(pieces.size(), options.count);
  uint64_t end = 0;
  for (const Piece& piece : pieces) {
    EXPECT_GE(piece.offset, end);
    EXPECT_GE(piece.length, options.length_min);
    EXPECT_LE(piece.length, options.length_max);
    end = piece.offset + piece.length;
  }
  EXPECT_LE(end, options.span_bytes);
}

TEST(ChoosePieces, LieInOrderInTheSpanAndDoNotOverlap) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const PieceOptions options{
        .count = 1 + seed, .length_min = 1, .length_max = 37, .span_bytes = 40 * (1 + seed) + 3};
    ExpectGood(options, ChoosePieces(options, random));
  }
}

TEST(ChoosePieces, OfWhichEachFillsItsPart) {
  Random random(1);
  const PieceOptions options{.count = 4, .length_min = 10, .length_max = 10, .span_bytes = 43};
  const std::vector<Piece> expected = {{0, 10}, {10, 10}, {20, 10}, {30, 10}};
  EXPECT_EQ(ChoosePieces(options, random), expected);
}

TEST(ChoosePieces, ReachTheShortestTheLongestAndAllPlaces) {
  Random random(1);
  const PieceOptions options{.count = 1, .length_min = 1, .length_max = 3, .span_bytes = 4};
  std::set<std::pair<uint64_t, uint32_t>> seen;
  for (int i = 0; i < 1000; ++i) {
    const Piece piece = ChoosePieces(options, random).front();
    seen.emplace(piece.offset, piece.length);
  }
  EXPECT_EQ(seen.size(), 4u + 3u + 2u);
}

TEST(ChoosePieces, DependOnTheSeedOnly) {
  const PieceOptions options{.count = 100, .length_min = 1, .length_max = 100, .span_bytes = 100'000};
  Random first(7), again(7), other(8);
  const std::vector<Piece> pieces = ChoosePieces(options, first);
  EXPECT_EQ(pieces, ChoosePieces(options, again));
  EXPECT_NE(pieces, ChoosePieces(options, other));
}

TEST(ChooseNumbers, AreDifferentAndAllAreChosenSometimes) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const std::vector<uint64_t> chosen = ChooseNumbers(3, 10, random);
    const std::set<uint64_t> distinct(chosen.begin(), chosen.end());
    EXPECT_EQ(distinct.size(), 3u);
    EXPECT_LT(*distinct.rbegin(), 10u);
    seen.insert(chosen.begin(), chosen.end());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(ChooseNumbers, OfAllIsAPermutation) {
  Random random(1);
  std::vector<uint64_t> chosen = ChooseNumbers(5, 5, random);
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace xec::load
