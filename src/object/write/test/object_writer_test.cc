// SPDX-License-Identifier: LGPL-3.0-or-later
// The writer's own promises: placement, requests, failures, limits, memory, giving up.
#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "commit/engine/access.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

TEST(ObjectWriterTest, SmallPutAndReadWithinTheirRequestBudgets) {
  TestStore store({.geometry = Geometry{8, 2, kMiB}, .servers = 12});
  const std::string bytes = TestBytes(27 * 1024);
  store.counts().Reset();
  ASSERT_TRUE(store.Put("/small", bytes));
  EXPECT_LE(store.counts().Total(), 19u) << testing::PrintToString(store.counts().ByName());
  EXPECT_EQ(store.counts().Of(Operation::kCreate), 3u);
  EXPECT_EQ(store.counts().Of(Operation::kWrite), 3u);
  store.Settle();
  EXPECT_EQ(store.Archives("/small").size(), 3u);

  store.counts().Reset();
  EXPECT_TRUE(*store.Get("/small") == bytes);
  store.Settle();
  EXPECT_LE(store.counts().Total(), 6u) << testing::PrintToString(store.counts().ByName());
  EXPECT_EQ(store.counts().Of(Operation::kClose), 1u);

  store.counts().Reset();
  WriteOptions exclusive;
  exclusive.only_if.absent = true;
  ASSERT_TRUE(store.Put("/exclusive", bytes, exclusive));
  EXPECT_LE(store.counts().Total(), 19u) << testing::PrintToString(store.counts().ByName());
}

TEST(ObjectWriterTest, EmptyObjectLiesOnAQuorumOfHomes) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/empty", ""));
  EXPECT_EQ(store.Archives("/empty").size(), 3u);
  const Result<std::string> read = store.Get("/empty");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(*read, "");
}

TEST(ObjectWriterTest, BytesThatAreNotThoseDeclaredReplaceNothing) {
  TestStore store({.geometry = kSmall});
  const std::string old = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", old));
  WriteOptions options;
  options.declared_checksums = {{"adler32", "062c0215"}, {"md5", "5d41402abc4b2a76b9719d911017c592"}};
  for (const size_t size : {0, 3, 100'000}) {
    const Result<Committed> refused = store.Put("/o", TestBytes(size), options);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << size;
    EXPECT_THAT(refused.error().message, HasSubstr("but 062c0215 was declared"));
    EXPECT_TRUE(*store.Get("/o") == old);
  }
  options.declared_checksums["sha3"] = "00";
  EXPECT_EQ(store.Put("/o", "hello", options).code(), Code::kInvalidArgument);
  options.declared_checksums.erase("sha3");
  const Result<Committed> committed = store.Put("/o", "hello", options);
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->checksums.at("md5"), "5d41402abc4b2a76b9719d911017c592");
  EXPECT_EQ(*store.Get("/o"), "hello");
}

