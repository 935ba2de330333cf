// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/good_chunks.hh"

#include <algorithm>
#include <bit>

#include "commit/engine/server_gather.hh"
#include "commit/steps/place_copy.hh"

namespace xec {

bool ChunkChoice::Enough(ChunkMask chunks) const {
  return std::popcount(chunks) >= static_cast<int>(data_chunks_);
}

bool ChunkChoice::Done() const { return (wanted_ & ~good_) == 0 || Enough(good_); }

ChunkMask ChunkChoice::Ask(ChunkMask late) {
  // A wanted chunk that is there is copied: that takes one read in place of k.
  ChunkMask ask = wanted_ & ~good_ & ~bad_ & ~asked_;
  ChunkMask expected = good_ | ((asked_ | ask) & ~bad_ & ~late);
  const ChunkMask to_decode = wanted_ & ~expected;
  if (to_decode != 0) {
    for (const uint32_t chunk : order_) {
      if (Enough(expected)) break;
      const ChunkMask bit = ChunkBit(chunk);
      if ((good_ | bad_ | asked_ | ask) & bit) continue;
      ask |= bit;
      expected |= bit;
    }
  }
  asked_ |= ask;
  return ask;
}

namespace {

ChunkMask EmptyChunks(const ReadContext& context, uint64_t stripe) {
  ChunkMask empty = 0;
  for (uint32_t chunk = 0; chunk < context.geometry().Total(); ++chunk) {
    if (context.ChunkBytes(stripe, chunk) == 0) empty |= ChunkBit(chunk);
  }
  return empty;
}

// Data before parity where servers are alike: of these a lost one is decoded with the fewest steps.
std::vector<uint32_t> ByServer(const ReadContext& context, uint64_t stripe) {
  std::vector<std::pair<int, uint32_t>> ranked;
  for (uint32_t chunk = 0; chunk < context.geometry().Total(); ++chunk) {
    const Result<MemberIndex> server = context.ServerOf(stripe, chunk);
    ranked.emplace_back(server ? context.engine().Rank(*server) : ServerHealth::kWorstRank + 1, chunk);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<uint32_t> order;
  for (const auto& [rank, chunk] : ranked) order.push_back(chunk);
  return order;
}

class Reading {
 public:
  Reading(ReadContext context, const ChunksWanted& wanted, ByteBudget::Lease lease)
      : context_(std::move(context)),
        stripe_(wanted.stripe),
        choice_(context_.geometry().data_chunks, EmptyChunks(context_, stripe_), wanted.wanted, wanted.absent,
                ByServer(context_, stripe_)),
        lease_(std::move(lease)) {
    read_.answers.resize(context_.geometry().Total());
    for (uint32_t chunk = 0; chunk < read_.answers.size(); ++chunk) {
      if (!(choice_.bad() & ChunkBit(chunk))) continue;
      const bool away = (wanted.away & ChunkBit(chunk)) != 0;
      ChunkAnswer& answer = read_.answers[chunk];
      answer.health = away ? ChunkHealth::kUnavailable : ChunkHealth::kMissing;
      answer.problem =
          fmt::format("chunk {} {}", chunk, away ? "is on a server that does not answer" : "is lost");
    }
  }

  Task<Result<GoodChunks>> Run() {
    Gather gather(context_.engine(), ReadKindOf(context_.geometry().chunk_size_bytes), kRepairPatience);
    while (!choice_.Done()) {
      Start(gather);
      if (gather.pending() == 0) co_return UnreadableStripe(context_, stripe_, read_.answers, choice_.bad());
      Gather::Event event = co_await gather.Next();
      if (!event.value) continue;
      const auto chunk = static_cast<uint32_t>(event.tag);
      const bool good = event.value->health == ChunkHealth::kGood;
      read_.answers[chunk] = std::move(*event.value);
      if (good) choice_.OnGood(chunk);
      if (!good) choice_.OnBad(chunk);
    }
    read_.good = choice_.good();
    read_.bytes.resize(read_.answers.size());
    for (uint32_t chunk = 0; chunk < read_.answers.size(); ++chunk) {
      if (read_.good & ChunkBit(chunk)) read_.bytes[chunk] = read_.answers[chunk].data.span();
    }
    co_return std::move(read_);
  }

 private:
  using Gather = ServerGather<ChunkAnswer>;

  void Start(Gather& gather) {
    ChunkMask late = 0;
    for (const size_t tag : gather.LateTags()) late |= ChunkBit(static_cast<uint32_t>(tag));
    const ChunkMask ask = choice_.Ask(late);
    for (uint32_t chunk = 0; chunk < read_.answers.size(); ++chunk) {
      if (!(ask & ChunkBit(chunk))) continue;
      const uint64_t bytes = context_.ChunkBytes(stripe_, chunk);
      const uint64_t slot = context_.SlotBytes(bytes);
      // What nobody has is answered at once.
      const Result<MemberIndex> holder = context_.ServerOf(stripe_, chunk);
      const MemberIndex server = holder ? *holder : MemberIndex{0};
      gather.Start(chunk, server, context_.archives->open().Patience(server, bytes),
                   ReadChunk(context_, MemberName{static_cast<uint32_t>(stripe_), chunk},
                             ChunkRange{0, bytes}, lease_.Split(slot), false));
    }
  }

  const ReadContext context_;
  const uint64_t stripe_;
  ChunkChoice choice_;
  ByteBudget::Lease lease_;
  GoodChunks read_;
};

}  // namespace

uint64_t GoodChunksBytes(const ReadContext& context, const ChunksWanted& wanted) {
  uint64_t bytes = 0;
  for (uint32_t chunk = 0; chunk < context.geometry().Total(); ++chunk) {
    const uint64_t size = context.ChunkBytes(wanted.stripe, chunk);
    if (size > 0 && !(wanted.absent & ChunkBit(chunk))) bytes += context.SlotBytes(size);
  }
  return bytes;
}

Task<Result<GoodChunks>> ReadGoodChunks(ReadContext context, ChunksWanted wanted, ByteBudget::Lease lease) {
  Reading reading(std::move(context), wanted, std::move(lease));
  Result<GoodChunks> read = co_await reading.Run();
  co_return std::move(read);
}

}  // namespace xec
