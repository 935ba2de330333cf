// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/slice_cache.hh"

#include <gtest/gtest.h>

#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

class SliceCacheTest : public ::testing::Test {
 protected:
  // Of so many bytes of the budget.
  SliceCache::ValuePtr Make(uint64_t bytes) {
    std::optional<ByteBudget::Lease> lease = budget_.TryAcquire(bytes);
    if (!lease) return nullptr;
    SliceCache::Value value;
    value.slices.emplace_back(Buffer::Allocate(bytes, std::move(*lease)));
    return std::make_shared<const SliceCache::Value>(std::move(value));
  }
  void Add(SliceCache& cache, uint64_t stripe, uint64_t bytes = 1000) {
    ASSERT_TRUE(cache.Claim({"o", stripe}));
    cache.Arrived({"o", stripe}, Make(bytes));
  }
  bool Has(const std::shared_ptr<SliceCache>& cache, uint64_t stripe) {
    SliceCache::Key key{"o", stripe};
    const auto found = executor_.RunTask(SliceCache::Find(cache, std::move(key)));
    return found && *found != nullptr;
  }

  VirtualExecutor executor_{VirtualOptions{.seed = 1}};
  ByteBudget budget_{10'000, executor_};
};

TEST_F(SliceCacheTest, WhatWasUsedIsKeptUpToItsLimit) {
  const auto cache = SliceCache::Make(budget_, executor_, 2500);
  for (uint64_t stripe = 0; stripe < 3; ++stripe) Add(*cache, stripe);
  for (uint64_t stripe = 0; stripe < 3; ++stripe) EXPECT_TRUE(Has(cache, stripe));
  cache->Used({"o", 0});
  cache->Used({"o", 1});
  EXPECT_TRUE(Has(cache, 0));  // 1 is the one whose last use is longest ago now
  cache->Used({"o", 2});
  EXPECT_TRUE(Has(cache, 0));
  EXPECT_FALSE(Has(cache, 1));
  EXPECT_TRUE(Has(cache, 2));
  EXPECT_EQ(cache->kept_bytes(), 2000u);
  EXPECT_EQ(budget_.in_use(), 2000u);
}

TEST_F(SliceCacheTest, NothingIsKeptOfWhatWasUsedWithoutALimit) {
  const auto cache = SliceCache::Make(budget_, executor_, 0);
  Add(*cache, 0);
  EXPECT_TRUE(Has(cache, 0));
  cache->Used({"o", 0});
  EXPECT_FALSE(Has(cache, 0));
  EXPECT_EQ(budget_.in_use(), 0u);
}

TEST_F(SliceCacheTest, OneFetchServesAllWhoAsk) {
  const auto cache = SliceCache::Make(budget_, executor_, 0);
  ASSERT_TRUE(cache->Claim({"o", 0}));
  EXPECT_FALSE(cache->Claim({"o", 0}));
  int served = 0;
  TaskScope scope;
  const auto ask = [&](SliceCache::Key key) -> Task<void> {
    const SliceCache::ValuePtr value = co_await SliceCache::Find(cache, std::move(key));
    if (value) ++served;
  };
  for (int i = 0; i < 3; ++i) scope.Spawn(ask({"o", 0}));
  EXPECT_EQ(served, 0);
  cache->Arrived({"o", 0}, Make(1000));
  EXPECT_EQ(served, 3);
  ASSERT_TRUE(cache->Claim({"o", 1}));
  scope.Spawn(ask({"o", 1}));
  cache->Arrived({"o", 1}, nullptr);
  EXPECT_EQ(served, 3);
  EXPECT_FALSE(Has(cache, 1));
  EXPECT_TRUE(cache->Claim({"o", 1}));
  cache->Arrived({"o", 1}, nullptr);
}

TEST_F(SliceCacheTest, WhatWasFetchedInVainIsNotKeptForEver) {
  const auto cache = SliceCache::Make(budget_, executor_, 0);
  Add(*cache, 0);
  executor_.RunUntilTime(executor_.Now() + SliceCache::kAheadMax / 2);
  Add(*cache, 1);
  executor_.RunUntilTime(executor_.Now() + SliceCache::kAheadMax / 2);
  EXPECT_EQ(cache->kept_bytes(), 0u);
  EXPECT_FALSE(Has(cache, 0));
  EXPECT_TRUE(Has(cache, 1));
}

TEST_F(SliceCacheTest, WhatIsAheadIsWantedUntilTheLastReaderEnds) {
  const auto cache = SliceCache::Make(budget_, executor_, 0);
  cache->BeginReader("o");
  Add(*cache, 0);
  cache->BeginReader("o");
  cache->EndReader("o");
  EXPECT_TRUE(Has(cache, 0));
  cache->EndReader("o");
  EXPECT_FALSE(Has(cache, 0));
  EXPECT_EQ(budget_.in_use(), 0u);
}

// Closing a handle in the middle of a cached object went on from an entry that it had just dropped.
TEST_F(SliceCacheTest, AReaderMayEndWhereKeepingItsStripesDropsTheNextOnes) {
  const auto cache = SliceCache::Make(budget_, executor_, 3000);
  cache->BeginReader("o");
  for (const uint64_t stripe : {5, 4, 6}) {
    Add(*cache, stripe);
    cache->Used({"o", stripe});
  }
  for (const uint64_t stripe : {1, 2, 3}) Add(*cache, stripe);
  cache->EndReader("o");
  for (const uint64_t stripe : {1, 2, 3}) EXPECT_TRUE(Has(cache, stripe));
  for (const uint64_t stripe : {4, 5, 6}) EXPECT_FALSE(Has(cache, stripe));
  EXPECT_EQ(cache->kept_bytes(), 3000u);
  EXPECT_EQ(budget_.in_use(), 3000u);
}

TEST_F(SliceCacheTest, WhoNeedsMemoryGetsIt) {
  const auto cache = SliceCache::Make(budget_, executor_, 4000);
  for (uint64_t stripe = 0; stripe < 4; ++stripe) Add(*cache, stripe);
  for (uint64_t stripe = 0; stripe < 3; ++stripe) cache->Used({"o", stripe});
  // Not more than is missing, the oldest first.
  std::optional<ByteBudget::Lease> most = budget_.TryAcquire(7500);
  ASSERT_TRUE(most);
  EXPECT_FALSE(Has(cache, 0));
  EXPECT_FALSE(Has(cache, 1));
  EXPECT_TRUE(Has(cache, 2));
  // All of it when somebody has to wait, and nothing is added meanwhile.
  TaskScope scope;
  bool admitted = false;
  scope.Spawn([](ByteBudget& budget, bool& got) -> Task<void> {
    const Result<ByteBudget::Lease> lease = co_await budget.Acquire(3000);
    got = lease.has_value();
  }(budget_, admitted));
  EXPECT_FALSE(Has(cache, 2));
  EXPECT_FALSE(Has(cache, 3));
  ASSERT_TRUE(cache->Claim({"o", 5}));
  SliceCache::Value value;
  value.slices.emplace_back(Buffer::Allocate(1000, most->Split(1000)));
  cache->Arrived({"o", 5}, std::make_shared<const SliceCache::Value>(std::move(value)));
  EXPECT_FALSE(Has(cache, 5));
  most.reset();
  executor_.RunUntilTime(executor_.Now() + std::chrono::seconds(1));
  EXPECT_TRUE(admitted);
}

}  // namespace
}  // namespace xec
