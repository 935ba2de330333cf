// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <gtest/gtest.h>

#include "runtime/buffer.hh"
#include "runtime/thread_pool.hh"

namespace xec {
namespace {

Task<void> Take(ByteBudget& budget, uint64_t bytes, int id, std::vector<int>& order,
                ByteBudget::Lease& lease) {
  Result<ByteBudget::Lease> got = co_await budget.Acquire(bytes);
  order.push_back(id);
  lease = std::move(got).value();
}

TEST(ByteBudget, AdmitsInOrderSoThatALargeRequestIsNotStarved) {
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  std::vector<int> order;
  std::vector<ByteBudget::Lease> leases(3);
  {
    TaskScope scope;
    auto first = budget.TryAcquire(60);
    ASSERT_TRUE(first);
    scope.Spawn(Take(budget, 90, 0, order, leases[0]));
    scope.Spawn(Take(budget, 10, 1, order, leases[1]));
    EXPECT_EQ(budget.waiting(), 2u);
    EXPECT_FALSE(budget.TryAcquire(10)) << "nobody overtakes a waiter";
    first->Release();
    scope.Drain();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  EXPECT_EQ(budget.in_use(), 100u);
  leases.clear();
  EXPECT_EQ(budget.in_use(), 0u);
  EXPECT_EQ(budget.peak(), 100u);
}

TEST(ByteBudget, RefusesWhatCanNeverFit) {
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  const auto acquire = [](ByteBudget& b) -> Task<bool> { co_return (co_await b.Acquire(101)).has_value(); };
  EXPECT_FALSE(SyncWait(acquire(budget)));
}

TEST(Buffer, ReleasesItsLeaseWithTheLastOwner) {
  ThreadPool pool("test", 1);
  ByteBudget budget(1 << 20, pool);
  Slice slice;
  {
    auto buffer = Buffer::Allocate(5000, std::move(*budget.TryAcquire(5000)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kBufferAlignment, 0u);
    slice = Slice(buffer, 100, 50);
  }
  EXPECT_EQ(budget.in_use(), 5000u);
  slice = {};
  EXPECT_EQ(budget.in_use(), 0u);
}

}  // namespace
}  // namespace xec
