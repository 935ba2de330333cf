// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/pattern.hh"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace xec::load {
namespace {

std::vector<std::byte> Copy(const Pattern& pattern, uint64_t offset, uint64_t length) {
  const auto bytes = pattern.Bytes(offset, length);
  return {bytes.begin(), bytes.end()};
}

TEST(Pattern, IsOneObjectHoweverItIsCut) {
  const Pattern pattern("/a/b");
  constexpr uint64_t kStart = Pattern::kPeriodBytes - 1000;  // over the place where the table repeats
  const std::vector<std::byte> whole = Copy(pattern, kStart, 10'000);
  std::vector<std::byte> pieces;
  for (uint64_t offset = 0; offset < whole.size(); offset += 7) {
    const auto piece = Copy(pattern, kStart + offset, std::min<uint64_t>(7, whole.size() - offset));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(whole, pieces);
  EXPECT_TRUE(pattern.Matches(kStart, whole));
}

TEST(Pattern, MatchesPiecesOfAnySize) {
  const Pattern pattern("/a");
  std::vector<std::byte> bytes;
  for (uint64_t offset = 0; offset < 20 * Pattern::kPeriodBytes; offset += kPieceBytesMax) {
    const auto piece = pattern.Bytes(offset, kPieceBytesMax);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  EXPECT_TRUE(pattern.Matches(0, bytes));
  EXPECT_TRUE(pattern.Matches(0, std::span(bytes).first(0)));
  bytes.back() ^= std::byte{1};
  EXPECT_FALSE(pattern.Matches(0, bytes));
}

TEST(Pattern, FindsEverySingleWrongByte) {
  const Pattern pattern("/a");
  std::vector<std::byte> bytes = Copy(pattern, 5, 3000);
  for (std::byte& byte : bytes) {
    byte ^= std::byte{0x80};
    EXPECT_FALSE(pattern.Matches(5, bytes));
    byte ^= std::byte{0x80};
  }
  EXPECT_TRUE(pattern.Matches(5, bytes));
}

TEST(Pattern, FindsBytesOfAnotherPlaceOrObject) {
  const Pattern pattern("/a");
  for (const uint64_t distance :
       {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 20, uint64_t{8} << 20, uint64_t{1} << 30}) {
    EXPECT_FALSE(pattern.Matches(0, pattern.Bytes(distance, 4096))) << distance;
  }
  EXPECT_FALSE(pattern.Matches(0, Pattern("/b").Bytes(0, 4096)));
  EXPECT_FALSE(pattern.Matches(0, std::vector<std::byte>(4096)));
}

}  // namespace
}  // namespace xec::load
