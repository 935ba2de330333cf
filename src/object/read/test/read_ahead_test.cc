// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "object/repair/test/test_repair.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr Geometry kGeometry{4, 2, 64 * kKiB};

struct Opened {
  explicit Opened(TestStore& s, size_t size) : store(s), bytes(TestBytes(size)) {
    EXPECT_TRUE(store.Put("/o", bytes));
    store.Settle();
    Result<std::shared_ptr<ObjectReader>> opened = store.OpenReader("/o");
    EXPECT_TRUE(opened);
    reader = *opened;
  }
  // Reads the whole object in pieces; true if all bytes were right.
  bool Stream(size_t piece) {
    bool right = true;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const Result<std::string> got = TestStore::Read(*reader, at, piece);
      right = right && got && *got == bytes.substr(at, piece);
    }
    return right;
  }
  TestStore& store;
  std::string bytes;
  std::shared_ptr<ObjectReader> reader;
};

TEST(ReadAheadTest, SequentialReadsFetchEveryChunkAboutOnce) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 20 * kGeometry.StripeSize() + 12'345);
  store.counts().Reset();
  EXPECT_TRUE(opened.Stream(10'000));
  store.Settle();
  // 20 stripes of 4 chunks and a short one, six ends of archives, and the first stripe by pages.
  EXPECT_LE(store.counts().Of(Operation::kRead), 20u * 4 + 1 + 6 + 40);
}

// A reader that closed its handle of an object threw away what other readers of it had fetched ahead.
TEST(ReadAheadTest, AnotherHandleThatClosesTakesNothingAway) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 20 * kGeometry.StripeSize());
  const size_t stripe = kGeometry.StripeSize();
  for (const size_t at : {size_t{0}, stripe}) ASSERT_TRUE(TestStore::Read(*opened.reader, at, stripe));
  store.Settle();
  {
    ASSERT_TRUE(store.OpenReader("/o"));
  }
  store.counts().Reset();
  EXPECT_TRUE(*TestStore::Read(*opened.reader, 2 * stripe, stripe) ==
              opened.bytes.substr(2 * stripe, stripe));
  store.Settle();
  EXPECT_LE(store.counts().Of(Operation::kRead), 4u) << "more than the next stripe, ahead";
}

TEST(ReadAheadTest, SparseReadsFetchOnlyTheirPages) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 20 * kGeometry.StripeSize());
  ASSERT_TRUE(TestStore::Read(*opened.reader, 0, 10));
  store.counts().Reset();
  for (const size_t stripe : {19u, 3u, 11u}) {
    const size_t at = stripe * kGeometry.StripeSize() + 100;
    EXPECT_TRUE(*TestStore::Read(*opened.reader, at, 10) == opened.bytes.substr(at, 10));
  }
  store.Settle();
  // One range each, and the ends of archives not open yet.
  EXPECT_LE(store.counts().Of(Operation::kRead), 3u + 3u);
}

