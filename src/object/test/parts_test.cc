// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that are made of parts, each coded for itself, with stripe numbers of its own: what a multipart
// upload will be. Nobody writes them yet but this test.
#include "object/layout.hh"
#include "object/repair/test/test_repair.hh"
#include "object/write/stripe_buffer.hh"
#include "runtime/sync_wait.hh"
#include "runtime/virtual_executor.hh"

namespace xec {
namespace {

// Archives of an object of parts, by lane; manifests as `told`, which names a server for each lane.
std::vector<std::string> ArchivesOf(Manifest told, const std::string& object) {
  const uint32_t total = told.geometry.Total();
  std::vector<ArchiveWriter> writers(total);
  std::vector<std::string> archives(total);
  ObjectDigests digests = *ObjectDigests::Create({});
  const StripeMap stripes = told.Stripes();
  for (uint64_t at = 0; at < object.size(); at = stripes.At(at).end()) {
    const StripeExtent extent = stripes.At(at);
    StripeBuffer::Shape shape;
    shape.geometry = told.geometry;
    shape.data_bytes_max = extent.bytes;
    VirtualExecutor executor;
    ByteBudget budget(shape.BufferBytes(), executor);
    StripeBuffer buffer(shape, extent.stripe, *budget.TryAcquire(shape.BufferBytes()));
    buffer.Append(AsBytes(std::string_view(object).substr(extent.begin, extent.bytes)), digests);
    buffer.Finish(digests);
    for (uint32_t chunk = 0; chunk < total; ++chunk) {
      if (buffer.ChunkSize(chunk) == 0) continue;
      const uint32_t lane = LaneOfChunk(extent.stripe, chunk, total);
      const auto piece = buffer.PlaceChunk(chunk, writers[lane]);
      archives[lane] += AsText(piece->slice.span());
    }
  }
  told.checksums = digests.Finish();
  for (uint32_t lane = 0; lane < total; ++lane) {
    told.lane = lane;
    archives[lane] += AsText(*writers[lane].Finish(*told.Serialize(), RunEnd::kAligned));
  }
  return archives;
}

class PartsTest : public testing::Test {
 protected:
  // Chunks of 8 KiB at 4+2: stripes of 32 KiB. Parts of 100 KB have three stripes and a fourth of 1,696
  // bytes.
  static constexpr uint64_t kPart = 100'000;
  const std::vector<PartRun> parts_ = {
      {1000, kPart, 9, 400}, {70'000, 12'345, 1, 1}, {4'000'000'000, 1, 2, 7}};
  const std::string bytes_ = TestBytes(9 * kPart + 12'345 + 2);

  PartsTest() : store_({.geometry = kSmall, .servers = 8}) {
    // An object of this size comes first, whose archives are replaced by those of the parts.
    EXPECT_TRUE(store_.Put("/o", bytes_));
    store_.Settle();
    Manifest manifest = *SyncWait((*store_.OpenReader("/o"))->GetManifest());
    manifest.parts = parts_;
    const std::vector<std::string> archives = ArchivesOf(manifest, bytes_);
    for (uint32_t lane = 0; lane < archives.size(); ++lane) {
      const MemberIndex server = *store_.engine().FindMember(manifest.servers[lane]);
      for (const auto& [member, file] : store_.Archives("/o")) {
        if (member == server)
          store_.memory(member).Tamper(file, [&](std::string& old) { old = archives[lane]; });
      }
    }
  }

  std::shared_ptr<ObjectReader> Open() {
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    XEC_CHECK(reader.has_value());
    return *reader;
  }

  void Lose(size_t archives) {
    const auto all = store_.Archives("/o");
    for (size_t i = 0; i < archives; ++i) {
      const DataServerPtr& server = store_.engine().server(static_cast<MemberIndex>(all[i].first));
      ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(), server, all[i].second)));
    }
  }

