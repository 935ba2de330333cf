// SPDX-License-Identifier: LGPL-3.0-or-later
// Reed-Solomon code of one stripe over GF(2^8), polynomial 0x11d, by ISA-L; bit for bit the code of XrdEc.
//
// Parity chunk i (k <= i < k+m) is the sum over j < k of c(i,j) * data chunk j, where
//     c(i,j) = 1 / (i xor j)   for k >= 2      Source: ISA-L gf_gen_cauchy1_matrix; XrdEc uses the same
//     c(i,0) = 1               for k == 1      Source: XrdEc's RedundancyProvider replicates when k is 1
// (the Cauchy formula would give other bytes for k = 1 and i > 1, so k = 1 is a case of its own).
// Any k chunks of a stripe determine all others.
//
// Shapes. All chunks of one call have the same `length` in bytes, 0 <= length <= kChunkSizeMax. A shorter
// chunk (short last stripe) is padded with zeros by the caller; `length` need then be no more than the size
// of data chunk 0, because all bytes after it, parity included, are zero. Buffers belong to the caller, are
// not kept, need no alignment (64 is fastest), and outputs overlap nothing. Wrong shapes are CHECKed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.hh"
#include "base/result.hh"
#include "codec/geometry.hh"

namespace xec {

// A set of chunks of one stripe: bit i stands for chunk i.
using ChunkMask = uint32_t;
constexpr ChunkMask ChunkBit(uint32_t chunk) { return ChunkMask{1} << chunk; }
// The chunks 0 .. count-1; count <= 32.
constexpr ChunkMask FirstChunks(uint32_t count) {
  return count >= 32 ? ~ChunkMask{0} : (ChunkMask{1} << count) - 1;
}

// Thread-safe: all functions may run at once on one object.
//
// INV-1  After construction only the cache of decode tables changes, under mutex_.
// INV-2  A table in the cache is never modified; users hold it by shared_ptr, so eviction is harmless.
// INV-3  The cache has at most kDecodeTablesMax tables.
class ReedSolomon {
 public:
  // Least recently used tables go first. One table is at most 8 KiB, so a codec keeps at most 1 MiB;
  // while one server is down, 8+2 uses ten patterns.
  static constexpr size_t kDecodeTablesMax = 128;

  // CHECKs that the geometry is valid. The chunk size plays no role.
  explicit ReedSolomon(const Geometry& geometry);
  ReedSolomon(const ReedSolomon&) = delete;
  ReedSolomon& operator=(const ReedSolomon&) = delete;

  uint32_t data_chunks() const { return k_; }
  uint32_t parity_chunks() const { return m_; }

  // data: k pointers to `length` bytes; parity: m pointers to `length` bytes, overwritten.
  void Encode(std::span<const std::byte* const> data, std::span<std::byte* const> parity,
              size_t length) const;

  // chunks: k+m pointers to `length` bytes, data first. Returns the parity chunks whose bytes differ from
  // what the data gives; 0 when the stripe is consistent. Uses a small scratch buffer of its own.
  ChunkMask Verify(std::span<const std::byte* const> chunks, size_t length) const;

  // Computes the chunks in `wanted` from those in `present`. chunks: k+m pointers; those in `present` are
  // read (only k of them: the lowest indices), those in `wanted` are overwritten, others may be null.
  // The two sets are disjoint and within k+m (CHECKed). Data and parity may be wanted, in any number <= m.
  // Error: kDataLoss when fewer than k chunks are present; then nothing has been written.
  Status Reconstruct(std::span<std::byte* const> chunks, ChunkMask present, ChunkMask wanted,
                     size_t length) const;

  struct CacheStatistics {
    size_t tables = 0;         // in the cache at the moment
    uint64_t tables_made = 0;  // since construction: look-ups that the cache could not answer
  };
  CacheStatistics DecodeCache() const;

 private:
  struct DecodeTable;
  using TablePtr = std::shared_ptr<const DecodeTable>;
  using Lru = std::list<std::pair<uint64_t, TablePtr>>;

  TablePtr FindTable(ChunkMask sources, ChunkMask wanted) const;
  TablePtr MakeTable(ChunkMask sources, ChunkMask wanted) const;

  // Immutable after construction.
  const uint32_t k_;
  const uint32_t m_;
  std::vector<uint8_t> matrix_;         // (k+m) x k, row-major: identity, then the coefficients above
  std::vector<uint8_t> encode_tables_;  // ISA-L's expansion, 32 bytes for each of the m x k coefficients

  // Most recently used first; the key is sources << 32 | wanted.
  mutable Mutex mutex_;
  mutable Lru recent_ XEC_GUARDED_BY(mutex_);
  mutable std::unordered_map<uint64_t, Lru::iterator> index_ XEC_GUARDED_BY(mutex_);
  mutable uint64_t tables_made_ XEC_GUARDED_BY(mutex_) = 0;
};

// The process's codec for k and m, made on first use and never destroyed; the chunk size is ignored, so there
// are fewer than 32 x 32 of them. CHECKs that the geometry is valid. Thread-safe.
const ReedSolomon& CodecFor(const Geometry& geometry);

}  // namespace xec
