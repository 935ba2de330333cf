// SPDX-License-Identifier: LGPL-3.0-or-later
// Where the runs of archives end that the engine writes, whatever it knew of the object when its stripes
// went.
#include "archive/archive_writer.hh"
#include "object/repair/test/test_repair.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// How many archives of /o have a long run; each of these ends at a multiple of kRunUnit.
size_t LongRuns(TestStore& store) {
  size_t long_runs = 0;
  for (const auto& [server, file] : store.Archives("/o")) {
    const std::string archive = *store.memory(server).Content(file);
    const Result<TailOutcome> tail = ParseArchiveTail(AsBytes(archive), archive.size());
    EXPECT_TRUE(tail && tail->index) << file;
    if (!tail || !tail->index || tail->index->members.empty()) continue;
    const ArchiveMember& last = tail->index->members.back();
    const uint64_t chunks_end = last.IsRunFiller() ? last.header_offset : last.data_offset + last.size_bytes;
    EXPECT_EQ(last.IsRunFiller(), chunks_end >= kAlignedRunBytesMin && chunks_end % kRunUnit != 0);
    if (chunks_end < kAlignedRunBytesMin) continue;
    ++long_runs;
    EXPECT_EQ((last.data_offset + last.size_bytes) % kRunUnit, 0u) << file;
  }
  return long_runs;
}

TEST(RunEndTest, LongRunsEndAtAMultiple) {
  constexpr uint64_t kStripe = 4 * 8 * kKiB;
  // The last stripe is full, or has nothing for some lanes, or is the only one.
  for (const uint64_t size : {20 * kStripe, 20 * kStripe + 1, 20 * kStripe + 20'000, kStripe}) {
    for (const bool announced : {false, true}) {
      TestStore store({.geometry = kSmall, .servers = 8});
      const std::string bytes = TestBytes(size);
      WriteOptions options;
      if (announced) options.size_hint = size;
      ASSERT_TRUE(store.Put("/o", bytes, options));
      store.Settle();
      EXPECT_EQ(LongRuns(store), size > kStripe ? 6u : 0u) << size;
      ExpectWhole(store, bytes);
    }
  }
}

TEST(RunEndTest, SmallObjectsWithLargeChunksAreStillOneRequestToEachServer) {
  TestStore store({.geometry = {4, 2, 256 * kKiB}, .servers = 8});
  const std::string bytes = TestBytes(150'000);
  WriteOptions options;
  options.size_hint = bytes.size();
  ASSERT_TRUE(store.Put("/o", bytes, options));
  store.Settle();
  EXPECT_EQ(LongRuns(store), 3u);
  EXPECT_EQ(store.counts().Of(Operation::kWrite), 3u);
  ExpectWhole(store, bytes);
}

TEST(RunEndTest, ThoseOfRepairedArchivesToo) {
  TestStore store({.geometry = kSmall, .servers = 8});
  const std::string bytes = TestBytes(1'000'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto [server, file] = store.Archives("/o").front();
  const DataServerPtr& holder = store.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), holder, file)));
  ASSERT_TRUE(Repair(store));
  store.Settle();
  EXPECT_EQ(LongRuns(store), 6u);
  ExpectWhole(store, bytes);
}

// The end of an archive is compared with what the writer makes, its filler with all the rest.
TEST(RunEndTest, DamageInARunFillerIsFound) {
  TestStore store({.geometry = kSmall, .servers = 8});
  ASSERT_TRUE(store.Put("/o", TestBytes(1'000'000)));
  store.Settle();
  const auto [server, file] = store.Archives("/o").front();
  store.memory(server).Tamper(file, [](std::string& archive) {
    const Result<TailOutcome> tail = ParseArchiveTail(AsBytes(archive), archive.size());
    const ArchiveMember& filler = tail->index->members.back();
    ASSERT_TRUE(filler.IsRunFiller());
    archive[filler.data_offset - 1] ^= 1;
  });
  EXPECT_EQ(Verify(store)[ChunkHealth::kCorrupt], 1u);
}

}  // namespace
}  // namespace xec
