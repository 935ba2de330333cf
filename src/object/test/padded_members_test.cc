// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives whose local headers have fillers of any length, as docs/format.md allows them. They were called
// corrupt when the fillers had more than 64 bytes.
#include "archive/archive_writer.hh"
#include "object/repair/test/test_repair.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

enum class FillerPlace { kBehind, kInFront };

void AppendFiller(std::string& to, size_t bytes) {
  const size_t body = bytes - kExtraFieldHeaderSize;
  to += {'X', 'F', static_cast<char>(body & 0xff), static_cast<char>(body >> 8)};
  to.append(body, '\0');
}

// The archive with fillers, two where there is room, that let the data of every member begin at a multiple
// of `align`.
std::string WithFillers(const std::string& archive, size_t align, FillerPlace place) {
  const Result<TailOutcome> tail = ParseArchiveTail(AsBytes(archive), archive.size());
  XEC_CHECK(tail && tail->index);
  ArchiveWriter writer;
  std::string padded;
  for (const ArchiveMember& member : tail->index->members) {
    if (member.IsRunFiller()) continue;
    std::string header = archive.substr(member.header_offset, member.header_size());
    const size_t fields_at = kLocalHeaderFixedSize + member.name.ToString().size();
    const size_t end = padded.size() + header.size() + 2 * kExtraFieldHeaderSize;
    const size_t bytes = (end + align - 1) / align * align - end + 2 * kExtraFieldHeaderSize;
    std::string filler;
    AppendFiller(filler, kExtraFieldHeaderSize);
    AppendFiller(filler, bytes - kExtraFieldHeaderSize);
    header.insert(place == FillerPlace::kInFront ? fields_at : header.size(), filler);
    const size_t extra = header.size() - fields_at;
    header[kLocalHeaderFixedSize - 2] = static_cast<char>(extra & 0xff);
    header[kLocalHeaderFixedSize - 1] = static_cast<char>(extra >> 8);
    padded += header + archive.substr(member.data_offset, member.size_bytes);
    writer.AddPlaced(member.name, member.size_bytes, member.crc32, header.size());
  }
  padded += AsText(*writer.Finish(tail->index->manifest));
  return padded;
}

struct Case {
  size_t align;
  FillerPlace place;
  size_t object_bytes;
};

class PaddedMembersTest : public testing::TestWithParam<Case> {
 protected:
  PaddedMembersTest() : store_({.geometry = kSmall, .servers = 8}) {
    EXPECT_TRUE(store_.Put("/o", bytes_));
    store_.Settle();
    for (const auto& [server, file] : store_.Archives("/o")) {
      store_.memory(server).Tamper(file, [](std::string& archive) {
        archive = WithFillers(archive, GetParam().align, GetParam().place);
      });
    }
  }

  // A pattern of ranges that begin and end in chunks' middles.
  void ExpectRangesRead() {
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    ASSERT_TRUE(reader);
    for (uint64_t at = 1; at < bytes_.size(); at += 30'011)
      EXPECT_EQ(*TestStore::Read(**reader, at, 9'000), bytes_.substr(at, 9'000)) << at;
  }

  void ExpectVectorReads() {
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    ASSERT_TRUE(reader);
    // The second time page checksums are known.
    for (int time = 0; time < 2; ++time) {
      std::vector<std::string> read;
      std::vector<ReadPiece> pieces;
      for (uint64_t at = 0; at + 100 < bytes_.size(); at += 7'001) read.emplace_back(100, '?');
      for (size_t i = 0; i < read.size(); ++i)
        pieces.push_back({i * 7'001, std::as_writable_bytes(std::span(read[i]))});
      ASSERT_TRUE(SyncWait((*reader)->ReadVector(pieces)));
      for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], bytes_.substr(i * 7'001, 100)) << i;
    }
  }

  const std::string bytes_ = TestBytes(GetParam().object_bytes);
  TestStore store_;
};

TEST_P(PaddedMembersTest, AreRead) {
  EXPECT_TRUE(*store_.Get("/o") == bytes_);
  ExpectRangesRead();
  ExpectVectorReads();
  EXPECT_TRUE(store_.BudgetReturned());
}

TEST_P(PaddedMembersTest, AreFoundWhole) { ExpectWhole(store_, bytes_); }

TEST_P(PaddedMembersTest, AreReadAndRepairedWhereSomeAreLost) {
  const auto archives = store_.Archives("/o");
  for (const size_t lost : {0u, 1u}) {
    ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(),
                                store_.engine().server(static_cast<MemberIndex>(archives[lost].first)),
                                archives[lost].second)));
  }
  EXPECT_TRUE(*store_.Get("/o") == bytes_);
  const Result<RepairReport> report = Repair(store_);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 2u);
  EXPECT_TRUE(report->problems.empty());
  ExpectWhole(store_, bytes_);
}

// The fields that readers use are checked, though a filler stands among them.
TEST_P(PaddedMembersTest, DamageInAHeaderIsFound) {
  const auto [server, file] = store_.Archives("/o").front();
  store_.memory(server).Tamper(file, [](std::string& archive) { archive[10] ^= 1; });  // the time
  EXPECT_EQ(Verify(store_)[ChunkHealth::kCorrupt], 1u);
}

// Small objects are read with their whole archive, others are not.
INSTANTIATE_TEST_SUITE_P(All, PaddedMembersTest,
                         testing::Values(Case{4096, FillerPlace::kBehind, 1'000'000},
                                         Case{4096, FillerPlace::kInFront, 1'000'000},
                                         Case{65536, FillerPlace::kBehind, 1'000'000},
                                         Case{4096, FillerPlace::kBehind, 20'000}));

}  // namespace
}  // namespace xec
