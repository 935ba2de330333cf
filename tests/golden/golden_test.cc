// SPDX-License-Identifier: LGPL-3.0-or-later
// Golden archives: the bytes that this program writes today are those it wrote when the format was settled.
// A difference means that the format changed: that needs a new format number or a very good reason. Each
// format has a folder; those of earlier formats are read for ever.
// XEC_UPDATE_GOLDEN=1 writes the files instead of comparing; look at the difference before committing it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "archive/archive_reader.hh"
#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "base/text.hh"
#include "codec/checksum.hh"
#include "codec/reed_solomon.hh"
#include "codec/stripe_map.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

// The folder of the format that is written.
constexpr const char* kWritten = "format2";

const Geometry kGeometry{2, 1, 4096};

enum class Layout { kNative, kXrdec };

Bytes ObjectBytes(size_t size) {
  Bytes object(size);
  for (size_t i = 0; i < size; ++i) object[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xff);
  return object;
}

Manifest ManifestOf(std::string path, ByteSpan object) {
  Manifest manifest;
  manifest.object_id = "00112233445566778899aabb";
  manifest.size_bytes = object.size();
  manifest.geometry = kGeometry;
  manifest.page_size_bytes = static_cast<uint32_t>(kGeometry.PageSize());
  manifest.path = std::move(path);
  manifest.mtime_ns = 1795220720123456789;
  manifest.mode = 0644;
  manifest.checksums = {{"adler32", Hex(Adler32(object), 8)}, {"crc32c", Hex(Crc32c(object), 8)}};
  return manifest;
}

// Chunks with their padding to the size of the stripe's chunk 0; parity by the codec.
std::vector<Bytes> EncodeStripe(ByteSpan object, const StripeExtent& extent) {
  const size_t length = kGeometry.ChunkBytes(extent.bytes, 0, 0);
  std::vector<Bytes> chunks(kGeometry.Total(), Bytes(length));
  std::vector<const std::byte*> data;
  std::vector<std::byte*> parity;
  for (uint32_t chunk = 0; chunk < kGeometry.Total(); ++chunk) {
    if (chunk < kGeometry.data_chunks) {
      const size_t size = kGeometry.ChunkBytes(extent.bytes, 0, chunk);
      const uint64_t from = extent.begin + chunk * kGeometry.chunk_size_bytes;
      if (size > 0)
        std::copy_n(object.begin() + static_cast<std::ptrdiff_t>(from), size, chunks[chunk].begin());
      data.push_back(chunks[chunk].data());
    } else {
      parity.push_back(chunks[chunk].data());
    }
  }
  CodecFor(kGeometry).Encode(data, parity, length);
  return chunks;
}

// Lane i holds chunk (i + stripe) mod 3, so that every archive has data and parity.
Bytes LaneArchive(ByteSpan object, uint32_t lane, Layout layout, const StripeMap& stripes,
                  std::string_view manifest) {
  ArchiveWriter writer;
  Bytes archive;
  const auto page_size = layout == Layout::kNative ? static_cast<uint32_t>(kGeometry.PageSize()) : 0;
  for (uint64_t at = 0; at < object.size(); at = stripes.At(at).end()) {
    const StripeExtent extent = stripes.At(at);
    const auto chunk = static_cast<uint32_t>((lane + extent.stripe) % kGeometry.Total());
    const std::vector<Bytes> chunks = EncodeStripe(object, extent);
    const size_t size = kGeometry.ChunkBytes(extent.bytes, 0, chunk);
    if (size == 0 && layout == Layout::kNative) continue;
    const ByteSpan data = ByteSpan(chunks[chunk]).first(size);
    std::vector<uint32_t> pages(page_size == 0 ? 0 : kGeometry.PageCount(size));
    if (page_size != 0) PageChecksums(data, page_size, pages);
    Bytes headroom(LocalHeaderSizeMax(pages.size()));
    const Result<PlacedHeader> placed = writer.LocalHeader({{static_cast<uint32_t>(extent.stripe), chunk},
                                                            static_cast<uint32_t>(size),
                                                            Crc32(data),
                                                            pages,
                                                            page_size},
                                                           headroom);
    EXPECT_TRUE(placed);
    archive.insert(archive.end(), headroom.end() - static_cast<std::ptrdiff_t>(placed->size_bytes),
                   headroom.end());
    archive.insert(archive.end(), data.begin(), data.end());
  }
  const Result<Bytes> tail =
      writer.Finish(manifest, layout == Layout::kNative ? RunEnd::kAligned : RunEnd::kAsItIs);
  EXPECT_TRUE(tail);
  archive.insert(archive.end(), tail->begin(), tail->end());
  return archive;
}

