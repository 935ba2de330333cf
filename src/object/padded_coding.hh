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

// The parity chunks whose bytes differ from what the data gives. chunks: k+m, data padded, parity of
// `length`.
ChunkMask VerifyPadded(const ReedSolomon& codec, std::span<const ByteSpan> chunks, size_t length);

}  // namespace xec
