// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/archive_writer.hh"

#include <gtest/gtest.h>

#include "archive/test/archive_test_support.hh"

namespace xec {
namespace {

using namespace archive_testing;

TEST(ArchiveWriter, RoundTrips) {
  const std::vector<std::pair<MemberName, Bytes>> members = {
      {{0, 1}, Pattern(8192, 1)}, {{1, 0}, Pattern(5000, 2)}, {{2, 2}, {}}, {{7, 1}, Pattern(1, 3)}};
  for (const uint32_t page_size : {0u, 4096u, 5120u}) {
    const Bytes archive = BuildArchive(members, "hello\n", page_size);
    for (const size_t first_read : {size_t{1}, size_t{40}, size_t{200}, archive.size()}) {
      const Result<ArchiveIndex> index = ReadIndex(archive, first_read);
      ASSERT_TRUE(index) << index.error().ToString();
      EXPECT_EQ(index->manifest, "hello\n");
      ASSERT_EQ(index->members.size(), members.size());
      for (size_t i = 0; i < members.size(); ++i) {
        EXPECT_EQ(index->members[i].name, members[i].first);
        const Result<Bytes> data = ReadMember(archive, index->members[i]);
        ASSERT_TRUE(data) << data.error().ToString();
        EXPECT_EQ(*data, members[i].second);
      }
    }
  }
}

TEST(ArchiveWriter, HeaderEndsWhereTheDataBegins) {
  ArchiveWriter writer;
  const Bytes data = Pattern(10000, 1);
  std::vector<uint32_t> pages(3);
  PageChecksums(data, 4096, pages);
  Bytes headroom(LocalHeaderSizeMax(3) + 100, std::byte{0xee});
  const Result<PlacedHeader> placed = writer.LocalHeader({{3, 1}, 10000, Crc32(data), pages, 4096}, headroom);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->archive_offset, 0u);
  EXPECT_EQ(placed->size_bytes, 30u + 7 + 4 + 6 + 12);
  EXPECT_EQ(writer.next_offset(), placed->size_bytes + 10000);
  const size_t begin = headroom.size() - placed->size_bytes;
  EXPECT_EQ(headroom[begin - 1], std::byte{0xee});
  EXPECT_EQ(AsText(ByteSpan(headroom).subspan(begin, 4)), "PK\x03\x04");
  const ArchiveMember member{{3, 1}, 0, placed->size_bytes, 10000, Crc32(data)};
  const Result<PageChecksumTable> table = ParseLocalHeader(ByteSpan(headroom).subspan(begin), member);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->page_size_bytes, 4096u);
  EXPECT_EQ(table->crc32c, pages);
}

TEST(ArchiveWriter, LargestChunkFits) {
  const Geometry geometry{1, 1, kChunkSizeMax};
  const std::vector<uint32_t> pages(geometry.PageCount(kChunkSizeMax), 7);
  Bytes headroom(LocalHeaderSizeMax(geometry));
  ArchiveWriter writer;
  ASSERT_TRUE(writer.LocalHeader({{4294967295u, 4294967295u},
                                  static_cast<uint32_t>(kChunkSizeMax),
                                  1,
                                  pages,
                                  static_cast<uint32_t>(geometry.PageSize())},
                                 headroom));
}

TEST(ArchiveWriter, WithoutMembersIsABareEndRecord) {
  const Bytes archive = BuildArchive({}, "text\n", 0);
  EXPECT_EQ(archive.size(), kEndRecordSize + 5);
  const Result<ArchiveIndex> index = ReadIndex(archive, 3);
  ASSERT_TRUE(index);
  EXPECT_TRUE(index->members.empty());
  EXPECT_EQ(index->manifest, "text\n");
}

TEST(ArchiveWriter, IsDeterministic) {
  EXPECT_EQ(BuildArchive({{{0, 0}, Pattern(9, 1)}}, "m\n", 4096),
            BuildArchive({{{0, 0}, Pattern(9, 1)}}, "m\n", 4096));
}

TEST(ArchiveWriter, RefusesWhatDoesNotFit) {
  ArchiveWriter writer;
  Bytes headroom(LocalHeaderSizeMax(8));
  const std::vector<uint32_t> two = {1, 2};
  EXPECT_EQ(writer.LocalHeader({{0, 0}, 4096, 0, two, 4096}, headroom).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.LocalHeader({{0, 0}, 8192, 0, two, 512}, headroom).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.LocalHeader({{0, 0}, 8192, 0, two, 0}, headroom).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.LocalHeader({{0, 0}, 0xffffffff, 0, {}, 0}, headroom).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.member_count(), 0u);
  EXPECT_EQ(writer.Finish(std::string(65535, 'x')).code(), Code::kInvalidArgument);
  EXPECT_EQ(writer.Finish("PK\x05\x06").code(), Code::kInvalidArgument);
  EXPECT_TRUE(writer.Finish(std::string(65534, 'x')));
}