std::map<std::string, Bytes> MakeAll() {
  std::map<std::string, Bytes> files;
  const auto add_object = [&](const std::string& name, ByteSpan object, const std::vector<uint32_t>& lanes,
                              std::vector<PartRun> parts = {}) {
    Manifest manifest = ManifestOf("/golden/" + name, object);
    manifest.parts = std::move(parts);
    manifest.servers.assign(kGeometry.Total(), "");
    for (const uint32_t lane : lanes) manifest.servers[lane] = "s" + Hex(lane + 1, 2);
    if (name == "large")
      manifest.attributes = {{"colour", "blue green"}, {"bin", std::string("\0PK\x05\x06", 5)}};
    for (const uint32_t lane : lanes) {
      manifest.lane = lane;
      files[name + "." + std::to_string(lane)] =
          LaneArchive(object, lane, Layout::kNative, manifest.Stripes(), *manifest.Serialize());
    }
  };
  const std::string_view hello = "Hello, XEC!\n";
  add_object("hello", AsBytes(hello), {0, 2});  // chunk 1 is empty: lane 1 has no archive
  add_object("large", ObjectBytes(2 * 8192 + 5000), {0, 1, 2});
  // Two parts of a stripe and a half each, and a small one.
  add_object("parts", ObjectBytes(2 * 12'000 + 77), {0, 1, 2}, {{100, 12'000, 2, 50}, {1000, 77, 1, 1}});
  add_object("run", ObjectBytes(16 * 8192 + 100), {0, 1, 2});  // with run fillers

  const auto add_without_members = [&](const std::string& name, const Manifest& manifest) {
    files[name] = LaneArchive({}, 0, Layout::kNative, manifest.Stripes(), *manifest.Serialize());
  };
  add_without_members("empty", ManifestOf("/golden/empty", {}));
  Manifest witness = ManifestOf("/golden/new name", AsBytes(hello));
  witness.kind = ManifestKind::kWitness;
  witness.servers = {"s01", "", "s03"};
  witness.from = ManifestFrom{"/golden/hello", "0000018f00000001-0007"};
  witness.debts = {2};
  add_without_members("witness", witness);
  for (uint32_t lane = 0; lane < kGeometry.Total(); ++lane) {
    const Bytes object = ObjectBytes(9000);
    files["xrdec." + std::to_string(lane)] =
        LaneArchive(object, lane, Layout::kXrdec, StripeMap(kGeometry, object.size()), "");
  }
  return files;
}

Bytes ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const ByteSpan bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

TEST(Golden, BytesAreUnchanged) {
  const fs::path folder = fs::path(XEC_GOLDEN) / kWritten;
  const bool update = std::getenv("XEC_UPDATE_GOLDEN") != nullptr;
  for (const auto& [name, bytes] : MakeAll()) {
    if (update) {
      fs::create_directories(folder);
      std::ofstream out(folder / name, std::ios::binary | std::ios::trunc);
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      ASSERT_TRUE(out.flush());
      continue;
    }
    EXPECT_TRUE(ReadFile(folder / name) == bytes) << name << " is written differently now";
  }
  if (update) GTEST_SKIP() << "golden files written";
}

TEST(Golden, NoFileIsLeftOver) {
  const auto all = MakeAll();
  for (const auto& entry : fs::directory_iterator(fs::path(XEC_GOLDEN) / kWritten)) {
    EXPECT_TRUE(all.contains(entry.path().filename().string())) << entry.path();
  }
}

// The worked example of docs/format.md is a golden archive, sixteen bytes a line.
TEST(Golden, TheDocumentShowsTheseBytes) {
  const Bytes document_bytes = ReadFile(XEC_FORMAT_DOC);
  const std::string_view document = AsText(document_bytes);
  const Bytes archive = ReadFile(fs::path(XEC_GOLDEN) / kWritten / "hello.0");
  std::string line;
  for (size_t at = 0; at < archive.size(); at += line.size() / 3) {
    line = "";
    for (size_t i = at; i < std::min(at + 16, archive.size()); ++i)
      line += " " + HexBytes(ByteSpan(archive).subspan(i, 1));
    EXPECT_NE(document.find(Hex(at, 3) + " " + line), std::string_view::npos) << Hex(at, 3) << " " << line;
  }
}

// What older programs wrote must stay readable: this half never changes with the writer.
TEST(Golden, FilesAreReadable) {
  size_t archives = 0;
  for (const auto& entry : fs::recursive_directory_iterator(XEC_GOLDEN)) {
    if (entry.is_directory()) continue;
    ++archives;
    SCOPED_TRACE(entry.path().string());
    const Bytes archive = ReadFile(entry.path());
    const Result<TailOutcome> outcome = ParseArchiveTail(archive, archive.size());
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    ASSERT_TRUE(outcome->index);
    for (const ArchiveMember& member : outcome->index->members) {
      const Result<PageChecksumTable> table =
          ParseLocalHeader(ByteSpan(archive).subspan(member.header_offset, member.header_size()), member);
      ASSERT_TRUE(table) << table.error().ToString();
      EXPECT_EQ(Crc32(ByteSpan(archive).subspan(member.data_offset, member.size_bytes)), member.crc32);
    }
    if (entry.path().stem() == "xrdec") continue;
    const Result<Manifest> manifest = Manifest::Parse(outcome->index->manifest);
    ASSERT_TRUE(manifest) << manifest.error().ToString();
    EXPECT_EQ(manifest->object_id, "00112233445566778899aabb");
    EXPECT_EQ(manifest->from.has_value(), entry.path().filename() == "witness");
    EXPECT_EQ(manifest->parts.empty(), entry.path().stem() != "parts");
  }
  EXPECT_EQ(archives, 10u + 16u);
}

}  // namespace
}  // namespace xec
