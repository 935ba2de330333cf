// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/archive_reader.hh"

#include <gtest/gtest.h>

#include "archive/manifest.hh"
#include "archive/test/archive_test_support.hh"

namespace xec {
namespace {

using namespace archive_testing;

std::string ManifestText() {
  Manifest manifest;
  manifest.object_id = "0123456789abcdef01234567";
  manifest.size_bytes = 10000;
  manifest.geometry = {2, 1, 4096};
  manifest.page_size_bytes = 4096;
  manifest.path = "/a";
  return *manifest.Serialize();
}

// Everything a reader takes from an archive; unequal strings mean unequal content.
Result<std::string> Content(ByteSpan archive, size_t first_read) {
  XEC_ASSIGN_OR_RETURN(const ArchiveIndex index, ReadIndex(archive, first_read));
  XEC_TRY(Manifest::Parse(index.manifest));
  std::string content =
      index.manifest.ends_with("\n\n") ? index.manifest.substr(0, index.manifest.size() - 1) : index.manifest;
  for (const ArchiveMember& member : index.members) {
    XEC_ASSIGN_OR_RETURN(const Bytes data, ReadMember(archive, member));
    content += member.name.ToString() + " " + std::string(AsText(data));
  }
  return content;
}

Bytes SmallArchive(uint32_t page_size) {
  return BuildArchive({{{0, 1}, Pattern(300, 1)}, {{1, 0}, {}}, {{2, 2}, Pattern(77, 2)}}, ManifestText(),
                      page_size);
}

TEST(ArchiveReader, EveryFlippedBitGivesTheSameContentOrAnError) {
  for (const uint32_t page_size : {0u, 4096u}) {
    Bytes archive = SmallArchive(page_size);
    const Result<std::string> content = Content(archive, archive.size());
    ASSERT_TRUE(content);
    size_t errors = 0;
    for (size_t i = 0; i < archive.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        archive[i] ^= std::byte{1} << bit;
        for (const size_t first_read : {size_t{50}, archive.size()}) {
          const Result<std::string> flipped = Content(archive, first_read);
          EXPECT_TRUE(!flipped || *flipped == *content) << "byte " << i << " bit " << bit;
          errors += flipped ? 0 : 1;
        }
        archive[i] ^= std::byte{1} << bit;
      }
    }
    // Only times, versions, modes and the like may be flipped unnoticed.
    EXPECT_GT(errors, archive.size() * 8 * 2 * 8 / 10);
  }
}

TEST(ArchiveReader, EveryOverwrittenByteGivesTheSameContentOrAnError) {
  Bytes archive = SmallArchive(4096);
  const Result<std::string> content = Content(archive, archive.size());
  for (size_t i = 0; i < archive.size(); ++i) {
    const std::byte old = archive[i];
    for (const int value : {0x00, 0xff, 0x50}) {
      archive[i] = static_cast<std::byte>(value);
      const Result<std::string> changed = Content(archive, 100);
      EXPECT_TRUE(!changed || *changed == *content) << "byte " << i;
    }
    archive[i] = old;
  }
}

TEST(ArchiveReader, EveryTruncationIsAnError) {
  const Bytes archive = SmallArchive(4096);
  for (size_t size = 1; size < archive.size(); ++size) {
    for (const size_t first_read : {size_t{30}, size}) {
      const Result<ArchiveIndex> index = ReadIndex(ByteSpan(archive).first(size), first_read);
      ASSERT_FALSE(index) << size;
      EXPECT_EQ(index.code(), Code::kCorruption);
    }
    EXPECT_FALSE(ReadIndex(ByteSpan(archive).last(size), size)) << "without its beginning " << size;
  }
}

TEST(ArchiveReader, TrailingBytesAreAnError) {
  Bytes archive = SmallArchive(0);
  archive.push_back(std::byte{'\n'});
  EXPECT_FALSE(ReadIndex(archive, 50));
}

// An object that is itself an archive of XEC, in an archive that was cut short.
TEST(ArchiveReader, UserDataDoesNotPoseAsDirectory) {
  const Bytes inner = SmallArchive(4096);
  const Bytes outer = BuildArchive({{{0, 0}, inner}}, ManifestText(), 4096);
  const Result<ArchiveIndex> index = ReadIndex(outer, 60);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->members.size(), 1u);
  const Bytes cut(outer.begin(),
                  outer.begin() + static_cast<std::ptrdiff_t>(index->members[0].data_offset + inner.size()));
  EXPECT_FALSE(ReadIndex(cut, cut.size()));
}

