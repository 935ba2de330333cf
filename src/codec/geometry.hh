// SPDX-License-Identifier: LGPL-3.0-or-later
// Geometry: how bytes that are coded together are cut into stripes, chunks and pages. Pure arithmetic, no
// state. "Object" here is an object of one part, or one part of it (stripe_map.hh).
//
//   object     |0 . . . . . . . . . . . . . . . . . . . . . . . . . object_size|      k = 4, m = 2
//               \____ stripe 0 _____/\____ stripe 1 _____/\__ stripe 2 (short)_/
//
//                  data chunks, in object order         parity chunks
//                chunk 0  chunk 1  chunk 2  chunk 3    chunk 4  chunk 5
//   stripe 0    |#######||#######||#######||#######|  |PPPPPPP||PPPPPPP|
//   stripe 1    |#######||#######||#######||#######|  |PPPPPPP||PPPPPPP|
//   stripe 2    |#######||###|    ||       ||          |PPPPPPP||PPPPPPP|
//                 full   partial   empty    empty       size of chunk 0 of the stripe
//
//   chunk       | page | page | page | ... | short page |    one crc32c for each page
//
//   archive     one ZIP file on one data server: the member "obj.<stripe>.<chunk>" of every stripe that
//               placed a chunk there, and nothing else. Which chunk lies where is placement's business.
//
// Parity of a short stripe is computed over chunks padded with zeros (docs of reed_solomon.hh).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hh"
#include "base/units.hh"

namespace xec {

// The codec's tables and the 32-bit sets of chunks allow no more chunks in a stripe.
constexpr uint32_t kChunksMax = 32;
constexpr uint64_t kChunkSizeMin = 4 * kKiB;
constexpr uint64_t kChunkSizeMax = 64 * kMiB;
constexpr uint64_t kChunkSizeDefault = kMiB;
// Chunks begin and end on borders of disk and memory pages; XRootD's page reads need it too.
constexpr uint64_t kChunkSizeUnit = 4 * kKiB;
constexpr uint64_t kPageSizeMin = 4 * kKiB;
constexpr uint64_t kPagesPerChunkMax = 4096;
// Members an archive may have without ZIP64's count, which stock readers refuse; hence stripes of an object.
constexpr uint64_t kMembersMax = 65534;

// k data chunks and m parity chunks of chunk_size_bytes in a stripe. Chunk indices 0..k-1 are data,
// k..k+m-1 parity. A plain value; all arithmetic functions need Validate() to hold.
struct Geometry {
  uint32_t data_chunks = 8;    // k
  uint32_t parity_chunks = 2;  // m
  uint64_t chunk_size_bytes = kChunkSizeDefault;

  bool operator==(const Geometry&) const = default;

  // Parses "8+2" strictly (decimal, no blanks) and validates. Error: kInvalidArgument, quoting the text.
  static Result<Geometry> Parse(std::string_view text, uint64_t chunk_size_bytes = kChunkSizeDefault);

  // k >= 1, m >= 1, k + m <= kChunksMax; chunk size a multiple of 4 KiB from 4 KiB to 64 MiB.
  // Error: kInvalidArgument, saying which rule is broken.
  Status Validate() const;

  // "8+2": the form that Parse reads; the chunk size is not part of it.
  std::string ToString() const;

  uint32_t Total() const { return data_chunks + parity_chunks; }
  // Bytes of the object in a full stripe: k * chunk_size_bytes.
  uint64_t StripeSize() const { return data_chunks * chunk_size_bytes; }

  // 0 for an empty object.
  uint64_t StripeCount(uint64_t object_size) const;
  // Object bytes in `stripe`; 0 at and after StripeCount().
  uint64_t StripeBytes(uint64_t object_size, uint64_t stripe) const;
  // Size of a member: of a data chunk its object bytes (full, one partial, then 0), of a parity chunk the
  // size of data chunk 0 of the same stripe. 0 for a stripe that the object does not have. chunk < k + m.
  uint64_t ChunkBytes(uint64_t object_size, uint64_t stripe, uint32_t chunk) const;

  // Bytes under one page checksum: max(4 KiB, chunk_size_bytes / 4096), rounded up to a power of two. A chunk
  // has at most 4096 pages.
  uint64_t PageSize() const;
  // Pages of a chunk of `chunk_bytes` bytes, the last one perhaps short; 0 for an empty chunk.
  uint64_t PageCount(uint64_t chunk_bytes) const;
};

// `wanted`, with the chunk size doubled until an object of this size has at most kMembersMax stripes (the
// last step goes to kChunkSizeMax even if that is no doubling).
// Error: kInvalidArgument when `wanted` is not valid, or when even chunks of kChunkSizeMax do not suffice.
Result<Geometry> FitGeometry(Geometry wanted, uint64_t object_size);

}  // namespace xec
