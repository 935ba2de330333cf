// SPDX-License-Identifier: LGPL-3.0-or-later
// Encoding and decoding of stripes whose chunks have different sizes (the last one of an object): every
// source counts as padded with zeros, without anybody storing the zeros.
#pragma once

#include <functional>
#include <span>

#include "base/bytes.hh"
#include "codec/reed_solomon.hh"

namespace xec {

// data: k sources of at most `length` bytes each (empty allowed). parity: m targets of `length` bytes.
// `coded` hears after each block how many bytes of every target are done by then, while the last ones are in
// the processor's cache.
void EncodePadded(const ReedSolomon& codec, std::span<const ByteSpan> data,
                  std::span<const MutableByteSpan> parity, size_t length,
                  const std::function<void(size_t bytes)>& coded);

// sources: k+m; those in `present` are read (at least k bits, CHECKed), padded to target.size() where
// shorter. Writes the bytes of chunk `wanted` to `target`. All sources begin at the same offset within their
// chunk, the target too.
void ReconstructPadded(const ReedSolomon& codec, std::span<const ByteSpan> sources, ChunkMask present,
                       uint32_t wanted, MutableByteSpan target);

// Proves a chunk that ReconstructPadded made: the longest of the k chunks that it was made of is decoded from
// it and the others, and compared. That is one row of the inverse of the code's matrix, as for the chunk
// itself (reed_solomon.hh has the formula and its source). Any k chunks determine the rest, so no coefficient
// of such a row is 0: a wrong byte of `made` shows, and one of the sources that has changed since.
bool DecodesBack(const ReedSolomon& codec, std::span<const ByteSpan> sources, ChunkMask present,
                 uint32_t wanted, ByteSpan made);

// The parity chunks whose bytes differ from what the data gives. chunks: k+m, data padded, parity of
// `length`.
ChunkMask VerifyPadded(const ReedSolomon& codec, std::span<const ByteSpan> chunks, size_t length);

}  // namespace xec
