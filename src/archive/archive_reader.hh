// SPDX-License-Identifier: LGPL-3.0-or-later
// Parsers for the records of an archive. Pure functions over untrusted bytes: whatever the bytes are, the
// answer is a value or an error, memory stays within a small multiple of the input, time is O(n log n).
//
// Strict: accepts what XEC and stock XrdEc write and little else. In particular the records must tile the
// archive: members from offset 0 without gaps, directory, ZIP64 records, end record, end of the archive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive_format.hh"
#include "archive/member.hh"
#include "base/bytes.hh"
#include "base/result.hh"

namespace xec {

// One record of the directory. The header lies at [header_offset, data_offset), the data at
// [data_offset, data_offset + size_bytes), and there the next record begins.
struct ArchiveMember {
  MemberName name;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  uint32_t size_bytes = 0;
  uint32_t crc32 = 0;  // of the data: ZIP's CRC-32; CRC-32C at sites that configured XrdEc so

  uint64_t header_size() const { return data_offset - header_offset; }
  // It holds no chunk, and its header is there for its length.
  bool IsRunFiller() const { return name.chunk >= kRunFillerChunk; }
  bool operator==(const ArchiveMember&) const = default;
};

struct ArchiveIndex {
  std::vector<ArchiveMember> members;  // in physical order; no name occurs twice
  std::string manifest;                // the ZIP comment as found; empty in archives of stock XrdEc
};

// The answer to a tail: the index, or the offset from which on the archive must be read to get it.
struct TailOutcome {
  std::optional<ArchiveIndex> index;
  uint64_t need_from = 0;  // only without index; always before the tail that was given
};

// Parses the end of an archive of `archive_size` bytes. `tail` is its last tail.size() bytes, at most
// archive_size (CHECKed). At most three repetitions with the offset asked for reach the index. need_from is
// never further than kArchiveTailBytesMax from the end. An archive of 0 bytes (an empty object of stock
// XrdEc) has an empty index. Errors: kCorruption with the reason; the caller knows the archive's name and
// adds it.
Result<TailOutcome> ParseArchiveTail(ByteSpan tail, uint64_t archive_size);

// Reads the end of an archive whose size is known: says what to read until the index is found, which is at
// once where the first read has as much as the end. One owner.
class ArchiveEndSearch {
 public:
  // Of the first read, where nothing better is known.
  static constexpr uint64_t kFirstBytes = 64 * 1024;
  // A fourth one comes only where an archive changes while it is read.
  static constexpr int kReadsMax = 4;

  explicit ArchiveEndSearch(uint64_t archive_size, uint64_t first_bytes = kFirstBytes)
      : size_(archive_size), from_(archive_size - std::min(archive_size, first_bytes)) {}

  // [from(), from() + bytes()) is to be read next.
  uint64_t from() const { return from_; }
  uint64_t bytes() const { return size_ - from_; }
  // Takes what was read; nullopt: to be read again, from further ahead. Errors: kCorruption with the reason,
  // also when fewer bytes were read than asked for.
  Result<std::optional<ArchiveIndex>> Take(ByteSpan read);

 private:
  const uint64_t size_;
  uint64_t from_;
  int reads_ = 0;
};

constexpr uint64_t kArchiveTailBytesMax = kMembersMax * kDirectoryRecordSizeMax + kZip64EndSize +
                                          kZip64LocatorSize + kEndRecordSize + kArchiveCommentSizeMax;

struct PageChecksumTable {
  uint32_t page_size_bytes = 0;  // 0: the header has no page checksums; check the member's crc32 instead
  std::vector<uint32_t> crc32c;  // one for each page of the data
};

// Parses a member's local header, `header` being the archive's bytes [header_offset, data_offset), and checks
// it against the directory's record. Errors: kCorruption when they differ in anything; kUnsupported when the
// page checksums have a newer form.
Result<PageChecksumTable> ParseLocalHeader(ByteSpan header, const ArchiveMember& member);

// What our writer puts into a local header, without fillers and fields of others; at most
// LocalHeaderSizeMax(pages) bytes. `header`: one that ParseLocalHeader accepts, which accepts the answer,
// too.
std::vector<std::byte> CondenseLocalHeader(ByteSpan header);

}  // namespace xec