  // Around every border of parts and of stripes within them, and across several.
  void ExpectRangesRead(ObjectReader& reader) {
    std::vector<uint64_t> borders = {0};
    const StripeMap stripes(kSmall, bytes_.size(), parts_);
    for (uint64_t at = 0; at < bytes_.size(); at = stripes.At(at).end())
      borders.push_back(stripes.At(at).end());
    for (const uint64_t border : borders) {
      for (const uint64_t before : {0u, 1u, 5'000u}) {
        for (const uint64_t size : {1u, 2u, 9'000u, 150'000u}) {
          const uint64_t from = border - std::min(border, before);
          const Result<std::string> read = TestStore::Read(reader, from, size);
          ASSERT_TRUE(read) << read.error().ToString();
          ASSERT_TRUE(*read == bytes_.substr(from, size)) << from << " " << size;
        }
      }
    }
  }

  TestStore store_;
};

TEST_F(PartsTest, AreRead) {
  EXPECT_TRUE(*store_.Get("/o") == bytes_);
  ExpectRangesRead(*Open());
  EXPECT_TRUE(store_.BudgetReturned());
}

TEST_F(PartsTest, AreReadWithoutAnyTwoServers) {
  Lose(2);
  EXPECT_TRUE(*store_.Get("/o") == bytes_);
  ExpectRangesRead(*Open());
}

TEST_F(PartsTest, AreReadFromStartToEndInPieces) {
  const std::shared_ptr<ObjectReader> reader = Open();
  for (const size_t piece : {7'777u, 32'768u, 100'000u, 333'333u}) {
    for (uint64_t at = 0; at < bytes_.size(); at += piece) {
      const Result<std::string> read = TestStore::Read(*reader, at, piece);
      ASSERT_TRUE(read) << read.error().ToString();
      ASSERT_TRUE(*read == bytes_.substr(at, piece)) << at << " " << piece;
    }
  }
}

TEST_F(PartsTest, VectorsAcrossBordersAreRead) {
  const std::shared_ptr<ObjectReader> reader = Open();
  std::vector<std::string> read;
  for (uint64_t at = kPart - 50; at + 100 < bytes_.size(); at += kPart / 2) read.emplace_back(100, '?');
  std::vector<ReadPiece> pieces;
  for (size_t i = 0; i < read.size(); ++i)
    pieces.push_back({kPart - 50 + i * (kPart / 2), std::as_writable_bytes(std::span(read[i]))});
  pieces.push_back({bytes_.size(), {}});
  ASSERT_TRUE(SyncWait(reader->ReadVector(pieces)));
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], bytes_.substr(pieces[i].offset, 100)) << i;
}

TEST_F(PartsTest, AreFoundWhole) {
  ExpectWhole(store_, bytes_);
  size_t stripes = 0;
  uint64_t last = 0;
  ASSERT_TRUE(SyncWait(Open()->Locate([&](const ChunkReport& chunk) {
    EXPECT_EQ(chunk.health, ChunkHealth::kGood);
    stripes += chunk.chunk == 0 ? 1 : 0;
    last = chunk.stripe;
  })));
  EXPECT_EQ(stripes, 9u * 4 + 1 + 2);
  EXPECT_EQ(last, 4'000'000'007u);
}

TEST_F(PartsTest, ADamagedByteIsFound) {
  const auto [server, file] = store_.Archives("/o").front();
  store_.memory(server).Tamper(file, [](std::string& archive) { archive[archive.size() / 2] ^= 1; });
  EXPECT_EQ(Verify(store_)[ChunkHealth::kCorrupt], 1u);
  EXPECT_TRUE(*store_.Get("/o") == bytes_);
}

TEST_F(PartsTest, AreRepaired) {
  const std::vector<std::pair<size_t, std::string>> before = store_.Archives("/o");
  std::map<std::string, size_t> contents;
  for (const auto& [server, file] : before) ++contents[*store_.memory(server).Content(file)];
  Lose(2);
  const Result<RepairReport> report = Repair(store_);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 2u);
  EXPECT_TRUE(report->problems.empty());
  store_.Settle();
  // Byte for byte as they were.
  for (const auto& [server, file] : store_.Archives("/o")) {
    if (file.find("/p.") != std::string::npos) --contents[*store_.memory(server).Content(file)];
  }
  for (const auto& [content, count] : contents) EXPECT_EQ(count, 0u);
  ExpectWhole(store_, bytes_);
}

// Multipart uploads choose it at their end, so that it is in the archives' names.
TEST_F(PartsTest, AnEtagStaysWhereArchivesAreRepaired) {
  const std::string etag = "9bb58f26192e4ba00f01e2e7b136bbd8-12";
  for (const auto& [member, file] : store_.Archives("/o")) {
    const DataServerPtr& server = store_.engine().server(static_cast<MemberIndex>(member));
    ASSERT_TRUE(SyncWait(Rename(store_.engine().MetadataCall(), server, file, file + ".etag-" + etag)));
  }
  Lose(2);
  ASSERT_TRUE(Repair(store_));
  store_.Settle();
  ExpectWhole(store_, bytes_);
  const auto archives = store_.Archives("/o");
  EXPECT_GE(archives.size(), 6u);
  for (const auto& [member, file] : archives) EXPECT_TRUE(file.ends_with(".etag-" + etag)) << file;
  EXPECT_EQ(SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")))->accepted.given.etag, etag);
}

TEST(LanesWithMembers, OfAllParts) {
  const std::vector<PartRun> parts = {{0, 1, 1, 1}, {7, 1, 2, 6}};
  // Stripes 0, 7 and 13, with one data chunk and two parity chunks each.
  EXPECT_EQ(LanesWithMembers(StripeMap(kSmall, 3, parts)), (std::vector<uint32_t>{0, 1, 4, 5}));
  EXPECT_EQ(LanesWithMembers(StripeMap(kSmall, 1)), (std::vector<uint32_t>{0, 4, 5}));
  EXPECT_TRUE(LanesWithMembers(StripeMap(kSmall, 0)).empty());
}

}  // namespace
}  // namespace xec