TEST(ReadAheadTest, DegradedStreamsAreRight) {
  for (const size_t down : {0u, 1u, 2u, 3u}) {
    TestStore store({.geometry = kGeometry});
    Opened opened(store, 7 * kGeometry.StripeSize() + 70'000);
    const auto archives = store.Archives("/o");
    store.memory(archives[down].first).SetDown(true);
    store.memory(archives[down + 1].first).Tamper(archives[down + 1].second, [](std::string& content) {
      for (size_t at = 1000; at < content.size(); at += 100'000) content[at] ^= 1;
    });
    EXPECT_TRUE(opened.Stream(33'333)) << down;
  }
}

// A handle that stalls after read-ahead must not keep others from the memory for ever; here: from the rest of
// it.
TEST(ReadAheadTest, TightBudgetOnlyMeansLessOfIt) {
  EngineOptions engine;
  engine.memory_bytes = 600 * kKiB;
  TestStore store({.geometry = kGeometry, .engine = engine});
  Opened opened(store, 10 * kGeometry.StripeSize());
  Result<std::shared_ptr<ObjectReader>> other = store.OpenReader("/o");
  ASSERT_TRUE(other);
  for (size_t at = 0; at < opened.bytes.size(); at += 100'000) {
    for (ObjectReader* reader : {opened.reader.get(), other->get()}) {
      const Result<std::string> got = TestStore::Read(*reader, at, 100'000);
      ASSERT_TRUE(got) << got.error().ToString();
      EXPECT_TRUE(*got == opened.bytes.substr(at, 100'000));
    }
  }
  EXPECT_LE(store.engine().budget().peak(), engine.memory_bytes);
}

TEST(ReadAheadTest, WhatOneReaderHasReadCostsTheNextOnesNothing) {
  TestStore store({.geometry = kGeometry, .cache_bytes = 64 * kMiB});
  Opened first(store, 20 * kGeometry.StripeSize() + 12'345);
  EXPECT_TRUE(first.Stream(kGeometry.StripeSize() / 2));
  store.Settle();
  const Result<std::shared_ptr<ObjectReader>> second = store.OpenReader("/o");
  ASSERT_TRUE(second);
  ASSERT_TRUE((*second)->size() == first.bytes.size());
  store.counts().Reset();
  for (size_t at = 0; at < first.bytes.size(); at += kGeometry.StripeSize() / 2) {
    const Result<std::string> got = TestStore::Read(**second, at, kGeometry.StripeSize() / 2);
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got == first.bytes.substr(at, kGeometry.StripeSize() / 2));
  }
  store.Settle();
  EXPECT_EQ(store.counts().Of(Operation::kRead), 0u);
  EXPECT_EQ(store.counts().Of(Operation::kOpen), 0u);
}

TEST(ReadAheadTest, ReadersAtTheSameTimeShareWhatIsFetched) {
  TestStore store({.geometry = kGeometry, .cache_bytes = 64 * kMiB});
  Opened opened(store, 20 * kGeometry.StripeSize());
  store.counts().Reset();
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
      for (size_t at = 0; reader && at < opened.bytes.size(); at += 3 * kGeometry.StripeSize()) {
        const Result<std::string> got = TestStore::Read(**reader, at, 3 * kGeometry.StripeSize());
        wrong += got && *got == opened.bytes.substr(at, 3 * kGeometry.StripeSize()) ? 0 : 1;
      }
      wrong += reader ? 0 : 1;
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  store.Settle();
  // Every chunk once, and each reader the ends of its archives.
  EXPECT_LE(store.counts().Of(Operation::kRead), 20u * 4 + 6 * 6);
}

TEST(ReadAheadTest, AnotherVersionOfTheNameIsReadAnew) {
  TestStore store({.geometry = kGeometry, .cache_bytes = 64 * kMiB});
  Opened opened(store, 3 * kGeometry.StripeSize());
  EXPECT_TRUE(opened.Stream(kGeometry.StripeSize()));
  const std::string other = TestBytes(3 * kGeometry.StripeSize(), 2);
  ASSERT_TRUE(store.Put("/o", other));
  EXPECT_TRUE(*store.Get("/o") == other);
  EXPECT_TRUE(opened.Stream(kGeometry.StripeSize()));
}

TEST(ReadAheadTest, ArchivesAreRepairedWhileManifestsAreRemembered) {
  TestStore store({.geometry = kGeometry, .cache_bytes = 64 * kMiB});
  Opened opened(store, 3 * kGeometry.StripeSize());
  EXPECT_TRUE(opened.Stream(kGeometry.StripeSize()));
  const auto archives = store.Archives("/o");
  for (const size_t lane : {0u, 1u}) {
    const auto& [server, path] = archives[lane];
    store.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() / 2); });
    store.faults(server).SetFull(true);
    const Result<RepairReport> repaired = Repair(store);
    ASSERT_TRUE(repaired) << repaired.error().ToString();
    EXPECT_EQ(repaired->archives_made, 1u) << testing::PrintToString(repaired->problems);
    EXPECT_TRUE(*store.Get("/o") == opened.bytes);
  }
  ExpectWhole(store, opened.bytes);
  const Result<RepairReport> again = Repair(store);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->archives_bad, 0u);
}

TEST(ReadAheadTest, WhatIsKeptGoesToWhoNeedsMemory) {
  EngineOptions engine = Patient();
  engine.memory_bytes = 4 * kMiB;
  TestStore store({.geometry = kGeometry, .engine = engine, .cache_bytes = 2 * kMiB});
  Opened opened(store, 20 * kGeometry.StripeSize());
  EXPECT_TRUE(opened.Stream(kGeometry.StripeSize()));
  store.Settle();
  ASSERT_GT(store.engine().budget().in_use(), kMiB);
  const Result<ByteBudget::Lease> all = SyncWait(store.engine().budget().Acquire(4 * kMiB));
  ASSERT_TRUE(all);
  EXPECT_EQ(store.engine().stripes()->kept_bytes(), 0u);
}

TEST(ReadAheadTest, ManyStreamsOfOneHandle) {
  TestStore store({.geometry = kGeometry});
  Opened opened(store, 30 * kGeometry.StripeSize() + 999);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { wrong += opened.Stream(50'000 + static_cast<size_t>(i) * 1000) ? 0 : 1; });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  opened.reader.reset();
  EXPECT_TRUE(store.BudgetReturned());
}

}  // namespace
}  // namespace xec