TEST(ArchiveWriter, TakesAllMembersThatStockReadersTake) {
  ArchiveWriter writer;
  Bytes archive;
  Bytes headroom(LocalHeaderSizeMax(0));
  for (uint32_t i = 0; i < kMembersMax; ++i) {
    const Result<PlacedHeader> placed = writer.LocalHeader({{i, 0}, 0, 0, {}, 0}, headroom);
    ASSERT_TRUE(placed);
    Append(archive, ByteSpan(headroom).last(placed->size_bytes));
  }
  EXPECT_EQ(writer.LocalHeader({{70000, 0}, 0, 0, {}, 0}, headroom).code(), Code::kInvalidArgument);
  const Result<Bytes> tail = writer.Finish("m\n");
  ASSERT_TRUE(tail);
  EXPECT_LE(tail->size(), ArchiveTailSizeMax(kMembersMax, 2));
  Append(archive, *tail);
  const Result<ArchiveIndex> index = ReadIndex(archive, 100);
  ASSERT_TRUE(index) << index.error().ToString();
  EXPECT_EQ(index->members.size(), kMembersMax);
  EXPECT_EQ(index->members.back().name.stripe, kMembersMax - 1);
}

// Both halves of an archive whose run is aligned: members with these sizes, page checksums none.
Bytes AlignedArchive(const std::vector<uint32_t>& sizes) {
  ArchiveWriter writer;
  Bytes archive;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    const Bytes data = Pattern(sizes[i], i);
    Append(archive, HeaderOf(writer, {i + 5, i % 3}, data, 0));
    Append(archive, data);
  }
  const Result<Bytes> end = writer.Finish("m\n", RunEnd::kAligned);
  EXPECT_TRUE(end);
  EXPECT_LE(end->size(), ArchiveEndSizeMax(archive.size(), sizes.size(), 2));
  Append(archive, *end);
  return archive;
}

TEST(ArchiveWriter, ALongRunEndsAtAMultipleOfTheUnit) {
  // With a filler field of any length, also where only its four first bytes have room.
  for (uint32_t more = 0; more < 2 * kRunUnit; more += 5) {
    const Bytes archive = AlignedArchive({static_cast<uint32_t>(kAlignedRunBytesMin), more});
    const Result<ArchiveIndex> index = ReadIndex(archive, 500);
    ASSERT_TRUE(index) << more << ": " << index.error().ToString();
    const ArchiveMember& last = index->members.back();
    ASSERT_EQ(last.data_offset % kRunUnit, 0u) << more;
    ASSERT_EQ(index->manifest, "m\n");
    if (index->members.size() == 2) continue;
    ASSERT_EQ(last.name, (MemberName{6, kRunFillerChunk}));
    ASSERT_TRUE(last.IsRunFiller());
    ASSERT_EQ(last.size_bytes, 0u);
    ASSERT_LE(last.header_size(), kLocalHeaderFixedSize + 10 + kExtraFieldHeaderSize + kRunUnit);
    ASSERT_TRUE(ReadMember(archive, last)) << more;
  }
}

TEST(ArchiveWriter, AShortRunEndsWithItsLastChunk) {
  const Result<ArchiveIndex> index = ReadIndex(AlignedArchive({60'000, 5'000}), 500);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->members.size(), 2u);
  const Result<ArchiveIndex> none = ReadIndex(AlignedArchive({}), 500);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->members.empty());
}

TEST(ArchiveWriter, ARunWithAllMembersThatStockReadersTakeIsNotAligned) {
  ArchiveWriter writer;
  for (uint32_t i = 0; i < kMembersMax; ++i) writer.AddPlaced({i, 0}, 1, 0, 37);
  const Result<Bytes> end = writer.Finish("m\n", RunEnd::kAligned);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, *writer.Finish("m\n", RunEnd::kAsItIs));
}

// Where the end record lies, seen by a reader that looks for the last signature as Python and XRootD do.
size_t LastSignature(const Bytes& tail) { return AsText(tail).rfind("PK\x05\x06"); }

// INV-2: an offset of the directory that spells the signature.
TEST(ArchiveWriter, DirectoryOffsetNeverLooksLikeASignature) {
  ArchiveWriter writer;
  Bytes headroom(LocalHeaderSizeMax(0));
  constexpr uint32_t kFirstSize = kEndSignature / 2;
  ASSERT_TRUE(writer.LocalHeader({{0, 0}, kFirstSize, 0, {}, 0}, headroom));
  const uint32_t rest = static_cast<uint32_t>(kEndSignature - writer.next_offset() - 37);
  const Result<PlacedHeader> placed = writer.LocalHeader({{1, 0}, rest, 0, {}, 0}, headroom);
  ASSERT_TRUE(placed);
  EXPECT_EQ(writer.next_offset(), kEndSignature + kExtraFieldHeaderSize);
  const ArchiveMember member{
      {1, 0}, placed->archive_offset, placed->archive_offset + placed->size_bytes, rest, 0};
  EXPECT_TRUE(ParseLocalHeader(ByteSpan(headroom).last(placed->size_bytes), member));
  const Result<Bytes> tail = writer.Finish("m\n");
  ASSERT_TRUE(tail);
  EXPECT_EQ(LastSignature(*tail), tail->size() - 2 - kEndRecordSize);
}

