// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/version.hh"

#include <gtest/gtest.h>

#include "protocol/hybrid_clock.hh"

namespace xec {
namespace {

TEST(Version, TextSortsAsVersionsDo) {
  const Version a{5, 9, 0};
  const Version b{5, 10, 0};
  EXPECT_LT(a, a.Moved());
  EXPECT_LT(a.Moved(), a.MoveDone());
  EXPECT_LT(a.MoveDone(), a.Removed());
  EXPECT_LT(a.Removed(), b);
  EXPECT_EQ(a.MoveDone().Unmoved(), a);
  EXPECT_LT(b, (Version{6, 0, 0}));
  EXPECT_LT(a.ToString(), a.Moved().ToString());
  EXPECT_LT(a.Moved().ToString(), b.ToString());
  for (const Version& v : {a, b, a.Moved(), a.MoveDone(), a.Removed()})
    EXPECT_EQ(Version::Parse(v.ToString()), v);
  for (const char* bad :
       {"", "0000000000000005-0000000", "0000000000000005-00000009x", "0000000000000005_00000009"}) {
    EXPECT_FALSE(Version::Parse(bad)) << bad;
  }
}

TEST(HybridClock, IsAboveAllItSawAndNearWallTime) {
  HybridClock clock(7);
  const Version first = *clock.Next(1000, std::nullopt);
  EXPECT_EQ(first.WallMillis(), 1000);
  EXPECT_GT(*clock.Next(500, std::nullopt), first) << "the wall clock went back";
  const Version seen{(2000ull << kLogicalBits) | 3, 9, 1};
  EXPECT_GT(*clock.Next(1000, seen), seen);
}

TEST(HybridClock, DoesNotBelieveWhatIsFarAhead) {
  HybridClock clock(7);
  const Version far{static_cast<uint64_t>(kClockDriftMaxMs + 5000) << kLogicalBits, 1, 0};
  EXPECT_EQ(clock.Next(1000, far).code(), Code::kUnavailable);
  EXPECT_TRUE(clock.Next(6000, far));
}

}  // namespace
}  // namespace xec
