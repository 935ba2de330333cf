// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/extent_set.hh"

#include <array>
#include <random>

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(ExtentSet, WhatTouchesIsOne) {
  ExtentSet set;
  set.Add(10, 20);
  set.Add(30, 40);
  EXPECT_EQ(set.count(), 2u);
  set.Add(20, 30);
  EXPECT_EQ(set.count(), 1u);
  EXPECT_EQ(set.bytes(), 30u);
  EXPECT_EQ(set.begin(), 10u);
  EXPECT_EQ(set.end(), 40u);
  set.Add(5, 5);
  EXPECT_EQ(set.bytes(), 30u);
}

TEST(ExtentSet, TheSmallestGap) {
  ExtentSet set;
  EXPECT_EQ(set.SmallestGap().end, 0u);
  set.Add(5, 10);
  EXPECT_EQ(set.SmallestGap().end, 0u);
  set.Add(100, 110);
  EXPECT_EQ(set.SmallestGap().begin, 10u);
  EXPECT_EQ(set.SmallestGap().end, 100u);
  set.Add(115, 120);
  set.Add(200, 210);
  EXPECT_EQ(set.SmallestGap().begin, 110u);
  EXPECT_EQ(set.SmallestGap().end, 115u);
}

// Against a flag for each byte.
TEST(ExtentSet, AsFlagsOfBytes) {
  constexpr uint64_t kSize = 64;
  std::minstd_rand next(1);
  ExtentSet set;
  std::array<bool, kSize> flags{};
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t a = next() % kSize, b = next() % kSize;
    const uint64_t begin = std::min(a, b), end = std::max(a, b);
    if (next() % 8 == 0) {
      set.Cut(end);
      std::fill(flags.begin() + static_cast<ptrdiff_t>(end), flags.end(), false);
    } else if (next() % 8 != 0) {
      set.Add(begin, end);
      std::fill(flags.begin() + static_cast<ptrdiff_t>(begin), flags.begin() + static_cast<ptrdiff_t>(end),
                true);
    } else {
      set.Cut(0);
      flags.fill(false);
    }
    ASSERT_EQ(set.bytes(), static_cast<uint64_t>(std::count(flags.begin(), flags.end(), true)));
    uint64_t missing = 0;
    for (uint64_t i = begin; i < end; ++i) missing += flags[i] ? 0 : 1;
    ASSERT_EQ(set.Missing(begin, end), missing);
    const auto flag = [&](uint64_t i) { return i < kSize && flags[i]; };
    const bool beside = (begin > 0 && flag(begin - 1)) || flag(end);
    ASSERT_EQ(set.Touches(begin, end), beside || missing < end - begin);
    for (uint64_t i = 0; i < kSize; ++i) {
      const ExtentSet::Run run = set.At(i);
      ASSERT_EQ(run.present, flags[i]);
      uint64_t until = i;
      while (until < kSize && flags[until] == flags[i]) ++until;
      ASSERT_EQ(run.end, until == kSize && !flags[i] ? UINT64_MAX : until);
    }
  }
}

}  // namespace
}  // namespace xec
