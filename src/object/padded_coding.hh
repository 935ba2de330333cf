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

// Proves a chunk that ReconstructPadded made: the first source that has bytes is decoded from it and the other
// k-1 that it was made of, and compared. One row of the code, as for the chunk itself. Every coefficient of
// such a row is other than 0, since any k chunks determine the rest (reed_solomon.hh has the formula and its
// source); so no wrong byte of `made` goes unseen, nor a source that has changed since.
bool DecodesBack(const ReedSolomon& codec, std::span<const ByteSpan> sources, ChunkMask present,
                 uint32_t wanted, ByteSpan made);

// The parity chunks whose bytes differ from what the data gives. chunks: k+m, data padded, parity of
// `length`.
ChunkMask VerifyPadded(const ReedSolomon& codec, std::span<const ByteSpan> chunks, size_t length);

}  // namespace xec
