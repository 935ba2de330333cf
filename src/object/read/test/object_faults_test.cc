// SPDX-License-Identifier: LGPL-3.0-or-later
// Lost and damaged archives, servers that fail while an object is written or read, and what is said then.
#include <bit>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/layout.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

std::string MustPut(TestStore& store, const std::string& path, size_t size, WriteOptions options = {}) {
  std::string bytes = TestBytes(size, size);
  const Result<Committed> committed = store.Put(path, bytes, std::move(options));
  EXPECT_TRUE(committed) << committed.error().ToString();
  store.Settle();
  return bytes;
}

class ErasureTest : public testing::TestWithParam<size_t> {};

// All subsets of up to m servers away, for whole reads and for a range inside.
TEST_P(ErasureTest, AnyServersUpToM) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", GetParam());
  for (uint32_t away = 0; away < (1u << store.server_count()); ++away) {
    if (std::popcount(away) > 2) continue;
    for (size_t i = 0; i < store.server_count(); ++i) store.memory(i).SetDown((away >> i) & 1);
    Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
    ASSERT_TRUE(reader) << reader.error().ToString();
    const size_t from = bytes.size() / 3;
    const Result<std::string> piece = TestStore::Read(**reader, from, 10'000);
    ASSERT_TRUE(piece) << piece.error().ToString();
    EXPECT_TRUE(*piece == bytes.substr(from, 10'000)) << "away " << away;
    const Result<std::string> whole = TestStore::Read(**reader, 0, bytes.size());
    ASSERT_TRUE(whole) << whole.error().ToString();
    EXPECT_TRUE(*whole == bytes) << "away " << away;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ErasureTest,
                         testing::Values(1, 5000, 8 * kKiB, 20'000, 4 * 8 * kKiB, 3 * 4 * 8 * kKiB + 13'000));

TEST(FaultsTest, EveryArchiveRemovedInTurn) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 100'000);
  const auto archives = store.Archives("/o");
  ASSERT_EQ(archives.size(), 6u);
  for (const auto& [first, first_path] : archives) {
    for (const auto& [second, second_path] : archives) {
      const auto before_first = store.memory(first).Take();
      const auto before_second = store.memory(second).Take();
      Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
      ASSERT_TRUE(reader);
      store.memory(first).Wipe();
      store.memory(second).Wipe();
      const Result<std::string> whole = TestStore::Read(**reader, 0, bytes.size());
      ASSERT_TRUE(whole) << whole.error().ToString();
      EXPECT_TRUE(*whole == bytes);
      reader = Fail(Code::kInternal, "closed");
      store.Settle();
      store.memory(second).Restore(before_second);
      store.memory(first).Restore(before_first);
    }
  }
}

// Flips a bit at many places of every archive: all of the structure, samples of the data.
TEST(FaultsTest, FlippedBitsAnywhereAreCorrected) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 4 * 8 * kKiB + 9000);
  size_t flips = 0;
  for (const auto& [server, path] : store.Archives("/o")) {
    const size_t size = store.memory(server).Content(path)->size();
    for (size_t at = 0; at < size; at += (at < 200 || at + 1500 > size) ? 7 : 997) {
      const auto flip = [at](std::string& content) { content[at] = static_cast<char>(content[at] ^ 0x10); };
      ASSERT_TRUE(store.memory(server).Tamper(path, flip));
      const Result<std::string> read = store.Get("/o");
      ASSERT_TRUE(read) << read.error().ToString() << " at " << at << " of " << path;
      ASSERT_TRUE(*read == bytes) << "at " << at << " of " << path;
      store.Settle();
      ASSERT_TRUE(store.memory(server).Tamper(path, flip));
      ++flips;
    }
  }
  EXPECT_GT(flips, 500u);
}

