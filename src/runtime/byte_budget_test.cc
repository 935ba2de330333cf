// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <malloc.h>

#include <gtest/gtest.h>

#include "runtime/buffer.hh"
#include "runtime/thread_pool.hh"

namespace xec {
namespace {

Task<void> Take(ByteBudget& budget, uint64_t bytes, int id, std::vector<int>& order, ByteBudget::Lease& lease,
                ByteBudget::Use use = ByteBudget::Use::kOther) {
  Result<ByteBudget::Lease> got = co_await budget.Acquire(bytes, use);
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

// Found by AddressSanitizer: a request's buffer went after its operation, and the engine, had ended.
TEST(ByteBudget, ALeaseMayOutliveTheBudget) {
  ThreadPool pool("test", 1);
  std::optional<ByteBudget> budget(std::in_place, 100, pool);
  std::optional<ByteBudget::Lease> lease = budget->TryAcquire(60);
  ASSERT_TRUE(lease);
  ByteBudget::Lease part = lease->Split(20);
  budget.reset();
  lease->Release();
  EXPECT_EQ(part.bytes(), 20u);
}

TEST(ByteBudget, APartIsABudgetOfItsOwnAndGoesBackWithItsLastLease) {
  ThreadPool pool("test", 1);
  ByteBudget whole(100, pool);
  std::optional<ByteBudget> part(std::in_place, std::move(*whole.TryAcquire(60)), pool);
  EXPECT_EQ(part->limit(), 60u);
  std::optional<ByteBudget::Lease> lease = part->TryAcquire(50);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(part->TryAcquire(20));
  EXPECT_TRUE(whole.TryAcquire(40));
  part.reset();
  EXPECT_EQ(whole.in_use(), 60u) << "a request may still use it";
  lease->Release();
  EXPECT_EQ(whole.in_use(), 0u);
}

TEST(ByteBudget, UploadsLeaveAQuarterToOthers) {
  constexpr auto kUpload = ByteBudget::Use::kUpload;
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  std::vector<int> order;
  std::vector<ByteBudget::Lease> leases(5);
  {
    TaskScope scope;
    scope.Spawn(Take(budget, 40, 0, order, leases[0], kUpload));
    scope.Spawn(Take(budget, 40, 1, order, leases[1], kUpload));
    scope.Spawn(Take(budget, 10, 2, order, leases[2], kUpload));
    EXPECT_EQ(budget.waiting(), 2u) << "nor does a small upload overtake a large one";
    scope.Spawn(Take(budget, 50, 3, order, leases[3]));
    EXPECT_EQ(order, (std::vector<int>{0, 3})) << "who is no upload does not wait with them";
    auto rest = budget.TryAcquire(10);
    ASSERT_TRUE(rest);
    EXPECT_FALSE(budget.TryAcquire(1));
    rest->Release();
    scope.Spawn(Take(budget, 20, 4, order, leases[4]));
    EXPECT_EQ(budget.waiting(), 3u);
    leases[0].Release();
    leases[3].Release();
    scope.Drain();
  }
  EXPECT_EQ(budget.peak(), 100u);
  EXPECT_EQ(order.size(), 5u);
  leases.clear();
  EXPECT_EQ(budget.in_use(), 0u);
}

TEST(ByteBudget, OneUploadMayHaveAll) {
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  std::vector<int> order;
  std::vector<ByteBudget::Lease> leases(2);
  TaskScope scope;
  scope.Spawn(Take(budget, 100, 0, order, leases[0], ByteBudget::Use::kUpload));
  EXPECT_EQ(budget.in_use(), 100u);
  scope.Spawn(Take(budget, 100, 1, order, leases[1], ByteBudget::Use::kUpload));
  leases[0].Release();
  scope.Drain();
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
}

TEST(ByteBudget, RefusesWhatCanNeverFit) {
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  const auto acquire = [](ByteBudget& b) -> Task<bool> { co_return (co_await b.Acquire(101)).has_value(); };
  EXPECT_FALSE(SyncWait(acquire(budget)));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their malloc does not count
TEST(Buffer, WhatIsKeptForReuseMakesRoomForOtherSizes) {
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  constexpr size_t kPiece = 3 << 20, kLarge = 20 << 20, kSlack = 1 << 20;
  const size_t before = allocated();
  std::vector<std::shared_ptr<Buffer>> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(Buffer::Allocate(kPiece));
  pieces.clear();
  EXPECT_GE(allocated() - before, 8 * kPiece) << "kept";
  const auto large = Buffer::Allocate(kLarge);
  EXPECT_LE(allocated() - before, 8 * kPiece + kSlack);
}
#endif

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
