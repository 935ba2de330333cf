// SPDX-License-Identifier: LGPL-3.0-or-later
// Sizes, signatures and limits of the archive format, shared by writer and reader.
// Source: PKWARE APPNOTE 6.3.10, sections 4.3 to 4.5; docs/format.md. All integers are little-endian.
//
//   archive   | header 0 | data 0 | header 1 | data 1 | ... | directory | [ZIP64 end | locator] | end |
//   manifest |
//             ^ offset 0            ^ no byte in between      ^ one record a member, in physical order
//             |<----------------- run ----------------->|
#pragma once

#include <cstddef>
#include <cstdint>

#include "archive/member.hh"
#include "codec/geometry.hh"

namespace xec {

constexpr uint32_t kLocalHeaderSignature = 0x04034b50;
constexpr uint32_t kDirectoryRecordSignature = 0x02014b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr uint32_t kEndSignature = 0x06054b50;

constexpr size_t kLocalHeaderFixedSize = 30;
constexpr size_t kDirectoryRecordFixedSize = 46;
constexpr size_t kZip64EndSize = 56;
constexpr size_t kZip64LocatorSize = 20;
constexpr size_t kEndRecordSize = 22;
constexpr size_t kArchiveCommentSizeMax = 65535;

// A 32-bit field with this value says "see the ZIP64 extra field".
constexpr uint32_t kZip64Mark = 0xffffffff;
constexpr uint16_t kZip64ExtraId = 0x0001;

// Private extra field "page checksums": not in APPNOTE's list of assigned ids (4.5.2, 4.6.1); the bytes read
// "XC" in a dump. Body: version, page size in bytes, then one crc32c for each page of the data.
constexpr uint16_t kPageExtraId = 0x4358;
constexpr uint16_t kPageExtraVersion = 1;
constexpr size_t kExtraFieldHeaderSize = 4;
constexpr size_t kPageExtraFixedSize = 2 + 4;
// Private extra field "filler": no meaning; the writer adds an empty one where an offset would otherwise
// look like the signature of the end record, and a longer one in a run filler. The bytes read "XF".
constexpr uint16_t kFillerExtraId = 0x4658;

// A run of records of so many bytes or more ends at a multiple of the unit, so that a file system that can
// share blocks between files can take the run over as it is. A member without data, the run filler, brings it
// there by the length of its header. Its chunk number is one that no stripe has.
constexpr uint64_t kAlignedRunBytesMin = 64 * 1024;
constexpr uint64_t kRunUnit = 4096;
constexpr uint32_t kRunFillerChunk = kChunksMax;

// Room for the ZIP64 field with everything in it and for our filler; larger ones are refused, so that the
// count of members bounds the size of a directory.
constexpr size_t kDirectoryExtraSizeMax = 64;
constexpr uint64_t kDirectoryRecordSizeMax =
    kDirectoryRecordFixedSize + kMemberNameSizeMax + kDirectoryExtraSizeMax;

// Upper bound of a local header with `page_count` page checksums: the headroom a chunk buffer needs.
constexpr size_t LocalHeaderSizeMax(uint64_t page_count) {
  return kLocalHeaderFixedSize + kMemberNameSizeMax + 2 * kExtraFieldHeaderSize + kPageExtraFixedSize +
         4 * static_cast<size_t>(page_count);
}
static_assert(LocalHeaderSizeMax(kPagesPerChunkMax) < 65535);

// The headroom for any chunk of this geometry.
inline size_t LocalHeaderSizeMax(const Geometry& geometry) {
  return LocalHeaderSizeMax(geometry.PageCount(geometry.chunk_size_bytes));
}

// Bytes from the directory on in an archive of `member_count` members, at most: what to read of an archive's
// end to need one read only. `manifest_size` is kManifestSizeMax where it is not known.
constexpr uint64_t ArchiveTailSizeMax(uint64_t member_count, uint64_t manifest_size) {
  return member_count * (kDirectoryRecordFixedSize + kMemberNameSizeMax + kExtraFieldHeaderSize + 8) +
         kZip64EndSize + kZip64LocatorSize + kEndRecordSize + kExtraFieldHeaderSize + 1 + manifest_size;
}

// Bytes that follow the last chunk when the chunks and their headers have `run_bytes`, at most.
constexpr uint64_t ArchiveEndSizeMax(uint64_t run_bytes, uint64_t member_count, uint64_t manifest_size) {
  if (run_bytes < kAlignedRunBytesMin) return ArchiveTailSizeMax(member_count, manifest_size);
  return kLocalHeaderFixedSize + kMemberNameSizeMax + kExtraFieldHeaderSize + kRunUnit +
         ArchiveTailSizeMax(member_count + 1, manifest_size);
}

}  // namespace xec
