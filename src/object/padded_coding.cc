// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/padded_coding.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace xec {
namespace {

// So much is coded at a time, so that the blocks of all chunks together stay in the second-level cache.
constexpr size_t kBlockBytes = 32 * 1024;

alignas(64) constexpr std::array<std::byte, kBlockBytes> kZeros{};

// Gives views of equal blocks of sources of different sizes.
class PaddedBlocks {
 public:
  explicit PaddedBlocks(std::span<const ByteSpan> sources) : sources_(sources), scratch_(sources.size()) {}

  // `length` bytes of source i from `offset`; valid until the next call for i.
  const std::byte* Block(size_t i, size_t offset, size_t length) {
    const ByteSpan source = sources_[i];
    if (offset >= source.size()) return kZeros.data();
    if (offset + length <= source.size()) return source.data() + offset;
    std::vector<std::byte>& padded = scratch_[i];
    padded.assign(kBlockBytes, std::byte{0});
    std::memcpy(padded.data(), source.data() + offset, source.size() - offset);
    return padded.data();
  }

 private:
  std::span<const ByteSpan> sources_;
  std::vector<std::vector<std::byte>> scratch_;  // of the few sources that end within a block
};

}  // namespace

void EncodePadded(const ReedSolomon& codec, std::span<const ByteSpan> data,
                  std::span<const MutableByteSpan> parity, size_t length,
                  const std::function<void(size_t bytes)>& coded) {
  XEC_CHECK(data.size() == codec.data_chunks() && parity.size() == codec.parity_chunks());
  PaddedBlocks blocks(data);
  std::array<const std::byte*, kChunksMax> sources{};
  std::array<std::byte*, kChunksMax> targets{};
  for (size_t offset = 0; offset < length; offset += kBlockBytes) {
    const size_t bytes = std::min(kBlockBytes, length - offset);
    for (size_t i = 0; i < data.size(); ++i) sources[i] = blocks.Block(i, offset, bytes);
    for (size_t i = 0; i < parity.size(); ++i) targets[i] = parity[i].data() + offset;
    codec.Encode(std::span(sources).first(data.size()), std::span(targets).first(parity.size()), bytes);
    coded(offset + bytes);
  }
}

void ReconstructPadded(const ReedSolomon& codec, std::span<const ByteSpan> sources, ChunkMask present,
                       uint32_t wanted, MutableByteSpan target) {
  const uint32_t total = codec.data_chunks() + codec.parity_chunks();
  XEC_CHECK(sources.size() == total && std::popcount(present) >= static_cast<int>(codec.data_chunks()));
  PaddedBlocks blocks(sources);
  std::array<std::byte*, kChunksMax> chunks{};
  for (size_t offset = 0; offset < target.size(); offset += kBlockBytes) {
    const size_t bytes = std::min(kBlockBytes, target.size() - offset);
    for (uint32_t i = 0; i < total; ++i) {
      // Sources are only read; the codec's interface has one table for both directions.
      if (present & ChunkBit(i)) chunks[i] = const_cast<std::byte*>(blocks.Block(i, offset, bytes));
    }
    chunks[wanted] = target.data() + offset;
    const Status status = codec.Reconstruct(std::span(chunks).first(total), present, ChunkBit(wanted), bytes);
    XEC_CHECK(status.has_value(), "{}", status.has_value() ? "" : status.error().message);
  }
}

bool DecodesBack(const ReedSolomon& codec, std::span<const ByteSpan> sources, ChunkMask present,
                 uint32_t wanted, ByteSpan made) {
  const auto total = static_cast<uint32_t>(sources.size());
  ChunkMask used = 0;  // those that it was made of: the k lowest
  for (uint32_t i = 0, count = 0; i < total && count < codec.data_chunks(); ++i) {
    if (!(present & ChunkBit(i))) continue;
    used |= ChunkBit(i);
    ++count;
  }
  // The longest is as long as any chunk of the stripe.
  uint32_t proof = wanted;
  for (uint32_t i = 0; i < total; ++i) {
    if (!(used & ChunkBit(i))) continue;
    if (proof == wanted || sources[i].size() > sources[proof].size()) proof = i;
  }
  const ChunkMask others = (used & ~ChunkBit(proof)) | ChunkBit(wanted);
  std::vector<std::byte> again(kBlockBytes);
  std::vector<ByteSpan> rest(sources.begin(), sources.end());
  rest[wanted] = made;
  while (!rest[proof].empty()) {
    const size_t bytes = std::min(kBlockBytes, rest[proof].size());
    ReconstructPadded(codec, rest, others, proof, MutableByteSpan(again).first(bytes));
    if (std::memcmp(again.data(), rest[proof].data(), bytes) != 0) return false;
    for (ByteSpan& chunk : rest) chunk = chunk.subspan(std::min(bytes, chunk.size()));
  }
  return true;
}

ChunkMask VerifyPadded(const ReedSolomon& codec, std::span<const ByteSpan> chunks, size_t length) {
  const size_t total = codec.data_chunks() + codec.parity_chunks();
  XEC_CHECK(chunks.size() == total);
  PaddedBlocks blocks(chunks);
  std::array<const std::byte*, kChunksMax> pointers{};
  ChunkMask bad = 0;
  for (size_t offset = 0; offset < length; offset += kBlockBytes) {
    const size_t bytes = std::min(kBlockBytes, length - offset);
    for (size_t i = 0; i < total; ++i) pointers[i] = blocks.Block(i, offset, bytes);
    bad |= codec.Verify(std::span(pointers).first(total), bytes);
  }
  return bad;
}

}  // namespace xec
