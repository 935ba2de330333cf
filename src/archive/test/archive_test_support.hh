// SPDX-License-Identifier: LGPL-3.0-or-later
// For the tests of this layer: whole archives in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "archive/archive_reader.hh"
#include "archive/archive_writer.hh"
#include "codec/checksum.hh"

namespace xec::archive_testing {

using Bytes = std::vector<std::byte>;

inline Bytes ToBytes(std::string_view text) {
  const ByteSpan bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

// Bytes that differ from place to place and from seed to seed.
inline Bytes Pattern(size_t size, uint32_t seed) {
  Bytes bytes(size);
  uint32_t state = seed * 2654435761u + 1;
  for (std::byte& b : bytes) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// Header of the member as the writer makes it, with page checksums where page_size is not 0.
inline Bytes HeaderOf(ArchiveWriter& writer, MemberName name, ByteSpan data, uint32_t page_size) {
  std::vector<uint32_t> pages(page_size == 0 ? 0 : (data.size() + page_size - 1) / page_size);
  if (page_size != 0) PageChecksums(data, page_size, pages);
  Bytes headroom(LocalHeaderSizeMax(pages.size()));
  const Result<PlacedHeader> placed =
      writer.LocalHeader({name, static_cast<uint32_t>(data.size()), Crc32(data), pages, page_size}, headroom);
  EXPECT_TRUE(placed) << placed.error().ToString();
  return {headroom.end() - static_cast<std::ptrdiff_t>(placed->size_bytes), headroom.end()};
}

inline void Append(Bytes& to, ByteSpan bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

inline Bytes BuildArchive(const std::vector<std::pair<MemberName, Bytes>>& members, std::string_view manifest,
                          uint32_t page_size) {
  ArchiveWriter writer;
  Bytes archive;
  for (const auto& [name, data] : members) {
    Append(archive, HeaderOf(writer, name, data, page_size));
    Append(archive, data);
  }
  EXPECT_EQ(writer.next_offset(), archive.size());
  const Result<Bytes> tail = writer.Finish(manifest);
  EXPECT_TRUE(tail) << tail.error().ToString();
  Append(archive, *tail);
  return archive;
}

// Reads an archive as the engine does: tail first, more where asked.
inline Result<ArchiveIndex> ReadIndex(ByteSpan archive, size_t first_read) {
  size_t tail_size = std::min(first_read, archive.size());
  for (int repetition = 0; repetition <= 3; ++repetition) {
    XEC_ASSIGN_OR_RETURN(TailOutcome outcome, ParseArchiveTail(archive.last(tail_size), archive.size()));
    if (outcome.index) return *std::move(outcome.index);
    EXPECT_LT(outcome.need_from, archive.size() - tail_size);
    EXPECT_LE(archive.size() - outcome.need_from, kArchiveTailBytesMax);
    tail_size = archive.size() - outcome.need_from;
  }
  ADD_FAILURE() << "the parser asks for more and more";
  return Fail(Code::kInternal, "the parser asks for more and more");
}

// The data of a member after all checks a reader makes: local header, page checksums, crc32.
inline Result<Bytes> ReadMember(ByteSpan archive, const ArchiveMember& member) {
  XEC_ASSIGN_OR_RETURN(const PageChecksumTable table,
                       ParseLocalHeader(archive.subspan(member.header_offset, member.header_size()), member));
  const ByteSpan data = archive.subspan(member.data_offset, member.size_bytes);
  if (table.page_size_bytes != 0) {
    std::vector<uint32_t> pages(table.crc32c.size());
    PageChecksums(data, table.page_size_bytes, pages);
    if (pages != table.crc32c) return Fail(Code::kCorruption, "page checksum");
  }
  if (Crc32(data) != member.crc32) return Fail(Code::kCorruption, "crc32");
  return Bytes(data.begin(), data.end());
}

}  // namespace xec::archive_testing
