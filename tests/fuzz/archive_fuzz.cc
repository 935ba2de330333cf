// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as an archive. The first two bytes choose how much of the tail is read first; the rest is the
// archive. Checked beside the absence of crashes: the parser's promises about what it asks for and what it
// returns, and that an archive with its header parsed is written again with the same records.
#include <algorithm>
#include <cstdint>

#include "archive/archive_reader.hh"
#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "base/check.hh"

namespace xec {
namespace {

void CheckIndex(const ArchiveIndex& index, ByteSpan archive) {
  uint64_t at = 0;
  ArchiveWriter writer;
  std::vector<std::byte> headroom(LocalHeaderSizeMax(kPagesPerChunkMax));
  for (const ArchiveMember& member : index.members) {
    XEC_CHECK(member.header_offset == at && member.data_offset > at);
    at = member.data_offset + member.size_bytes;
    XEC_CHECK(at <= archive.size());
    const ByteSpan header = archive.subspan(member.header_offset, member.header_size());
    const Result<PageChecksumTable> table = ParseLocalHeader(header, member);
    if (!table) continue;
    const std::vector<std::byte> fields = CondenseLocalHeader(header);
    XEC_CHECK(fields.size() <= LocalHeaderSizeMax(table->crc32c.size()));
    const Result<PageChecksumTable> same = ParseLocalHeader(fields, member);
    XEC_CHECK(same.has_value() && same->crc32c == table->crc32c);
    const Result<PlacedHeader> placed = writer.LocalHeader(
        {member.name, member.size_bytes, member.crc32, table->crc32c, table->page_size_bytes}, headroom);
    XEC_CHECK(placed.has_value());
    ArchiveMember copy = member;
    copy.header_offset = placed->archive_offset;
    copy.data_offset = placed->archive_offset + placed->size_bytes;
    const Result<PageChecksumTable> again =
        ParseLocalHeader(ByteSpan(headroom).last(placed->size_bytes), copy);
    XEC_CHECK(again.has_value() && again->crc32c == table->crc32c);
  }
  const Result<std::vector<std::byte>> tail = writer.Finish("again\n");
  XEC_CHECK(tail.has_value());
  const Result<TailOutcome> outcome = ParseArchiveTail(*tail, writer.next_offset() + tail->size());
  XEC_CHECK(outcome.has_value() && outcome->index.has_value());
  XEC_CHECK(outcome->index->members.size() == writer.member_count());
}

void Run(ByteSpan input) {
  ByteReader reader(input);
  const std::optional<uint16_t> first_read = reader.Read<uint16_t>();
  if (!first_read) return;
  const ByteSpan archive = input.subspan(2);
  size_t tail_size = std::min<size_t>(*first_read, archive.size());
  for (int repetition = 0; repetition <= 3; ++repetition) {
    const Result<TailOutcome> outcome = ParseArchiveTail(archive.last(tail_size), archive.size());
    if (!outcome) return;
    if (outcome->index) {
      CheckIndex(*outcome->index, archive);
      (void)Manifest::Parse(outcome->index->manifest).has_value();
      return;
    }
    XEC_CHECK(outcome->need_from < archive.size() - tail_size);
    tail_size = archive.size() - outcome->need_from;
  }
  XEC_CHECK(false, "the parser asked for more four times");
}

}  // namespace
}  // namespace xec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xec::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
