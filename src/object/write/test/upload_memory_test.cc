// SPDX-License-Identifier: LGPL-3.0-or-later
// What uploads, and what is done beside them, wait for when memory is short: never for what they hold
// themselves.
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "object/test/test_upload.hh"
#include "object/write/stripe_buffer.hh"
#include "runtime/sync_wait.hh"
#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

TEST(UploadMemoryTest, TheFirstStripeMayBeReservedBefore) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  const auto in_use = [&] { return store.engine().budget().in_use(); };
  for (const bool abandon : {false, true}) {
    Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait((*writer)->Reserve()));
    const uint64_t reserved = in_use();
    EXPECT_GE(reserved, kSmall.Total() * kSmall.chunk_size_bytes);
    if (abandon) {
      SyncWait((*writer)->Abandon());
      EXPECT_TRUE(store.BudgetReturned());
      continue;
    }
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(0, 1)))));
    EXPECT_EQ(in_use(), reserved);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(1)))));
    ASSERT_TRUE(SyncWait((*writer)->Commit()));
    EXPECT_TRUE(*store.Get("/o") == bytes);
  }
  EXPECT_TRUE(store.BudgetReturned());
}

uint64_t BytesOfAReservedStripe() {
  TestStore store({.geometry = kSmall});
  const std::unique_ptr<ObjectWriter> writer = std::move(*store.Start("/o"));
  EXPECT_TRUE(SyncWait(writer->Reserve()));
  return store.engine().budget().in_use();
}

