// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/byte_budget.hh"

#include <gtest/gtest.h>

#include "runtime/buffer.hh"
#include "runtime/sync_wait.hh"
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

TEST(ByteBudget, APartIsABudgetOfItsOwnAndGoesBackAsItsLeasesDo) {
  ThreadPool pool("test", 1);
  ByteBudget whole(100, pool);
  std::optional<ByteBudget> part(std::in_place, std::move(*whole.TryAcquire(60)), pool);
  EXPECT_EQ(part->limit(), 60u);
  std::optional<ByteBudget::Lease> lease = part->TryAcquire(50);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(part->TryAcquire(20));
  EXPECT_TRUE(whole.TryAcquire(40));
  EXPECT_EQ(whole.in_use(), 60u);
  ByteBudget::Lease rest = lease->Split(20);
  part.reset();
  EXPECT_EQ(whole.in_use(), 50u) << "a request may still use it";
  rest.Release();
  EXPECT_EQ(whole.in_use(), 30u);
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

// What is held by uploads whose clients have stopped leaves room for what is under way.
TEST(ByteBudget, WhoNeedsMuchWaitsForUploadsWithoutHoldingUpOthers) {
  constexpr auto kUpload = ByteBudget::Use::kUpload;
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  ByteBudget::Lease claim = SyncWait(budget.Claim(60, kUpload));
  std::optional<ByteBudget::Lease> stopped = *SyncWait(budget.Acquire(60, kUpload));
  EXPECT_EQ(budget.claimed(), 60u);
  std::vector<int> order;
  std::vector<ByteBudget::Lease> leases(2);
  const auto take_much = [&](uint64_t bytes, int id) -> Task<void> {
    const ByteBudget::Lease claimed = co_await budget.Claim(bytes, ByteBudget::Use::kOther);
    co_await Take(budget, bytes, id, order, leases[static_cast<size_t>(id)]);
  };
  TaskScope scope;
  scope.Spawn(take_much(50, 0));
  scope.Spawn(take_much(25, 1));
  EXPECT_EQ(order, (std::vector<int>{1}));
  EXPECT_TRUE(budget.TryAcquire(15)) << "nor is anybody in line for memory";
  stopped.reset();
  leases[1].Release();
  EXPECT_EQ(order, (std::vector<int>{1})) << "the upload may take it again";
  claim.Release();
  scope.Drain();
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
  EXPECT_EQ(budget.claimed(), 0u);
}

// An upload that waits for others to end is overtaken by what does not.
TEST(ByteBudget, AnUploadThatWaitsToClaimHoldsUpNoLargeRequest) {
  constexpr auto kUpload = ByteBudget::Use::kUpload, kOther = ByteBudget::Use::kOther;
  ThreadPool pool("test", 1);
  ByteBudget budget(100, pool);
  ByteBudget::Lease first = SyncWait(budget.Claim(60, kUpload)), second;
  TaskScope scope;
  const auto claim = [](ByteBudget& from, uint64_t bytes, ByteBudget::Lease& into) -> Task<void> {
    into = co_await from.Claim(bytes, kUpload);
  };
  scope.Spawn(claim(budget, 30, second));
  EXPECT_EQ(budget.waiting_to_claim(), 1u);
  ByteBudget::Lease large = SyncWait(budget.Claim(35, kOther));
  EXPECT_EQ(large.bytes(), 10u);
  EXPECT_EQ(SyncWait(budget.Claim(101, kOther)).bytes(), 0u) << "more than there is";
  first.Release();
  scope.Drain();
  EXPECT_EQ(second.bytes(), 30u);
  EXPECT_EQ(SyncWait(budget.Claim(25, kOther)).bytes(), 0u) << "no more than a quarter";
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
