// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads a range of one stripe, decoding what is missing, corrupt or late from the other chunks.
#pragma once

#include "object/read/chunk_reader.hh"

namespace xec {

// Reads bytes [from, from + into.size()) of the stripe's object bytes, which must exist, into `into`; only
// this coroutine touches `into`. `image`, which may be null, keeps Archive::image() alive while the read goes
// on, and is let go before it waits for budget, since others may wait for it; it outlives the task. Errors:
// kDataLoss, kUnavailable (docs of ObjectReader::Read), kInvalidArgument when the budget is too small.
Task<Status> ReadStripe(ReadContext context, uint64_t stripe, uint64_t from, MutableByteSpan into,
                        std::shared_ptr<Buffer>& image);

// Reads all of a stripe's object bytes, verified or decoded, but never waits for budget: data chunk i at
// slices[i]; empty slices for empty chunks. Errors: as ReadStripe; kUnavailable when memory is not at hand.
Task<Result<SliceCache::Value>> FetchStripe(ReadContext context, uint64_t stripe);

}  // namespace xec
