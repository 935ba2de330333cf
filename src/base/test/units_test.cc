// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/units.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(Units, ParsesSizes) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("1MiB"), kMiB);
  EXPECT_EQ(*ParseSize("64K"), 64 * kKiB);
  EXPECT_EQ(*ParseSize("2GB"), 2'000'000'000u);
  for (const char* bad :
       {"", "MiB", "-1", "1.5M", "1 MiB", "99999999999999999999", "17179869184TiB", "1mib"}) {
    EXPECT_FALSE(ParseSize(bad)) << bad;
  }
}

TEST(Units, FormatsSizes) {
  EXPECT_EQ(FormatSize(27), "27 B");
  EXPECT_EQ(FormatSize(1536), "1.5 KiB");
  EXPECT_EQ(FormatSize(kGiB), "1.0 GiB");
}

TEST(Units, ParsesDurations) {
  EXPECT_EQ(ParseDuration("250ms")->count(), 250);
  EXPECT_EQ(ParseDuration("2")->count(), 2000);
  EXPECT_EQ(ParseDuration("1h")->count(), 3600 * 1000);
  for (const char* bad : {"", "h", "1w", "-3s", "99999999999d"}) EXPECT_FALSE(ParseDuration(bad)) << bad;
}

}  // namespace
}  // namespace xec
