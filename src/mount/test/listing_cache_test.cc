// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/listing_cache.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ListingCacheTest : public testing::Test {
 protected:
  static TreePage PageOf(const std::vector<std::string>& names) {
    TreePage page;
    for (const std::string& name : names) page.names.push_back({.name = name, .entry = {}});
    return page;
  }
  void Read(const std::string& directory, const std::string& after, const std::vector<std::string>& names) {
    const uint64_t begun = cache.BeginReading(directory, now);
    cache.EndReading(directory, begun, after, PageOf(names), now);
  }
  bool Known(const std::string& directory, const std::string& after = "") {
    return cache.Find(directory, after, now) != nullptr;
  }

  ListingCache cache{seconds(1), 6};
  ListingCache::Time now{seconds(1000)};
};

TEST_F(ListingCacheTest, APageIsKnownForAWhile) {
  Read("/a", "", {"x", "y"});
  EXPECT_EQ(cache.Find("/a", "", now)->names.size(), 2u);
  EXPECT_FALSE(Known("/a", "y"));
  EXPECT_FALSE(Known("/b"));
  now += seconds(1);
  EXPECT_TRUE(Known("/a"));
  now += milliseconds(1);
  EXPECT_FALSE(Known("/a"));
  EXPECT_EQ(cache.names(), 0u);
}

TEST_F(ListingCacheTest, AListingIsKnownAfterItsLastPageButNotForever) {
  Read("/a", "", {"x"});
  for (int i = 0; i < 60; ++i) {
    now += seconds(1);
    EXPECT_TRUE(Known("/a")) << i;
    Read("/a", "x", {"y"});
  }
  now += seconds(1);
  EXPECT_FALSE(Known("/a"));
  EXPECT_EQ(cache.names(), 0u);
}

// On a slow machine each page took longer than a listing was valid, so nothing was ever known.
TEST_F(ListingCacheTest, WhatTookLongIsKnownAsLong) {
  for (const char* after : {"", "x", "y"}) {
    const uint64_t begun = cache.BeginReading("/a", now);
    now += seconds(5);
    cache.EndReading("/a", begun, after, PageOf({"z"}), now);
  }
  now += seconds(15);
  for (const char* after : {"", "x", "y"}) EXPECT_TRUE(Known("/a", after));
  now += milliseconds(1);
  EXPECT_FALSE(Known("/a"));
}

TEST_F(ListingCacheTest, NothingIsKnownIfNothingIsValid) {
  ListingCache none{milliseconds(0)};
  none.EndReading("/a", none.BeginReading("/a", now), "", PageOf({"x"}), now);
  EXPECT_EQ(none.Find("/a", "", now), nullptr);
  EXPECT_EQ(none.names(), 0u);
}

TEST_F(ListingCacheTest, AChangeIsForgotten) {
  Read("/a", "", {"x"});
  Read("/b", "", {"x"});
  cache.Forget("/a");
  EXPECT_FALSE(Known("/a"));
  EXPECT_TRUE(Known("/b"));
  cache.ForgetAll();
  EXPECT_FALSE(Known("/b"));
}

// The page that was being read showed what is no more, and was told for a second.
TEST_F(ListingCacheTest, WhatChangesWhileItIsReadIsNotKept) {
  const uint64_t begun = cache.BeginReading("/a", now);
  cache.Forget("/a");
  cache.EndReading("/a", begun, "", PageOf({"x"}), now);
  EXPECT_FALSE(Known("/a"));
  const uint64_t first = cache.BeginReading("/a", now), second = cache.BeginReading("/a", now);
  cache.EndReading("/a", first, "", PageOf({"x"}), now);
  cache.Forget("/a");
  cache.EndReading("/a", second, "", PageOf({"x"}), now);
  EXPECT_FALSE(Known("/a"));
  Read("/a", "", {"x"});
  EXPECT_TRUE(Known("/a"));
}

TEST_F(ListingCacheTest, WhatCannotBeReadLeavesNothing) {
  const uint64_t begun = cache.BeginReading("/a", now);
  cache.EndReading("/a", begun, "", std::nullopt, now);
  EXPECT_FALSE(Known("/a"));
}

TEST_F(ListingCacheTest, ARenamedDirectoryTakesAllBelowAlong) {
  for (const char* directory : {"/a", "/a/b", "/a.b", "/ab"}) Read(directory, "", {"x"});
  cache.ForgetBelow("/a");
  EXPECT_FALSE(Known("/a"));
  EXPECT_FALSE(Known("/a/b"));
  EXPECT_TRUE(Known("/a.b"));
  EXPECT_TRUE(Known("/ab"));
}

TEST_F(ListingCacheTest, OthersMakeRoom) {
  Read("/a", "", {"1", "2", "3", "4"});
  Read("/b", "", {"1", "2", "3"});
  EXPECT_FALSE(Known("/a"));
  Read("/b", "3", {"4", "5", "6"});
  Read("/b", "6", {"7"});
  EXPECT_TRUE(Known("/b"));
  EXPECT_TRUE(Known("/b", "3"));
  EXPECT_FALSE(Known("/b", "6"));
  EXPECT_EQ(cache.names(), 6u);
  Read("/b", "3", {"4"});
  EXPECT_EQ(cache.names(), 4u);
}

}  // namespace
}  // namespace xec
