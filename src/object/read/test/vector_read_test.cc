// SPDX-License-Identifier: LGPL-3.0-or-later
#include <future>

#include <gtest/gtest.h>

#include "object/archives/archive_handle.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr Geometry kGeometry{4, 2, 64 * kKiB};

struct Vector {
  std::vector<std::pair<uint64_t, uint64_t>> pieces;  // offset, size
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& [offset, size] : pieces) bytes += size;
    return bytes;
  }
};

// Pieces of 1 byte to `size_max` anywhere in `span` bytes; some overlap.
Vector RandomVector(size_t count, uint64_t size_max, uint64_t span, uint64_t seed = 1) {
  Random random(seed);
  Vector vector;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t size = 1 + random.Below(size_max);
    vector.pieces.emplace_back(random.Below(span - size + 1), size);
  }
  return vector;
}

// The error, or whether the bytes are right.
Result<bool> ReadVector(ObjectReader& reader, const Vector& vector, const std::string& bytes) {
  std::vector<std::string> got;
  for (const auto& [offset, size] : vector.pieces) got.emplace_back(size, '?');
  std::vector<ObjectReader::Piece> pieces;
  for (size_t i = 0; i < got.size(); ++i)
    pieces.push_back({vector.pieces[i].first, std::as_writable_bytes(std::span(got[i]))});
  const Status status = SyncWait(reader.ReadVector(std::move(pieces)));
  if (!status) return status.error();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != bytes.substr(vector.pieces[i].first, vector.pieces[i].second)) return false;
  }
  return true;
}

struct Opened {
  Opened(TestStore& s, size_t size) : store(s), bytes(TestBytes(size)) {
    EXPECT_TRUE(store.Put("/o", bytes));
    store.Settle();
    reader = *store.OpenReader("/o");
  }
  bool Right(const Vector& vector) {
    const Result<bool> right = ReadVector(*reader, vector, bytes);
    EXPECT_TRUE(right) << right.error().ToString();
    return right && *right;
  }
  TestStore& store;
  std::string bytes;
  std::shared_ptr<ObjectReader> reader;
};

TEST(VectorReadTest, TakesOneRequestForEachArchive) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 100 * kGeometry.StripeSize() + 12'345);
  ASSERT_TRUE(TestStore::Read(*opened.reader, 0, 1));
  store.counts().Reset();
  const Vector vector = RandomVector(1024, 16 * kKiB, opened.bytes.size());
  EXPECT_TRUE(opened.Right(vector));
  store.Settle();
  // Ends of the archives that were not open yet, and the bytes.
  EXPECT_LE(store.counts().Of(Operation::kRead), 5u + 6u);
}

TEST(VectorReadTest, BytesOfOneChunkAndOfManyAreRight) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 9 * kGeometry.StripeSize() + 70'001);
  const uint64_t end = opened.bytes.size();
  EXPECT_TRUE(opened.Right({}));
  EXPECT_TRUE(opened.Right({{{0, 1}}}));
  EXPECT_TRUE(opened.Right({{{end - 1, 1}, {0, end}, {end / 2, 0}}}));
  EXPECT_TRUE(opened.Right({{{70'000, 10}, {70'000, 10}, {65'530, 12}, {70'005, 5000}}}));
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_TRUE(opened.Right(RandomVector(200, 100'000, end, seed)));
}

TEST(VectorReadTest, SmallObjectsToo) {
  TestStore store({.geometry = kGeometry});
  for (const size_t size : {1u, 4097u, 70'000u, 300'000u}) {
    Opened opened(store, size);
    EXPECT_TRUE(opened.Right(RandomVector(20, size, size)));
  }
}

TEST(VectorReadTest, APieceBeyondTheEndIsRefused) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 100'000);
  for (const auto& [offset, size] :
       {std::pair<uint64_t, uint64_t>{100'000, 1}, {99'999, 2}, {UINT64_MAX, 2}}) {
    const Result<bool> got = ReadVector(*opened.reader, {{{0, 10}, {offset, size}}}, opened.bytes);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.code(), Code::kInvalidArgument);
  }
}

TEST(VectorReadTest, WithServersDownAndBytesFlippedItIsRight) {
  for (const size_t bad : {0u, 2u, 4u}) {
    TestStore store({.geometry = kGeometry});
    Opened opened(store, 20 * kGeometry.StripeSize() + 70'000);
    const auto archives = store.Archives("/o");
    ASSERT_EQ(archives.size(), 6u);
    store.memory(archives[bad].first).SetDown(true);
    store.memory(archives[bad + 1].first).Tamper(archives[bad + 1].second, [](std::string& content) {
      for (size_t at = 1000; at < content.size(); at += 100'000) content[at] ^= 1;
    });
    for (uint64_t seed = 1; seed <= 3; ++seed)
      EXPECT_TRUE(opened.Right(RandomVector(300, 20'000, opened.bytes.size(), seed))) << bad;
  }
}

TEST(VectorReadTest, WhatIsLostIsSaid) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 20 * kGeometry.StripeSize());
  const auto archives = store.Archives("/o");
  for (size_t i = 0; i < 3; ++i)
    store.memory(archives[i].first).Tamper(archives[i].second, [](std::string& content) { content.clear(); });
  const Result<bool> got =
      ReadVector(*opened.reader, RandomVector(300, 20'000, opened.bytes.size()), opened.bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kDataLoss) << got.error().ToString();
}

// A vector that needs more memory than there is is read piece by piece.
TEST(VectorReadTest, WithLittleMemoryItIsRight) {
  EngineOptions engine = Patient();
  engine.memory_bytes = 600 * kKiB;
  TestStore store({.geometry = kGeometry, .engine = engine});
  Opened opened(store, 20 * kGeometry.StripeSize());
  EXPECT_TRUE(opened.Right(RandomVector(500, 30'000, opened.bytes.size())));
  EXPECT_LE(store.engine().budget().peak(), engine.memory_bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

// Of a small object: an archive fits that is read whole, and no piece beside it.
TEST(VectorReadTest, DoesNotWaitForTheMemoryThatItHolds) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, kGeometry.StripeSize());
  uint64_t archive = 0;
  for (const auto& [server, path] : store.Archives("/o"))
    store.memory(server).Tamper(path,
                                [&](std::string& content) { archive = std::max(archive, content.size()); });
  ASSERT_LE(archive, kWholeArchiveBytesMax);
  ByteBudget& budget = store.engine().budget();
  const uint64_t room = archive + kBufferAlignment;
  std::optional<ByteBudget::Lease> others = budget.TryAcquire(budget.limit() - budget.in_use() - room);
  ASSERT_TRUE(others);
  std::future<bool> right = std::async(
      std::launch::async, [&] { return opened.Right(RandomVector(20, 5000, opened.bytes.size())); });
  EXPECT_EQ(right.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  others.reset();
  EXPECT_TRUE(right.get());
}

}  // namespace
}  // namespace xec
