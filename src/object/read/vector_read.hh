// SPDX-License-Identifier: LGPL-3.0-or-later
// Vector reads: many pieces of one object with one request to each archive that has some of them.
#pragma once

#include <vector>

#include "object/read/chunk_reader.hh"

namespace xec {

// Bytes of one chunk that somebody wants.
struct ChunkPiece {
  uint64_t stripe = 0;
  uint32_t chunk = 0;
  ChunkRange exact;  // any bytes of the chunk
  MutableByteSpan into;
};

// Reads and verifies what can be had at once: pieces on servers that are well, answer in time and have good
// bytes, with memory that is at hand. Answers those that were not read, for ReadStripe, in any order. Only
// this coroutine touches the memory of the pieces. The manifest has pages.
Task<std::vector<ChunkPiece>> ReadPieces(ReadContext context, std::vector<ChunkPiece> pieces);

}  // namespace xec