// As a gateway whose client fills many files in turn over one connection: it sends nothing to one while
// another one waits.
TEST(UploadMemoryTest, UploadsOfOneClientDoNotWaitForEachOther) {
  EngineOptions engine = Patient();
  engine.memory_bytes = 10 * BytesOfAReservedStripe() / 3;  // two stripes and a half for uploads
  TestStore store({.geometry = kSmall, .engine = engine});
  const std::string bytes = TestBytes(3 * kSmall.StripeSize());
  const ByteSpan all = AsBytes(std::string_view(bytes));
  std::vector<std::unique_ptr<ObjectWriter>> writers;
  for (const char* path : {"/a", "/b", "/c"}) writers.push_back(std::move(*store.Start(path)));
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(SyncWait(writers[i]->Reserve()));
    ASSERT_TRUE(SyncWait(writers[i]->Append(all.first(100))));
  }
  std::future<Status> third = std::async(std::launch::async, [&] { return SyncWait(writers[2]->Reserve()); });
  while (store.engine().budget().waiting_to_claim() == 0) std::this_thread::yield();
  std::future<bool> client = std::async(std::launch::async, [&] {
    for (size_t i = 0; i < 2; ++i) {
      const Status appended = SyncWait(writers[i]->Append(all.subspan(100)));
      if (!appended || !SyncWait(writers[i]->Commit())) return false;
    }
    return true;
  });
  EXPECT_EQ(client.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_TRUE(client.get());
  EXPECT_TRUE(third.get());
  writers.clear();
  EXPECT_TRUE(*store.Get("/a") == bytes && *store.Get("/b") == bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

// A version chosen, or a look made, before memory was waited for may be old when it is there.
TEST(UploadMemoryTest, AnExclusiveCreationLooksOnceItsFirstStripeHasMemory) {
  EngineOptions engine = Patient();
  engine.memory_bytes = 10 * BytesOfAReservedStripe() / 3;
  TestStore store({.geometry = kSmall, .engine = engine});
  const std::string bytes = TestBytes(3 * kSmall.StripeSize());
  const ByteSpan all = AsBytes(std::string_view(bytes));
  std::vector<std::unique_ptr<ObjectWriter>> holders;
  for (const char* path : {"/a", "/b"}) {
    holders.push_back(std::move(*store.Start(path)));
    ASSERT_TRUE(SyncWait(holders.back()->Reserve()));
    ASSERT_TRUE(SyncWait(holders.back()->Append(all.first(100))));
  }
  WriteOptions exclusive;
  exclusive.only_if.absent = true;
  const std::unique_ptr<ObjectWriter> writer = std::move(*store.Start("/o", exclusive));
  std::future<Status> appended =
      std::async(std::launch::async, [&] { return SyncWait(writer->Append(all)); });
  while (store.engine().budget().waiting_to_claim() == 0)
    ASSERT_EQ(appended.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  store.counts().Reset();
  for (const auto& holder : holders) SyncWait(holder->Abandon());
  ASSERT_TRUE(appended.get());
  EXPECT_GE(store.counts().Of(Operation::kList), 3u);
  EXPECT_TRUE(SyncWait(writer->Commit()));
}

TEST(UploadMemoryTest, APlaceIsKeptUntilAllIsSealed) {
  TestStore store({.geometry = kSmall, .engine = Patient()});
  ByteBudget& budget = store.engine().budget();
  const std::string bytes = TestBytes(3 * kStripe);
  for (const bool commit : {true, false}) {
    ASSERT_TRUE(store.BudgetReturned());  // what the one before has left in the background
    const std::unique_ptr<ObjectWriter> writer = std::move(*store.Start("/o"));
    EXPECT_FALSE(writer->KeepPlace());
    ASSERT_TRUE(SyncWait(writer->Reserve()));
    ASSERT_TRUE(writer->KeepPlace());
    const uint64_t place = budget.claimed();
    EXPECT_EQ(place, budget.in_use());
    ASSERT_TRUE(SyncWait(writer->Append(AsBytes(std::string_view(bytes)))));
    EXPECT_EQ(budget.claimed(), place);
    if (commit) {
      ASSERT_TRUE(SyncWait(writer->Commit()));
    } else {
      SyncWait(writer->Abandon());
    }
    EXPECT_EQ(budget.claimed(), 0u);
  }
  EXPECT_TRUE(store.BudgetReturned());
}

// What a front end holds for an upload counts as long as the upload has its place.
TEST(UploadMemoryTest, WhatAFrontEndHoldsIsCounted) {
  TestStore store({.geometry = kSmall, .engine = Patient()});
  ByteBudget& budget = store.engine().budget();
  const uint64_t stripe = BytesOfAReservedStripe();
  const std::string bytes = TestBytes(3 * kStripe);
  const ByteSpan all = AsBytes(std::string_view(bytes));
  WriteOptions options;
  options.bytes_beside = budget.limit() / 100;
  for (const bool reserve : {true, false}) {
    const std::unique_ptr<ObjectWriter> writer = std::move(*store.Start("/o", options));
    if (reserve) {
      ASSERT_TRUE(SyncWait(writer->Reserve()));
      EXPECT_EQ(budget.in_use(), stripe + options.bytes_beside);
    }
    ASSERT_TRUE(SyncWait(writer->Append(all)));
    EXPECT_EQ(budget.claimed(), stripe + options.bytes_beside);
    EXPECT_GE(budget.in_use(), options.bytes_beside);
    ASSERT_TRUE(SyncWait(writer->Commit()));
    EXPECT_EQ(budget.claimed(), 0u);
    ASSERT_TRUE(store.BudgetReturned());
  }
  // Of a small object it holds no more than that has.
  options.size_hint = 10'000;
  const std::unique_ptr<ObjectWriter> small = std::move(*store.Start("/p", options));
  ASSERT_TRUE(SyncWait(small->Reserve()));
  EXPECT_LE(budget.in_use(), stripe + 10'000);
  EXPECT_GE(budget.in_use(), 20'000u);
  // Nor is much of a small budget taken for it.
  EngineOptions engine = Patient();
  engine.memory_bytes = budget.limit() / 2;
  TestStore tight({.geometry = kSmall, .engine = engine});
  options.size_hint.reset();
  const std::unique_ptr<ObjectWriter> alone = std::move(*tight.Start("/o", options));
  ASSERT_TRUE(SyncWait(alone->Reserve()));
  EXPECT_EQ(tight.engine().budget().in_use(), stripe);
}

// It has memory for a stripe, and needs some for the ends of its archives.
TEST(UploadMemoryTest, AnEmptyUploadDoesNotWaitForItsOwnReservation) {
  TestStore store({.geometry = kSmall, .engine = Patient()});
  const std::unique_ptr<ObjectWriter> writer = std::move(*store.Start("/o"));
  ASSERT_TRUE(SyncWait(writer->Reserve()));
  ByteBudget& budget = store.engine().budget();
  const auto others = budget.TryAcquire(budget.limit() - budget.in_use());
  ASSERT_TRUE(others);
  std::future<bool> done =
      std::async(std::launch::async, [&] { return SyncWait(writer->Commit()).has_value(); });
  EXPECT_EQ(done.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_TRUE(done.get());
}

TEST(StripeReservationTest, IsGivenBackWhenNobodyTakesIt) {
  VirtualExecutor executor;
  ByteBudget budget(100, executor);
  StripeReservation reservation, taken, kept;
  reservation.Put({SyncWait(budget.Claim(10, ByteBudget::Use::kUpload)), std::move(*budget.TryAcquire(10))},
                  executor);
  taken.Put({SyncWait(budget.Claim(20, ByteBudget::Use::kUpload)), std::move(*budget.TryAcquire(20))},
            executor);
  const ByteBudget::Claimed leases = taken.Take();
  EXPECT_EQ(leases.memory.bytes(), 20u);
  EXPECT_EQ(leases.claim.bytes(), 20u);
  EXPECT_EQ(executor.timers(), 2u) << "those of the other reservation";
  kept.Put({SyncWait(budget.Claim(5, ByteBudget::Use::kUpload)), std::move(*budget.TryAcquire(5))}, executor);
  EXPECT_TRUE(kept.KeepClaim());
  executor.RunUntilTime(executor.Now() + StripeReservation::kReservationMax / 2);
  EXPECT_EQ(budget.in_use(), 35u);
  EXPECT_EQ(budget.claimed(), 35u);
  executor.RunUntilTime(executor.Now() + StripeReservation::kReservationMax);
  EXPECT_EQ(budget.in_use(), 20u);
  EXPECT_EQ(budget.claimed(), 25u) << "who has come keeps its place";
  EXPECT_FALSE(reservation.KeepClaim());
  EXPECT_EQ(reservation.Take().memory.bytes(), 0u);
  executor.RunUntilTime(executor.Now() + StripeReservation::kPlaceMax);
  EXPECT_EQ(budget.claimed(), 20u) << "unless it sends nothing";
}

// It needs more than a quarter, and waits for the upload to end without being in anybody's way.
TEST(UploadMemoryTest, ALargeRequestBesideAStalledUploadHoldsNobodyUp) {
  EngineOptions engine = Patient();
  engine.memory_bytes = BytesOfAReservedStripe() + 64 * kKiB;
  TestStore store({.geometry = kSmall, .engine = engine});
  ASSERT_TRUE(store.Put("/o", TestBytes(kStripe)));
  ASSERT_TRUE(store.BudgetReturned());
  std::shared_ptr<ObjectReader> reader = *store.OpenReader("/o");
  const std::unique_ptr<ObjectWriter> stalled = std::move(*store.Start("/stalled"));
  ASSERT_TRUE(SyncWait(stalled->Append(AsBytes(std::string_view("begun")))));
  std::future<Status> verified =
      std::async(std::launch::async, [&] { return SyncWait(reader->Verify([](const ChunkReport&) {})); });
  ByteBudget& budget = store.engine().budget();
  while (budget.waiting() + budget.waiting_to_claim() == 0) std::this_thread::yield();
  EXPECT_EQ(budget.waiting(), 0u);
  EXPECT_TRUE(budget.TryAcquire(16 * kKiB));
  SyncWait(stalled->Abandon());
  EXPECT_TRUE(verified.get());
  EXPECT_TRUE(store.BudgetReturned());
}

// An object of one stripe is held in memory until all its archives are sealed, and they may be sealed twice.
TEST(UploadMemoryTest, ASmallObjectIsSealedAgainWhileOthersWaitForItsMemory) {
  TestStore::Options options = Impatient(9);
  options.engine.memory_bytes = 140 * kKiB;
  TestStore store(options);
  ASSERT_TRUE(store.Put("/o", TestBytes(20'000)));
  const size_t bad = store.Archives("/o").front().first;
  FaultRule rule;
  rule.operation = Operation::kSync;
  rule.count = 1;
  store.faults(bad).Add(rule);
  Upload upload(store, 20'000);
  upload.FirstHalf();
  upload.SecondHalf();
  ByteBudget& budget = store.engine().budget();
  auto other =
      std::async(std::launch::async, [&] { return SyncWait(budget.Acquire(budget.limit())).has_value(); });
  while (budget.waiting() == 0) std::this_thread::yield();
  auto commit = std::async(std::launch::async, [&] { return upload.Commit(); });
  XEC_CHECK(commit.wait_for(std::chrono::seconds(60)) == std::future_status::ready,
            "the upload waits for ever");
  const Result<Committed> committed = commit.get();
  EXPECT_TRUE(committed) << committed.error().ToString();
  EXPECT_TRUE(other.get());
  ExpectWhole(store, {bad}, upload.bytes());
  EXPECT_TRUE(store.BudgetReturned());
}

// An upload that waited for memory did not look after its writes: the stripe that a hung server kept in
// memory was what it waited for, until the server's deadline.
TEST(UploadMemoryTest, AHungServerKeepsAChunkInMemoryAndNoStripe) {
  TestStore::Options options = Impatient();
  StripeBuffer::Shape stripe{.geometry = kSmall, .data_bytes_max = kStripe};
  options.engine.memory_bytes = stripe.BufferBytes() + 64 * kKiB;  // the least that is accepted
  TestStore store(options);
  Upload upload(store, 8 * kStripe + 11'111);
  upload.FirstHalf();
  const size_t bad = upload.Servers()[2];
  store.faults(bad).Add({.kind = FaultKind::kHang});
  auto rest = std::async(std::launch::async, [&] {
    upload.SecondHalf();
    return upload.Commit();
  });
  XEC_CHECK(rest.wait_for(std::chrono::seconds(60)) == std::future_status::ready,
            "the upload waits for what it keeps itself");
  const Result<Committed> committed = rest.get();
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_LT(store.engine().budget().in_use(), stripe.BufferBytes());
  ExpectWhole(store, {bad}, upload.bytes());
  store.faults(bad).DropHung();
  EXPECT_TRUE(store.BudgetReturned());
}

// Its client sends nothing for a while, so that nobody looks after the writes.
TEST(UploadMemoryTest, AnIdleUploadKeepsAChunkOfALateServerInMemoryAndNoStripe) {
  const uint64_t stripe = StripeBuffer::Shape{.geometry = kSmall, .data_bytes_max = kStripe}.BufferBytes();
  TestStore store(Impatient());
  Upload upload(store, 5 * kStripe);
  upload.Append(0, 3 * kStripe);
  const size_t bad = upload.Servers()[2];
  store.faults(bad).Add({.kind = FaultKind::kHang});
  upload.Append(3 * kStripe, 5 * kStripe);
  ByteBudget& budget = store.engine().budget();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (budget.in_use() >= stripe && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_LT(budget.in_use(), stripe);
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  ExpectWhole(store, {bad}, upload.bytes());
  store.faults(bad).DropHung();
  EXPECT_TRUE(store.BudgetReturned());
}

// One more server than there is parity lacks the stripe: memory is the only place that has it.
TEST(UploadMemoryTest, AnIdleUploadKeepsWhatTooFewServersHave) {
  std::vector<std::pair<size_t, std::string>> lanes;
  {
    TestStore same(Impatient(12));
    ASSERT_TRUE(same.Put("/o", TestBytes(2 * kStripe)));
    lanes = same.Archives("/o");
  }
  ASSERT_EQ(lanes.size(), kSmall.Total());
  const std::vector<size_t> servers = {lanes[0].first, lanes[1].first, lanes[2].first};
  TestStore store(Impatient(12));
  for (const size_t server : servers)
    store.faults(server).Add({.kind = FaultKind::kHang, .operation = Operation::kWrite});
  Upload upload(store, 2 * kStripe);
  upload.Append(0, kStripe + 100);
  store.faults(servers[0]).DropHung();  // an error
  OneShot<bool> idle;
  Executor& executor = store.engine().executor();
  executor.RunAt(executor.Now() + 10 * store.engine().options().failover_delay,
                 [set = idle.Setter()] { set(true); });
  const auto wait = [](OneShot<bool>& event) -> Task<void> { co_await event; };
  SyncWait(wait(idle));
  upload.Append(kStripe + 100, 2 * kStripe);
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  ExpectWhole(store, servers, upload.bytes());
  for (const size_t server : servers) {
    store.faults(server).Clear();
    store.faults(server).DropHung();
  }
  EXPECT_TRUE(store.BudgetReturned());
}

}  // namespace
}  // namespace xec
