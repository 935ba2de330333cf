// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads a range of one stripe, decoding what is missing, corrupt or late from the other chunks.
#pragma once

#include <span>

#include "codec/reed_solomon.hh"
#include "object/chunk_reader.hh"

namespace xec {

// Reads bytes [from, from + into.size()) of the stripe's object bytes, which must exist, into `into`; only this
// coroutine touches `into`. `image`, if any, keeps small archives in memory; it is let go before waiting for budget.
// Errors: kDataLoss, kUnavailable (docs of ObjectReader::Read), kInvalidArgument when the budget is too small.
Task<Status> ReadStripe(ReadContext context, uint64_t stripe, uint64_t from, MutableByteSpan into,
                        std::shared_ptr<Buffer>& image);

// Sentence for a stripe that cannot be read: code kDataLoss if every server answered, else kUnavailable.
// answers[i] is what is known of chunk i (health kGood for those that are not to blame).
Error UnreadableStripe(const ReadContext& context, uint64_t stripe, std::span<const ChunkAnswer> answers, ChunkMask bad);

}  // namespace xec
