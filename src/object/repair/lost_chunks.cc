// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/lost_chunks.hh"

namespace xec {
namespace {

bool IsDamage(ChunkHealth health) {
  return health == ChunkHealth::kCorrupt || health == ChunkHealth::kMissing;
}

void Tell(const GoodChunks& read, const ChunksWanted& wanted, MadeChunks& made) {
  for (uint32_t chunk = 0; chunk < read.answers.size(); ++chunk) {
    const ChunkAnswer& answer = read.answers[chunk];
    made.bytes_read += answer.data.length;
    // What is made anew now needs no further round.
    const bool asked = !((wanted.absent | wanted.wanted) & ChunkBit(chunk));
    if (asked && IsDamage(answer.health)) made.damaged.push_back({wanted.stripe, chunk, answer.problem});
  }
}

}  // namespace

Task<Result<MadeChunks>> MakeLostChunks(ReadContext context, StripeExtent extent, ChunksWanted wanted) {
  StripeBuffer::Shape shape;
  shape.geometry = context.geometry();
  shape.data_bytes_max = extent.bytes;
  shape.chunks = wanted.wanted;
  // With little memory a chunk is made anew that could be copied.
  if (shape.BufferBytes() + GoodChunksBytes(context, wanted) > context.memory().limit())
    wanted.absent |= wanted.wanted;
  const uint64_t bytes = shape.BufferBytes() + GoodChunksBytes(context, wanted);
  Result<ByteBudget::Claimed> leases = co_await context.memory().ClaimAndAcquire(bytes);
  if (!leases) co_return leases.error();
  Executor& executor = context.engine().executor();
  const TimePoint began = executor.Now();
  MadeChunks made;
  made.stripe = StripeBuffer::ToRestore(shape, extent.stripe, leases->memory.Split(shape.BufferBytes()));
  const Result<GoodChunks> read = co_await ReadGoodChunks(context, wanted, std::move(leases->memory));
  if (!read) co_return read.error();
  Tell(*read, wanted, made);
  for (uint32_t chunk = 0; chunk < read->answers.size(); ++chunk) {
    const bool is_wanted = (wanted.wanted & ChunkBit(chunk)) != 0 && made.stripe->ChunkSize(chunk) > 0;
    if (!is_wanted || made.stripe->RestoreFrom(read->bytes, read->good, chunk)) continue;
    co_return Fail(Code::kCorruption,
                   "chunk {} of stripe {} of {} was decoded, and does not give back what it was decoded from",
                   chunk, extent.stripe, context.archives->info().path.text());
  }
  made.took = executor.Now() - began;
  co_return std::move(made);
}

Task<bool> IsDamaged(ReadContext context, DamagedChunk chunk) {
  const uint64_t bytes = context.ChunkBytes(chunk.stripe, chunk.chunk);
  Result<ByteBudget::Claimed> leases = co_await context.memory().ClaimAndAcquire(context.SlotBytes(bytes));
  if (!leases) co_return false;
  const ChunkAnswer answer =
      co_await ReadChunk(context, MemberName{static_cast<uint32_t>(chunk.stripe), chunk.chunk},
                         ChunkRange{0, bytes}, std::move(leases->memory), false);
  co_return IsDamage(answer.health);
}

}  // namespace xec