TEST(FaultsTest, ArchiveCutShortFilledWithNoiseOrOfAnotherObject) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 100'000);
  MustPut(store, "/other", 100'000);
  const auto archives = store.Archives("/o");
  const auto others = store.Archives("/other");
  const auto& [cut, cut_path] = archives[0];
  const auto& [noisy, noisy_path] = archives[1];
  store.memory(cut).Tamper(cut_path, [](std::string& content) { content.resize(content.size() / 2); });
  store.memory(noisy).Tamper(noisy_path,
                             [](std::string& content) { content = TestBytes(content.size(), 99); });
  EXPECT_TRUE(*store.Get("/o") == bytes);
  const std::string other = *store.memory(others[0].first).Content(others[0].second);
  store.memory(noisy).Tamper(noisy_path, [&](std::string& content) { content = other; });
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

// Makes the archives that hold these lanes unreadable by `spoil(server)`.
void SpoilServersOf(TestStore& store, const std::string& path, size_t count,
                    const std::function<void(size_t, std::string)>& spoil) {
  const auto archives = store.Archives(path);
  for (size_t i = 0; i < count; ++i) spoil(archives[i].first, archives[i].second);
}

TEST(FaultsTest, TooFewGoodChunksIsDataLossThatNamesThem) {
  TestStore store({.geometry = kSmall});
  MustPut(store, "/o", 100'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  SpoilServersOf(store, "/o", 3, [&](size_t server, const std::string& path) {
    store.memory(server).Tamper(path, [](std::string& content) {
      for (size_t at = 100; at + 2000 < content.size(); at += 50) content[at] ^= 1;
    });
  });
  const Result<std::string> read = TestStore::Read(**reader, 0, 100'000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.code(), Code::kDataLoss);
  EXPECT_THAT(read.error().message, HasSubstr("stripe 0 of /o"));
  EXPECT_THAT(read.error().message, HasSubstr(" on s0"));
}

TEST(FaultsTest, UnreachableServersAreNotDataLoss) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 100'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  SpoilServersOf(store, "/o", 3,
                 [&](size_t server, const std::string&) { store.memory(server).SetDown(true); });
  const Result<std::string> read = TestStore::Read(**reader, 0, 100'000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.code(), Code::kUnavailable) << read.error().message;
  EXPECT_THAT(read.error().message, HasSubstr("now"));
}

TEST(FaultsTest, ServersThatFailWhileAReaderIsOpen) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 300'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  const auto archives = store.Archives("/o");
  for (size_t i = 0; i < 10; ++i) {
    if (i == 3) store.memory(archives[0].first).SetDown(true);
    if (i == 6) store.memory(archives[3].first).Restart();
    const Result<std::string> piece = TestStore::Read(**reader, i * 30'000, 30'000);
    ASSERT_TRUE(piece) << piece.error().ToString();
    EXPECT_TRUE(*piece == bytes.substr(i * 30'000, 30'000)) << i;
  }
}

