// SPDX-License-Identifier: LGPL-3.0-or-later
// The checksums of chunks, pages and members. Pure functions, thread-safe; digests of whole objects are in
// object_digests.hh.
//
// Incremental use: Crc32c(b, Crc32c(a)) is the checksum of a followed by b. All values are the finished
// ones (final complement applied), as published: Crc32c("123456789") = 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hh"

namespace xec {

// CRC-32 of ZIP, gzip, Ethernet (reflected 0x04c11db7); what ZIP records hold. XRootD calls it "zcrc32":
// its "crc32" is another one, see Cksum.
uint32_t Crc32(ByteSpan bytes, uint32_t previous = 0);

// CRC-32C (Castagnoli, iSCSI; reflected 0x1edc6f41). Source: RFC 3720, B.4.
uint32_t Crc32c(ByteSpan bytes, uint32_t previous = 0);

// Adler-32. Source: RFC 1950.
uint32_t Adler32(ByteSpan bytes, uint32_t previous = 1);

// The CRC that XRootD names "crc32": the one of the POSIX command cksum (not reflected 0x04c11db7, start 0,
// the length in little-endian bytes without leading zeros appended, complement).
// Source: XRootD XrdCksCalccrc32.hh; POSIX.1, cksum. Feed bytes with Update in order, ask Value at any time.
class Cksum {
 public:
  void Update(ByteSpan bytes);
  uint32_t Value() const;

 private:
  uint32_t complement_ = 0xffffffff;
  uint64_t length_bytes_ = 0;
};

// One crc32c for each page of `chunk`; the last page may be short. page_size > 0.
// out.size() must be ceil(chunk.size() / page_size), CHECKed: Geometry::PageCount tells it.
void PageChecksums(ByteSpan chunk, size_t page_size, std::span<uint32_t> out);

}  // namespace xec