TEST(ObjectWriterTest, ManifestSaysWhatWasWritten) {
  TestStore store({.geometry = kSmall});
  WriteOptions options;
  options.attributes = {{"color", "blue"}};
  options.settings.mode = 0640;
  options.digests.md5 = true;
  const Result<Committed> committed = store.Put("/o", "hello", options);
  ASSERT_TRUE(committed) << committed.error().ToString();
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  const Result<Manifest> manifest = SyncWait((*reader)->GetManifest());
  ASSERT_TRUE(manifest) << manifest.error().ToString();
  EXPECT_EQ(manifest->size_bytes, 5u);
  EXPECT_EQ(manifest->path, "/o");
  EXPECT_EQ(manifest->mode, 0640u);
  EXPECT_EQ(manifest->attributes, options.attributes);
  EXPECT_EQ(manifest->checksums, committed->checksums);
  EXPECT_EQ(manifest->checksums.at("md5"), "5d41402abc4b2a76b9719d911017c592");
  EXPECT_GT(manifest->mtime_ns, int64_t{1'600'000'000} * 1'000'000'000);
}

TEST(ObjectWriterTest, LongNamesAreKept) {
  TestStore store({.geometry = kSmall});
  const std::string path = "/" + std::string(250, 'x');
  ASSERT_TRUE(store.Put(path, "abc"));
  EXPECT_EQ(*store.Get(path), "abc");
}

TEST(ObjectWriterTest, ServersThatAreDownAreReplacedWhenItStarts) {
  TestStore store({.geometry = kSmall, .servers = 8});
  const std::string bytes = TestBytes(100'000);
  for (size_t down = 0; down + 1 < store.server_count(); ++down) {
    store.memory(down).SetDown(true);
    store.memory(down + 1).SetDown(true);
    const std::string path = fmt::format("/o{}", down);
    const Result<Committed> committed = store.Put(path, bytes);
    ASSERT_TRUE(committed) << committed.error().ToString();
    store.Settle();
    EXPECT_TRUE(*store.Get(path) == bytes);
    store.memory(down).SetDown(false);
    store.memory(down + 1).SetDown(false);
    EXPECT_EQ(store.Archives(path).size(), 6u);
    EXPECT_TRUE(*store.Get(path) == bytes);
    store.Settle();
  }
}

TEST(ObjectWriterTest, TooFewServersFailUnlessLessRedundancyIsAccepted) {
  TestStore store({.geometry = kSmall, .servers = 6});
  const std::string bytes = TestBytes(100'000);
  store.memory(5).SetDown(true);
  const Result<Committed> strict = store.Put("/strict", bytes);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.code(), Code::kUnavailable);
  EXPECT_THAT(strict.error().message, HasSubstr("s05"));
  store.Settle();

  WriteOptions options;
  options.archives_min = 5;
  const Result<Committed> lax = store.Put("/lax", bytes, options);
  ASSERT_TRUE(lax) << lax.error().ToString();
  store.Settle();
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/lax");
  ASSERT_TRUE(reader);
  EXPECT_EQ(SyncWait((*reader)->GetManifest())->debts.size(), 1u);
  EXPECT_TRUE(*store.Get("/lax") == bytes);
}

TEST(ObjectWriterTest, TooFewHomesIsNoQuorum) {
  TestStore store({.geometry = kSmall, .servers = 12});
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  for (size_t i = 0; i < 3; ++i) store.memory(homes[i]).SetDown(true);
  const Result<Committed> committed = store.Put("/o", TestBytes(100'000));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.code(), Code::kNoQuorum) << committed.error().message;
}

// Each mutating request of an upload fails once: the upload fails or works, never half.
TEST(ObjectWriterTest, FailedRequestsNeverShowHalfAnObject) {
  for (const Operation operation :
       {Operation::kCreate, Operation::kWrite, Operation::kSync, Operation::kClose}) {
    for (const FaultKind kind : {FaultKind::kFailBefore, FaultKind::kFailAfter}) {
      SCOPED_TRACE(OperationName(operation));
      TestStore store({.geometry = kSmall, .servers = 6});
      const std::string old_bytes = TestBytes(5000, 3);
      ASSERT_TRUE(store.Put("/o", old_bytes));
      FaultRule rule;
      rule.kind = kind;
      rule.operation = operation;
      rule.count = 1;
      // What was synced is whole whether or not its server answers.
      if (operation == Operation::kClose) rule.error = Fail(Code::kNoSpace, "what was written does not fit");
      store.faults(2).Add(rule);
      const Result<Committed> committed = store.Put("/o", TestBytes(100'000));
      EXPECT_FALSE(committed);
      store.Settle();
      EXPECT_TRUE(*store.Get("/o") == old_bytes);
      store.Settle();
      for (const auto& [server, path] : store.Archives("/o")) {
        EXPECT_EQ(path.find("/s."), std::string::npos) << "a seal is left: " << path;
      }
    }
  }
}

TEST(ObjectWriterTest, FullServersAreSaidSo) {
  TestStore store({.geometry = kSmall, .servers = 6});
  for (size_t i = 0; i < 6; ++i) store.faults(i).SetFull(true);
  const Result<Committed> committed = store.Put("/o", TestBytes(100'000));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.code(), Code::kNoSpace) << committed.error().message;
}

TEST(ObjectWriterTest, AWriterThatIsDroppedLeavesNothingVisible) {
  TestStore store({.geometry = kSmall});
  {
    Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(TestBytes(100'000)))));
  }
  store.Settle();
  EXPECT_EQ(store.Get("/o").code(), Code::kNotFound);
  EXPECT_TRUE(store.Archives("/o").empty());
  EXPECT_TRUE(store.BudgetReturned());
}

// An aborted seal, kept until the cleaner has come, made every attempt fail for the sake of the one before.
TEST(ObjectWriterTest, WhatWasGivenUpIsNoRivalOfExclusiveCreation) {
  TestStore store({.geometry = kSmall});
  WriteOptions exclusive;
  exclusive.only_if.absent = true;
  Result<std::unique_ptr<ObjectWriter>> plain = store.Start("/o");
  ASSERT_TRUE(plain);
  ASSERT_TRUE(SyncWait((*plain)->Append(AsBytes(TestBytes(100'000)))));
  EXPECT_EQ(store.Put("/o", "while another upload is under way", exclusive).code(), Code::kConflict);
  store.Settle();
  SyncWait((*plain)->Abandon());
  ASSERT_TRUE(store.Put("/o", "alone", exclusive));
  EXPECT_EQ(*store.Get("/o"), "alone");
}

TEST(ObjectWriterTest, AbandonedWriterTakesNothingMore) {
  TestStore store({.geometry = kSmall});
  Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o");
  ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes("abc"))));
  SyncWait((*writer)->Abandon());
  EXPECT_EQ(SyncWait((*writer)->Append(AsBytes("abc"))).code(), Code::kCancelled);
  EXPECT_EQ(SyncWait((*writer)->Commit()).code(), Code::kCancelled);
}

TEST(ObjectWriterTest, AnnouncedSizeIsKept) {
  TestStore store({.geometry = kSmall});
  WriteOptions options;
  options.size_hint = 10;
  Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o", options);
  ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes("12345"))));
  EXPECT_EQ(SyncWait((*writer)->Commit()).code(), Code::kInvalidArgument);
  writer = store.Start("/o", options);
  EXPECT_EQ(SyncWait((*writer)->Append(AsBytes("12345678901"))).code(), Code::kInvalidArgument);
  writer = store.Start("/o", options);
  ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes("1234567890"))));
  ASSERT_TRUE(SyncWait((*writer)->Commit()));
  store.Settle();
  EXPECT_EQ(*store.Get("/o"), "1234567890");
  // Far beyond the members an archive may have: chunks grow.
  options.size_hint = kMembersMax * kSmall.StripeSize() + 1;
  EXPECT_TRUE(store.Start("/large", options));
}

TEST(ObjectWriterTest, ExclusiveCreationMeetsWhatExists) {
  TestStore store({.geometry = kSmall});
  WriteOptions exclusive;
  exclusive.only_if.absent = true;
  ASSERT_TRUE(store.Put("/o", "first", exclusive));
  EXPECT_EQ(store.Put("/o", "second", exclusive).code(), Code::kAlreadyExists);
  EXPECT_EQ(*store.Get("/o"), "first");
}

TEST(ObjectWriterTest, StripesBeyondTheBudgetAreRefusedAtTheStart) {
  EngineOptions engine;
  engine.memory_bytes = kMiB;
  TestStore store({.geometry = Geometry{8, 2, kMiB}, .engine = engine});
  const Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.code(), Code::kInvalidArgument);
  EXPECT_THAT(writer.error().message, HasSubstr("budget"));
}

// Many writers and readers at once in a budget of two stripes: all finish, and the budget is kept.
TEST(ObjectWriterTest, ManyAtOnceWithinTheBudget) {
  EngineOptions engine;
  engine.memory_bytes = 2 * kMiB;
  TestStore store({.geometry = Geometry{4, 2, 64 * kKiB}, .engine = engine});
  std::vector<std::jthread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = fmt::format("/o{}", i);
      const std::string bytes =
          TestBytes(1'500'000 + static_cast<size_t>(i) * 1000, static_cast<uint64_t>(i));
      const Result<Committed> committed = store.Put(path, bytes);
      if (!committed || !(*store.Get(path) == bytes)) ++failures;
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_LE(store.engine().budget().peak(), engine.memory_bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

TEST(ObjectReaderTest, ManyClientsOfOneHandle) {
  TestStore store({.geometry = Geometry{4, 2, 64 * kKiB}});
  const std::string bytes = TestBytes(3'000'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  std::vector<std::jthread> threads;
  std::atomic<int> failures = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Random random(i);
      for (int n = 0; n < 40; ++n) {
        const size_t offset = random.Below(bytes.size());
        const size_t size = 1 + random.Below(300'000);
        const Result<std::string> piece = TestStore::Read(**reader, offset, size);
        if (!piece || *piece != bytes.substr(offset, size)) ++failures;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  reader = Fail(Code::kInternal, "closed");
  EXPECT_TRUE(store.BudgetReturned());
}

// The home that an exclusive creation asks first has nothing of /o any more.
void HideFromAskedHome(TestStore& store) {
  const MemberIndex asked = store.engine().Homes(TestStore::Path("/o")).front();
  for (const auto& [server, path] : store.Archives("/o")) {
    if (server != asked) continue;
    const DataServerPtr& target = store.engine().server(asked);
    ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), target, path)));
    ASSERT_TRUE(SyncWait(
        RemoveDirectory(store.engine().MetadataCall(), target, TestStore::Path("/o").ObjectDirectory())));
  }
}

bool ShowsSeal(TestStore& store) {
  const std::vector<std::pair<size_t, std::string>> archives = store.Archives("/o");
  return std::any_of(archives.begin(), archives.end(),
                     [](const auto& archive) { return archive.second.find("/e.") != std::string::npos; });
}

std::unique_ptr<ObjectWriter> StartExclusiveWriter(TestStore& store) {
  WriteOptions options;
  options.only_if.absent = true;
  Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o", std::move(options));
  return writer ? std::move(*writer) : nullptr;
}

// An exclusive creation of /o, which lives: the home that was asked does not show it.
std::unique_ptr<ObjectWriter> StartWhereItIsNotSeen(TestStore& store) {
  EXPECT_TRUE(store.Put("/o", "old"));
  store.Settle();
  HideFromAskedHome(store);
  return StartExclusiveWriter(store);
}

TEST(ObjectWriterTest, ASmallObjectIsToldAtItsEndThatTheNameIsTaken) {
  TestStore store({.geometry = kSmall});
  const std::unique_ptr<ObjectWriter> writer = StartWhereItIsNotSeen(store);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(SyncWait(writer->Append(AsBytes("new"))));
  EXPECT_EQ(SyncWait(writer->Commit()).code(), Code::kAlreadyExists);
  SyncWait(writer->Abandon());
  store.Settle();
  EXPECT_EQ(*store.Get("/o"), "old");
  EXPECT_FALSE(ShowsSeal(store));
}

TEST(ObjectWriterTest, ALargeObjectIsToldBeforeItsSecondStripeThatTheNameIsTaken) {
  TestStore store({.geometry = kSmall});
  const std::unique_ptr<ObjectWriter> writer = StartWhereItIsNotSeen(store);
  ASSERT_TRUE(writer);
  const std::string bytes = TestBytes(kSmall.StripeSize() + 1);
  const Status appended = SyncWait(writer->Append(AsBytes(bytes)));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.code(), Code::kAlreadyExists);
  EXPECT_EQ(SyncWait(writer->Commit()).code(), Code::kAlreadyExists);
  EXPECT_FALSE(ShowsSeal(store));  // nor is anything to be removed
  SyncWait(writer->Abandon());
  EXPECT_EQ(*store.Get("/o"), "old");
}

// Its version was chosen when it was begun, below a removal that could be forgotten before it ended: on a
// home that had not forgotten yet the removal would have won.
TEST(ObjectWriterTest, AnExclusiveCreationComesAfterARemovalThatItHasSeenComeAndGo) {
  for (const size_t size : {size_t{3}, kSmall.StripeSize() + 1}) {
    TestStore store({.geometry = kSmall});
    const std::unique_ptr<ObjectWriter> writer = StartExclusiveWriter(store);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait(writer->Append(AsBytes("n"))));
    const Result<Committed> other = store.Put("/o", "other");
    ASSERT_TRUE(other);
    ASSERT_TRUE(SyncWait(RemoveObject(store.engine(), TestStore::Path("/o"))));
    ASSERT_TRUE(SyncWait(writer->Append(AsBytes(TestBytes(size)))));
    const Result<Committed> committed = SyncWait(writer->Commit());
    ASSERT_TRUE(committed) << committed.error().ToString();
    EXPECT_LT(other->version.Removed(), committed->version);
    EXPECT_EQ(store.Get("/o")->size(), size + 1);
  }
}

TEST(ObjectWriterTest, AnExclusiveCreationGivesUpIfItsFirstArchiveWasLate) {
  EngineOptions options = Patient();
  options.operation_limit = Duration(-1);
  TestStore store({.geometry = kSmall, .engine = options});
  for (const size_t size : {size_t{3}, kSmall.StripeSize() + 1}) {
    std::unique_ptr<ObjectWriter> writer = StartExclusiveWriter(store);
    ASSERT_TRUE(writer);
    const Status appended = SyncWait(writer->Append(AsBytes(TestBytes(size))));
    EXPECT_EQ(appended.has_value(), size == 3);
    const Result<Committed> put = SyncWait(writer->Commit());
    ASSERT_FALSE(put);
    EXPECT_EQ(put.code(), Code::kConflict) << put.error().message;
    writer.reset();
    store.Settle();
    EXPECT_FALSE(ShowsSeal(store));
    EXPECT_TRUE(store.Put("/plain", TestBytes(size)));
  }
}

TEST(ObjectWriterTest, AnExclusiveCreationMayTakeLongOnceItsFirstArchiveIsThere) {
  EngineOptions options = Patient();
  options.operation_limit = std::chrono::seconds(1);
  TestStore store({.geometry = kSmall, .engine = options});
  const std::unique_ptr<ObjectWriter> writer = StartExclusiveWriter(store);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(SyncWait(writer->Append(AsBytes(TestBytes(kSmall.StripeSize() + 1)))));
  const TimePoint end = store.engine().executor().Now() + std::chrono::milliseconds(1100);
  while (store.engine().executor().Now() < end) std::this_thread::yield();
  ASSERT_TRUE(SyncWait(writer->Append(AsBytes("x"))));
  EXPECT_TRUE(SyncWait(writer->Commit()));
}

TEST(ObjectWriterTest, RequestsOfExclusiveCreations) {
  TestStore store({.geometry = kSmall});
  const auto cost = [&](const std::string& path, const std::string& bytes, bool exclusive,
                        Code refused = Code::kInternal) {
    WriteOptions options;
    options.only_if.absent = exclusive;
    store.counts().Reset();
    const Result<Committed> put = store.Put(path, bytes, options);
    EXPECT_TRUE(put ? refused == Code::kInternal : put.code() == refused) << path;
    return store.counts().Total();
  };
  const std::string large = TestBytes(3 * kSmall.StripeSize());
  EXPECT_EQ(cost("/large", large, true), cost("/plain", large, false) + 3);
  EXPECT_EQ(cost("/large", large, true, Code::kAlreadyExists), 4u);
  ASSERT_TRUE(SyncWait(RemoveObject(store.engine(), TestStore::Path("/large"))));
  EXPECT_EQ(cost("/large", "s", true), cost("/small", "s", true) + 3);
}

}  // namespace
}  // namespace xec