TEST(FaultsTest, OldReaderKeepsItsVersionWhenTheNameIsReplacedAndRemoved) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 200'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  EXPECT_TRUE(*TestStore::Read(**reader, 0, 1000) == bytes.substr(0, 1000));
  const std::string second = MustPut(store, "/o", 150'000);
  EXPECT_TRUE(*TestStore::Read(**reader, 0, 200'000) == bytes);
  EXPECT_TRUE(*store.Get("/o") == second);
  ASSERT_TRUE(SyncWait(RemoveObject(store.engine(), TestStore::Path("/o"))));
  EXPECT_TRUE(*TestStore::Read(**reader, 0, 200'000) == bytes);
  EXPECT_EQ(store.Get("/o").code(), Code::kNotFound);
}

// Archives that are still sealed (a writer died between promotions) are found all the same.
TEST(FaultsTest, ArchivesNotPromotedYetAreFound) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = MustPut(store, "/o", 100'000);
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  size_t renamed = 0;
  for (const auto& [server, path] : store.Archives("/o")) {
    if (Contains(homes, server)) continue;
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    const std::optional<State> state = ParseState(path.substr(path.rfind('/') + 1));
    ASSERT_TRUE(state);
    const std::string sealed = directory + FormatState(SealedState(state->oid));
    const DataServerPtr target = store.engine().server(static_cast<MemberIndex>(server));
    ASSERT_TRUE(SyncWait(Rename(store.engine().MetadataCall(), target, path, sealed)));
    ++renamed;
  }
  EXPECT_EQ(renamed, 1u);
  store.memory(homes[0]).SetDown(true);
  store.memory(homes[1]).SetDown(true);
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

TEST(FaultsTest, LateChunksAreHedged) {
  EngineOptions engine;
  engine.hedge_delay = std::chrono::milliseconds(20);
  TestStore store({.geometry = kSmall, .engine = engine});
  const std::string bytes = MustPut(store, "/o", 100'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  const auto archives = store.Archives("/o");
  for (const size_t i : {size_t{0}, size_t{2}}) {
    store.faults(archives[i].first).Add({.kind = FaultKind::kHang, .operation = Operation::kRead});
  }
  const Result<std::string> read = TestStore::Read(**reader, 0, 100'000);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(*read == bytes);
  for (size_t i = 0; i < store.server_count(); ++i) store.faults(i).DropHung();
}

TEST(FaultsTest, VerifyNamesEveryDamagedChunk) {
  TestStore store({.geometry = kSmall});
  MustPut(store, "/o", 3 * 4 * 8 * kKiB + 7);
  const auto archives = store.Archives("/o");
  const auto& [server, path] = archives[2];
  store.memory(server).Tamper(path, [](std::string& content) { content[3000] ^= 1; });
  store.memory(archives[4].first).SetDown(true);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  std::map<ChunkHealth, size_t> found;
  size_t chunks = 0;
  const Status status = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
    ++chunks;
    ++found[report.health];
    if (report.health == ChunkHealth::kCorrupt) {
      EXPECT_EQ(report.server, server);
      EXPECT_EQ(report.archive_path, path);
      EXPECT_EQ(report.stripe, 0u);
    }
    EXPECT_EQ(report.problem.empty(), report.health == ChunkHealth::kGood);
  }));
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(chunks, 3 * 6 + 3u);
  EXPECT_EQ(found[ChunkHealth::kCorrupt], 1u);
  EXPECT_GE(found[ChunkHealth::kUnavailable], 3u);
  EXPECT_EQ(found[ChunkHealth::kMissing], 0u);
}

// Whatever byte of an archive is flipped, verify says so.
TEST(FaultsTest, VerifySeesEveryFlippedByte) {
  TestStore store({.geometry = kSmall});
  MustPut(store, "/o", 5 * 4 * 8 * kKiB + 7);
  const auto archives = store.Archives("/o");
  const auto& [server, path] = archives[1];
  const size_t size = store.memory(server).Content(path)->size();
  for (size_t at = 0; at < size; at += (at < 120 || at + 1700 > size) ? 1 : 1009) {
    const auto flip = [at](std::string& content) { content[at] = static_cast<char>(content[at] ^ 0x20); };
    ASSERT_TRUE(store.memory(server).Tamper(path, flip));
    Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
    ASSERT_TRUE(reader);
    size_t corrupt = 0;
    const Status status = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
      if (report.health != ChunkHealth::kCorrupt) return;
      ++corrupt;
      EXPECT_EQ(report.server, server);
    }));
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_GE(corrupt, 1u) << "at " << at << " of " << size;
    ASSERT_TRUE(store.memory(server).Tamper(path, flip));
  }
}

TEST(FaultsTest, LocateTellsWhereChunksAre) {
  TestStore store({.geometry = kSmall});
  MustPut(store, "/o", 20'000);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  std::vector<uint32_t> chunks;
  ASSERT_TRUE(SyncWait((*reader)->Locate([&](const ChunkReport& report) {
    chunks.push_back(report.chunk);
    EXPECT_EQ(report.health, ChunkHealth::kGood);
    EXPECT_THAT(report.archive_path, HasSubstr("/o.~xo/p."));
  })));
  EXPECT_EQ(chunks, (std::vector<uint32_t>{0, 1, 2, 4, 5}));
}

}  // namespace
}  // namespace xec
