// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads what a repair needs of a stripe: chunks whole and verified, and no more of them than it takes.
#pragma once

#include <vector>

#include "object/read/chunk_reader.hh"

namespace xec {

// Which chunks to read, so that each wanted one is good itself or can be decoded from any k. Pure.
class ChunkChoice {
 public:
  // `empty`: chunks without bytes, which count as read. `absent`: nobody is asked for these. `order`: of the
  // chunks, by how gladly they are read; wanted ones may be among them.
  ChunkChoice(uint32_t data_chunks, ChunkMask empty, ChunkMask wanted, ChunkMask absent,
              std::vector<uint32_t> order)
      : data_chunks_(data_chunks),
        wanted_(wanted),
        good_(empty),
        bad_(absent & ~empty),
        order_(std::move(order)) {}

  // Chunks to ask for now, which counts as done. `late`: of those asked for, others take their place.
  ChunkMask Ask(ChunkMask late);
  void OnGood(uint32_t chunk) { good_ |= ChunkBit(chunk); }
  void OnBad(uint32_t chunk) { bad_ |= ChunkBit(chunk); }
  // Is every wanted chunk good, or are there k?
  bool Done() const;

  ChunkMask good() const { return good_; }  // the empty ones too
  ChunkMask bad() const { return bad_; }  // the absent ones too

 private:
  bool Enough(ChunkMask chunks) const;

  const uint32_t data_chunks_;
  const ChunkMask wanted_;
  ChunkMask good_;
  ChunkMask bad_;
  ChunkMask asked_ = 0;
  const std::vector<uint32_t> order_;
};

struct ChunksWanted {
  uint64_t stripe = 0;
  ChunkMask wanted = 0;
  ChunkMask absent = 0;  // are not asked for
  ChunkMask away = 0;  // of these: their servers do not answer now
};

struct GoodChunks {
  std::vector<ByteSpan> bytes;  // by chunk; only of good ones
  ChunkMask good = 0;  // with those that have no bytes
  std::vector<ChunkAnswer> answers;  // by chunk, also of bad ones that were asked for; keep the bytes
};

// Budget that it needs: for all chunks that may be asked for.
uint64_t GoodChunksBytes(const ReadContext& context, const ChunksWanted& wanted);

// `lease` has GoodChunksBytes. Chunks that are late are not waited for if there are others. Errors: those of
// UnreadableStripe.
Task<Result<GoodChunks>> ReadGoodChunks(ReadContext context, ChunksWanted wanted, ByteBudget::Lease lease);

}  // namespace xec
