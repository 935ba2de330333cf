// SPDX-License-Identifier: LGPL-3.0-or-later
// CRC-32C of concatenations from those of the parts, without the bytes: from checksums of pages and chunks to
// that of the object. Pure functions, thread-safe.
//
// A finished CRC of a followed by b is crc(a) * x^(8 * |b|) + crc(b) in GF(2)[x] modulo the polynomial (the
// start and final complements cancel). Source: M. Adler, zlib crc32_combine, the idea only.
#pragma once

#include <array>
#include <cstdint>

namespace xec {

// Arguments: checksum of the first part, of the second, and the second's length in bytes.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, uint64_t second_bytes);

// Crc32cCombine for second parts of one fixed length, in a few nanoseconds: four look-ups in 4 KiB of tables
// built by the constructor. Immutable.
class Crc32cCombiner {
 public:
  explicit Crc32cCombiner(uint64_t second_bytes);

  uint64_t second_bytes() const { return second_bytes_; }
  uint32_t Combine(uint32_t first, uint32_t second) const {
    return tables_[0][first & 0xff] ^ tables_[1][(first >> 8) & 0xff] ^ tables_[2][(first >> 16) & 0xff] ^
           tables_[3][first >> 24] ^ second;
  }

 private:
  uint64_t second_bytes_;
  // tables_[i][b] = (b << 8i) * x^(8 * second_bytes)
  std::array<std::array<uint32_t, 256>, 4> tables_;
};

}  // namespace xec