TEST(ArchiveReader, EmptyFileIsAnEmptyObjectOfXrdEc) {
  const Result<TailOutcome> outcome = ParseArchiveTail({}, 0);
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(outcome->index);
  EXPECT_TRUE(outcome->index->members.empty());
  EXPECT_EQ(outcome->index->manifest, "");
}

TEST(ArchiveReader, AsksForMoreWithinBounds) {
  const Result<TailOutcome> outcome = ParseArchiveTail({}, 1ull << 60);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->need_from, (1ull << 60) - kEndRecordSize - kArchiveCommentSizeMax);
  const Bytes noise(kEndRecordSize + kArchiveCommentSizeMax, std::byte{'P'});
  EXPECT_EQ(ParseArchiveTail(noise, 1ull << 60).code(), Code::kCorruption);
}

// Counts and sizes that promise more than there is are refused before memory is spent on them.
TEST(ArchiveReader, DoesNotTrustCounts) {
  Bytes end = BuildArchive({}, "", 0);
  for (const auto& [at, value] : {std::pair{8, 1}, {12, 1}, {16, 1}, {8, 0x7f}, {4, 1}, {6, 1}}) {
    Bytes changed = end;
    changed[static_cast<size_t>(at)] = static_cast<std::byte>(value);
    if (at == 8) changed[10] = static_cast<std::byte>(value);
    EXPECT_EQ(ParseArchiveTail(changed, changed.size()).code(), Code::kCorruption) << at;
    EXPECT_EQ(ParseArchiveTail(changed, uint64_t{1} << 40).code(), Code::kCorruption) << at;
  }
  for (size_t at = 8; at < 20; ++at) end[at] = std::byte{0xff};
  EXPECT_EQ(ParseArchiveTail(end, end.size()).code(), Code::kCorruption);
}

TEST(ArchiveReader, RefusesWhatXecNeverWrites) {
  const auto changed = [](size_t record_offset, uint8_t value) {
    Bytes archive = BuildArchive({{{0, 0}, Pattern(10, 1)}, {{0, 1}, Pattern(10, 2)}}, "", 0);
    const size_t record = AsText(archive).find("PK\x01\x02");
    archive[record + record_offset] = static_cast<std::byte>(value);
    return ReadIndex(archive, archive.size());
  };
  EXPECT_TRUE(changed(12, 1));    // DOS time
  EXPECT_FALSE(changed(8, 1));    // encrypted
  EXPECT_FALSE(changed(8, 8));    // data descriptor
  EXPECT_FALSE(changed(10, 8));   // deflated
  EXPECT_FALSE(changed(20, 11));  // sizes differ
  EXPECT_FALSE(changed(32, 1));   // member comment
  EXPECT_FALSE(changed(34, 1));   // disk
  EXPECT_FALSE(changed(42, 1));   // does not begin at 0
  EXPECT_FALSE(changed(46, 'x'));  // another name
  EXPECT_FALSE(changed(52, '1'));  // obj.0.1 twice
}

TEST(ArchiveReader, LocalHeaderMustAgreeWithTheDirectory) {
  const Bytes archive = SmallArchive(4096);
  const ArchiveMember member = ReadIndex(archive, 50)->members[0];
  const ByteSpan header = ByteSpan(archive).first(member.data_offset);
  EXPECT_TRUE(ParseLocalHeader(header, member));
  ArchiveMember other = member;
  other.name.chunk ^= 1;
  EXPECT_EQ(ParseLocalHeader(header, other).code(), Code::kCorruption);
  other = member;
  other.crc32 ^= 1;
  EXPECT_EQ(ParseLocalHeader(header, other).code(), Code::kCorruption);
  other = member;
  other.size_bytes += 1;
  EXPECT_EQ(ParseLocalHeader(header, other).code(), Code::kCorruption);
  for (size_t size = 0; size < header.size(); ++size)
    EXPECT_FALSE(ParseLocalHeader(header.first(size), member));
  EXPECT_FALSE(ParseLocalHeader(ByteSpan(archive).first(header.size() + 1), member));
}

