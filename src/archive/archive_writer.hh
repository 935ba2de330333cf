// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveWriter: makes the records of one archive around the caller's chunks. Pure: bytes out, no I/O.
//
// Use: for every member in turn, write the header with LocalHeader(), then send header and data as one
// contiguous piece to `archive_offset`; at the end send Finish()'s bytes to next_offset(). The pieces may be
// on their way at the same time: all offsets are known at once.
//
// Not thread-safe; one per archive being written. The same calls give the same bytes: there are no times in
// an archive's records (the DOS time of every member is 1980-01-01 00:00).
//
// INV-1  Directory order = physical order, and no byte lies between a member and the next record.
// INV-2  The signature of the end record occurs once at or after the end record's start, so every reader that
//        looks for its last occurrence finds it, whatever the offsets and the manifest are.
// INV-3  ZIP64 fields and records exist only where an offset is 0xffffffff or more (stock readers break
// else).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "archive/archive_format.hh"
#include "archive/member.hh"
#include "base/bytes.hh"
#include "base/result.hh"

namespace xec {

// What LocalHeader() says about one member.
struct MemberHeader {
  MemberName name;
  uint32_t size_bytes = 0;  // of the chunk's data; may be 0
  uint32_t crc32 = 0;  // ZIP's CRC-32 of the data (Crc32())
  // crc32c of every page of the data, the last page perhaps short; with page_size_bytes = 0 the header has no
  // page checksums (as stock XrdEc writes it). Read during the call only.
  std::span<const uint32_t> page_crc32c;
  uint32_t page_size_bytes = 0;  // at least 4 KiB (Geometry::PageSize), or 0
};

// Where a member's header went.
struct PlacedHeader {
  size_t size_bytes = 0;  // of the header: its bytes are the last ones of the headroom
  uint64_t archive_offset = 0;  // of the header in the archive; the data follows at once
};

// How the run of records ends.
enum class RunEnd {
  kAsItIs,  // with the last chunk, as stock XrdEc has it
  kAligned,  // at a multiple of kRunUnit, by a run filler, if it has kAlignedRunBytesMin
};

class ArchiveWriter {
 public:
  ArchiveWriter() = default;

  // Writes the member's local header into the last bytes of `headroom`, which ends where the chunk's data
  // begins and has room for LocalHeaderSizeMax(pages) bytes (CHECKed), and takes the member into the
  // directory. Errors, the writer being unchanged: kInvalidArgument for the 65,535th member, or when the page
  // size or the number of checksums does not fit the data. A name used twice is the caller's bug; readers
  // refuse it.
  Result<PlacedHeader> LocalHeader(const MemberHeader& member, MutableByteSpan headroom);

  // Takes a member into the directory whose header, of this many bytes, is there already.
  void AddPlaced(MemberName name, uint32_t size_bytes, uint32_t crc32, uint64_t header_bytes);

  // Where the next header, or the directory, goes; the archive's size so far.
  uint64_t next_offset() const { return next_offset_; }
  size_t member_count() const { return members_.size(); }

  // Where a member went.
  struct PlacedMember {
    uint64_t data_offset = 0;  // of the chunk's data in the archive
    uint32_t size_bytes = 0;  // of the data
    uint32_t crc32 = 0;
  };
  // Quick for members that were added in the order of their stripes, one for each stripe.
  std::optional<PlacedMember> Find(MemberName name) const;

  // The bytes from next_offset() to the archive's end: the run filler where one is wanted and 65,534 members
  // are not reached, directory, ZIP64 records where needed, end record with `manifest` as its comment (text
  // of Manifest::Serialize, or empty as stock XrdEc has it). Without members: a bare end record. At most
  // ArchiveEndSizeMax bytes. May be called again with another manifest as long as no member was added
  // meanwhile. Error: kInvalidArgument when the manifest is longer than 65,534 bytes or contains the end
  // signature.
  Result<std::vector<std::byte>> Finish(std::string_view manifest, RunEnd run_end = RunEnd::kAsItIs) const;

 private:
  struct Entry {
    MemberName name;
    uint32_t size_bytes;
    uint32_t crc32;
    uint64_t offset;  // of the header
    uint64_t data_offset;
  };

  // Its header has `size_bytes`; nullopt: none is needed.
  struct RunFiller {
    Entry entry;
    size_t size_bytes = 0;
  };
  std::optional<RunFiller> MakeRunFiller() const;
  std::vector<std::byte> End(const std::optional<RunFiller>& run_filler, std::string_view comment,
                             bool record_filler) const;

  std::vector<Entry> members_;
  uint64_t next_offset_ = 0;
};

}  // namespace xec