// INV-2: offset of the directory ...504b and a comment of 0x0605 bytes.
TEST(ArchiveWriter, CommentLengthNeverCompletesASignature) {
  ArchiveWriter writer;
  Bytes headroom(LocalHeaderSizeMax(0));
  ASSERT_TRUE(writer.LocalHeader({{0, 0}, 0x4b501234, 0, {}, 0}, headroom));
  const std::string manifest(0x0605, 'm');
  const Result<Bytes> tail = writer.Finish(manifest);
  ASSERT_TRUE(tail);
  const size_t end = tail->size() - manifest.size() - 1 - kEndRecordSize;  // one line feed was added
  EXPECT_EQ(LastSignature(*tail), end);
  const uint64_t size = writer.next_offset() + tail->size();
  const Result<TailOutcome> outcome = ParseArchiveTail(*tail, size);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->index->manifest, manifest + "\n");
}

// INV-2: 0x4b50 members and a directory of ...0605 bytes.
TEST(ArchiveWriter, MemberCountNeverStartsASignature) {
  ArchiveWriter writer;
  Bytes headroom(LocalHeaderSizeMax(0));
  constexpr uint32_t kMembers = 0x4b50;
  uint64_t directory = 0;
  for (uint32_t i = 0; i < kMembers; ++i) {
    // Longer names until the low 16 bits of the directory's size are those wanted.
    const uint32_t left = kMembers - i;
    const uint64_t missing = (0x0605 - (directory + left * uint64_t{46 + 11})) & 0xffff;
    const uint64_t longer = std::min<uint64_t>(missing, 9);
    uint32_t chunk = 1;
    for (uint64_t digit = 0; digit < longer; ++digit) chunk *= 10;
    const MemberName name{10000 + i, chunk};
    directory += 46 + name.ToString().size();
    ASSERT_TRUE(writer.LocalHeader({name, 0, 0, {}, 0}, headroom));
  }
  ASSERT_EQ(directory & 0xffff, 0x0605u);
  const Result<Bytes> tail = writer.Finish("");
  ASSERT_TRUE(tail);
  EXPECT_EQ(LastSignature(*tail), tail->size() - kEndRecordSize);
  const Result<TailOutcome> outcome = ParseArchiveTail(*tail, writer.next_offset() + tail->size());
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->index->members.size(), kMembers);
}

// INV-3: ZIP64 only from the offset 0xffffffff on.
TEST(ArchiveWriter, UsesZip64OnlyWhereNeeded) {
  for (const int64_t beyond : {-1, 0, 1}) {
    ArchiveWriter writer;
    Bytes headroom(LocalHeaderSizeMax(0));
    ASSERT_TRUE(writer.LocalHeader({{0, 0}, 0x80000000, 1, {}, 0}, headroom));
    const auto second = static_cast<uint32_t>(int64_t{0xffffffff} + beyond - 2 * 37 - 0x80000000ll);
    ASSERT_TRUE(writer.LocalHeader({{1, 0}, second, 2, {}, 0}, headroom));
    ASSERT_EQ(writer.next_offset(), static_cast<uint64_t>(0xffffffffll + beyond));
    ASSERT_TRUE(writer.LocalHeader({{2, 0}, 5, 3, {}, 0}, headroom));
    const Result<Bytes> tail = writer.Finish("m\n");
    ASSERT_TRUE(tail);
    EXPECT_EQ(AsText(*tail).find(std::string("\x01\x00\x08\x00", 4)) != std::string_view::npos, beyond >= 0);
    const uint64_t size = writer.next_offset() + tail->size();
    for (const size_t first_read : {size_t{30}, size_t{100}, tail->size()}) {
      size_t read = first_read;
      Result<TailOutcome> outcome = ParseArchiveTail(ByteSpan(*tail).last(read), size);
      while (outcome && !outcome->index) {
        read = static_cast<size_t>(size - outcome->need_from);
        ASSERT_LE(read, tail->size());
        outcome = ParseArchiveTail(ByteSpan(*tail).last(read), size);
      }
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      ASSERT_EQ(outcome->index->members.size(), 3u);
      EXPECT_EQ(outcome->index->members[2].header_offset, static_cast<uint64_t>(0xffffffffll + beyond));
      EXPECT_EQ(outcome->index->members[2].header_size(), 37u);
    }
  }
}

TEST(ArchiveWriter, SmallArchivesHaveNoZip64) {
  const Bytes archive = BuildArchive({{{0, 0}, Pattern(100, 1)}}, "", 0);
  EXPECT_EQ(AsText(archive).find("PK\x06"), std::string_view::npos);
}

}  // namespace
}  // namespace xec
