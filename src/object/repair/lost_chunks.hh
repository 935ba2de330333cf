// SPDX-License-Identifier: LGPL-3.0-or-later
// Makes chunks of one stripe anew that are lost, from any k that are not: these are read once, and nothing
// else of the stripe.
#pragma once

#include <memory>
#include <vector>

#include "object/read/good_chunks.hh"
#include "object/write/stripe_buffer.hh"

namespace xec {

// A chunk that turned out to be damaged when it was read.
struct DamagedChunk {
  uint64_t stripe = 0;
  uint32_t chunk = 0;
  std::string problem;  // a clause
};

struct MadeChunks {
  std::shared_ptr<StripeBuffer> stripe;  // has the wanted chunks, ready to be placed
  std::vector<DamagedChunk> damaged;     // met on the way
  uint64_t bytes_read = 0;
  Duration took{0};  // with memory at hand
};

// Waits for the memory that it needs with none in hand; what it answers has that of the wanted chunks.
// `extent`: of the stripe. Errors: those of ReadGoodChunks and ClaimAndAcquire; kCorruption when a chunk that
// was made does not give back what it was made of.
Task<Result<MadeChunks>> MakeLostChunks(ReadContext context, StripeExtent extent, ChunksWanted wanted);

// Is the chunk damaged still, as far as can be known now?
Task<bool> IsDamaged(ReadContext context, DamagedChunk chunk);

}  // namespace xec
