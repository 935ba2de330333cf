// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/buffer_pool.hh"

#include <gtest/gtest.h>

#include "runtime/buffer.hh"

namespace xec {
namespace {

struct Taken {
  std::byte* data;
  size_t capacity;
};

std::vector<Taken> TakeMany(BufferPool& pool, size_t count, size_t bytes) {
  std::vector<Taken> taken;
  for (size_t i = 0; i < count; ++i) {
    const size_t capacity = BufferPool::CapacityFor(bytes);
    taken.push_back({pool.Take(capacity), capacity});
  }
  return taken;
}

void GiveAll(BufferPool& pool, const std::vector<Taken>& taken) {
  for (const Taken& one : taken) pool.Give(one.data, one.capacity);
}

TEST(BufferPool, CapacitiesAreWholePagesAndASixteenthMoreAtMost) {
  EXPECT_EQ(BufferPool::CapacityFor(0), kBufferAlignment);
  EXPECT_EQ(BufferPool::CapacityFor(1), kBufferAlignment);
  EXPECT_EQ(BufferPool::CapacityFor(kMiB), kMiB);
  for (size_t bytes = 1; bytes < 80 * kMiB; bytes += bytes / 7 + 1) {
    const size_t capacity = BufferPool::CapacityFor(bytes);
    EXPECT_GE(capacity, bytes);
    EXPECT_LE(capacity, bytes + bytes / 16 + kBufferAlignment) << bytes;
    EXPECT_EQ(capacity % kBufferAlignment, 0u);
    EXPECT_EQ(BufferPool::CapacityFor(capacity), capacity);
  }
  // A chunk with its header, with the end of its archive, and as it is read.
  EXPECT_EQ(BufferPool::CapacityFor(kMiB + 4096), BufferPool::CapacityFor(kMiB + 8192));
}

TEST(BufferPool, WhatWasInUseAtOnceIsKept) {
  BufferPool pool;
  const auto taken = TakeMany(pool, 100, kMiB);
  const std::byte* last = taken.back().data;
  GiveAll(pool, taken);
  EXPECT_EQ(pool.kept(), 100 * kMiB);
  const auto again = TakeMany(pool, 1, kMiB);
  EXPECT_EQ(again[0].data, last);
  EXPECT_EQ(pool.kept(), 99 * kMiB);
  GiveAll(pool, again);
}

TEST(BufferPool, KeepsNoMoreThanItsBound) {
  BufferPool pool;
  GiveAll(pool, TakeMany(pool, 2 * BufferPool::kKeptMax / kMiB, kMiB));
  EXPECT_EQ(pool.kept(), BufferPool::kKeptMax);
}

TEST(BufferPool, OtherSizesTakeThePlaceOfWhatIsKept) {
  BufferPool pool;
  GiveAll(pool, TakeMany(pool, 100, kMiB));
  const auto large = TakeMany(pool, 20, 3 * kMiB);
  EXPECT_LE(pool.kept(), 40 * kMiB);
  EXPECT_GE(pool.kept(), 39 * kMiB);
  GiveAll(pool, large);
  EXPECT_GE(pool.kept(), 97 * kMiB);
  EXPECT_LE(pool.kept(), 100 * kMiB);
  // All that is kept goes before the process takes more than it ever had.
  const auto most = TakeMany(pool, 10, 10 * kMiB);
  EXPECT_EQ(pool.kept(), 0u);
  GiveAll(pool, most);
}

TEST(BufferPool, WhatIsUsedNowIsKeptRatherThanWhatWasOnce) {
  BufferPool pool;
  GiveAll(pool, TakeMany(pool, 1000, kMiB));
  for (const size_t bytes : {3 * kMiB, kMiB / 2}) {
    GiveAll(pool, TakeMany(pool, 10, bytes));
    const auto again = TakeMany(pool, 10, bytes);
    EXPECT_LE(pool.kept(), BufferPool::kKeptMax - 10 * bytes) << "taken from what is kept";
    GiveAll(pool, again);
    EXPECT_LE(pool.kept(), BufferPool::kKeptMax);
  }
}

TEST(BufferPool, ALittleIsAlwaysKept) {
  BufferPool pool;
  for (const size_t bytes : {3 * kMiB, 5 * kMiB, 7 * kMiB}) GiveAll(pool, TakeMany(pool, 1, bytes));
  EXPECT_EQ(pool.kept(), 15 * kMiB);
}

}  // namespace
}  // namespace xec