TEST(ArchiveReader, NewerPageChecksumsAreNamedSo) {
  Bytes archive = SmallArchive(4096);
  const ArchiveMember member = ReadIndex(archive, 50)->members[0];
  archive[30 + 7 + 4] = std::byte{2};
  const Result<PageChecksumTable> table =
      ParseLocalHeader(ByteSpan(archive).first(member.data_offset), member);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.code(), Code::kUnsupported);
}

// A member that has a chunk's bytes and no chunk's name would be data that nobody reads.
TEST(ArchiveReader, ARunFillerHasNoData) {
  EXPECT_TRUE(ReadIndex(BuildArchive({{{0, 1}, Pattern(9, 1)}, {{0, 32}, {}}}, "m\n", 0), 500));
  EXPECT_FALSE(ReadIndex(BuildArchive({{{0, 1}, Pattern(9, 1)}, {{0, 32}, Pattern(1, 1)}}, "m\n", 0), 500));
}

TEST(ArchiveReader, ACondensedHeaderHasNoFillers) {
  ArchiveWriter writer;
  const Bytes data = Pattern(10'000, 1);
  const Bytes header = HeaderOf(writer, {3, 1}, data, 4096);
  const ArchiveMember member{{3, 1}, 0, header.size(), 10'000, Crc32(data)};
  EXPECT_EQ(CondenseLocalHeader(header), header);
  // Fields that nobody knows, before the page checksums and behind them.
  const Bytes filler = {std::byte{0x58}, std::byte{0x46}, std::byte{2}, std::byte{0}, {}, {}};
  const Bytes foreign = {std::byte{0x12}, std::byte{0x34}, std::byte{0}, std::byte{0}};
  Bytes longer = header;
  longer.insert(longer.begin() + 37, filler.begin(), filler.end());
  Append(longer, foreign);
  Append(longer, filler);
  longer[28] = std::byte(longer.size() - 37);
  ASSERT_TRUE(ParseLocalHeader(longer, member));
  EXPECT_EQ(CondenseLocalHeader(longer), header);
  const Bytes without = HeaderOf(writer, {4, 1}, data, 0);
  EXPECT_EQ(CondenseLocalHeader(without), without);
}

TEST(ArchiveReader, AnEndIsFoundWhateverIsReadFirst) {
  const Bytes archive = BuildArchive({{{0, 1}, Pattern(8192, 1)}, {{1, 0}, Pattern(5000, 2)}}, "m\n", 4096);
  for (const uint64_t first : {uint64_t{1}, uint64_t{30}, uint64_t{200}, ArchiveEndSearch::kFirstBytes}) {
    ArchiveEndSearch search(archive.size(), first);
    std::optional<ArchiveIndex> index;
    int reads = 0;
    while (!index) {
      ++reads;
      ASSERT_LE(reads, 3);
      Result<std::optional<ArchiveIndex>> found = search.Take(ByteSpan(archive).last(search.bytes()));
      ASSERT_TRUE(found) << found.error().ToString();
      index = std::move(*found);
    }
    EXPECT_EQ(index->members.size(), 2u);
    if (first == ArchiveEndSearch::kFirstBytes) {
      EXPECT_EQ(reads, 1);
    }
  }
}

TEST(ArchiveReader, AnEndThatChangesIsNotSearchedForEver) {
  const Bytes archive = BuildArchive({{{0, 1}, Pattern(8192, 1)}}, "m\n", 4096);
  ArchiveEndSearch search(archive.size(), 30);
  ASSERT_TRUE(search.Take(ByteSpan(archive).last(30)));
  EXPECT_EQ(search.Take(ByteSpan(archive).last(search.bytes() - 1)).code(), Code::kCorruption);
  const Bytes zeros(archive.size());
  for (int reads = 0; reads < ArchiveEndSearch::kReadsMax; ++reads) {
    if (!search.Take(ByteSpan(zeros).last(search.bytes()))) return;
  }
  ADD_FAILURE() << "zeros are searched again and again";
}

}  // namespace
}  // namespace xec
