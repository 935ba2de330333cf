// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/stripe_reader.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "object/padded_coding.hh"
#include "object/read/read_policy.hh"

namespace xec {
namespace {

using Chunks = ServerGather<ChunkAnswer>;

// What the caller wants of one stripe, chunk by chunk.
struct Wanted {
  ChunkMask needed = 0;
  std::vector<ChunkRange> exact;  // by chunk: the bytes themselves
  ChunkRange hull;  // page-aligned, around all of them
};

Wanted WantedOf(const ReadContext& context, uint64_t stripe, uint64_t from, uint64_t to) {
  const uint64_t chunk_size = context.geometry().chunk_size_bytes;
  Wanted wanted;
  wanted.exact.resize(context.geometry().Total());
  wanted.hull = ChunkRange{UINT64_MAX, 0};
  for (uint32_t chunk = 0; chunk < context.geometry().data_chunks; ++chunk) {
    const uint64_t start = chunk * chunk_size;
    const uint64_t begin = std::max(from, start);
    const uint64_t end = std::min(to, start + chunk_size);
    if (begin >= end) continue;
    wanted.needed |= ChunkBit(chunk);
    wanted.exact[chunk] = ChunkRange{begin - start, end - start};
    // The hull may reach past the end of a short chunk: other chunks have bytes there.
    const ChunkRange aligned = context.Align(begin - start, end - start, context.ChunkBytes(stripe, 0));
    wanted.hull.begin = std::min(wanted.hull.begin, aligned.begin);
    wanted.hull.end = std::max(wanted.hull.end, aligned.end);
  }
  return wanted;
}

// One try at a stripe: how much of each chunk is read.
struct Plan {
  bool exact = false;  // only the pages wanted, only of needed chunks
  bool all_slots = false;  // memory for all k+m chunks was reserved
};

class StripeRead {
 public:
  StripeRead(ReadContext context, uint64_t stripe, Wanted wanted)
      : context_(std::move(context)),
        stripe_(stripe),
        wanted_(std::move(wanted)),
        empty_(EmptyChunks()),
        policy_({.data_chunks = context_.geometry().data_chunks,
                 .parity_chunks = context_.geometry().parity_chunks,
                 .needed = wanted_.needed,
                 .empty = empty_,
                 .hedge_delay = context_.engine().options().hedge_delay,
                 .changes = context_.archives->strays().changes()}),
        answers_(context_.geometry().Total()) {}

  Task<Status> Run(uint64_t from, MutableByteSpan into, std::shared_ptr<Buffer>& image);
  Task<Result<SliceCache::Value>> RunWithoutWaiting();

 private:
  enum class Outcome { kDone, kFailed, kAgain, kElsewhere };  // the last: archives were found elsewhere

  ChunkMask EmptyChunks() const;
  ChunkRange RangeOf(uint32_t chunk, const Plan& plan) const;
  bool ExactIsHull() const;
  Task<Result<ByteBudget::Lease>> Reserve(uint64_t bytes, std::shared_ptr<Buffer>& image);
  ReadPolicy::Holder HolderOf(uint32_t chunk) const;
  ReadPolicy::Holders HoldersNow() const;
  ReadPolicy::Actions AskOthers(const Chunks& gather);
  ChunkMask Returned(bool waiting) const;
  TimePoint LookElsewhere();
  Task<bool> MayTryAgain();
  Task<Outcome> Try(ReadPolicy::Actions actions, Plan plan, ByteBudget::Lease& lease);
  bool StartReads(Chunks& gather, ChunkMask chunks, Plan plan, ByteBudget::Lease& lease);
  void Deliver(Plan plan, uint64_t from, MutableByteSpan into) const;
  void Decode(uint32_t chunk, MutableByteSpan target) const;
  uint64_t BytesToReserve(ChunkMask first, Plan plan) const;

  const ReadContext context_;
  const uint64_t stripe_;
  const Wanted wanted_;
  const ChunkMask empty_;
  ReadPolicy policy_;
  ByteBudget::Lease claim_;  // of what is reserved, if it is much
  std::vector<ChunkAnswer> answers_;
};

// A chunk that ends before the hull has nothing but zeros there.
ChunkMask StripeRead::EmptyChunks() const {
  ChunkMask empty = 0;
  for (uint32_t chunk = 0; chunk < context_.geometry().Total(); ++chunk) {
    if (context_.ChunkBytes(stripe_, chunk) <= wanted_.hull.begin) empty |= ChunkBit(chunk);
  }
  return empty;
}

// The part of a chunk to read: clipped to what the chunk has.
ChunkRange StripeRead::RangeOf(uint32_t chunk, const Plan& plan) const {
  const uint64_t bytes = context_.ChunkBytes(stripe_, chunk);
  if (plan.exact) return context_.Align(wanted_.exact[chunk].begin, wanted_.exact[chunk].end, bytes);
  return context_.Align(std::min(wanted_.hull.begin, bytes), std::min(wanted_.hull.end, bytes), bytes);
}

bool StripeRead::ExactIsHull() const {
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    const bool needed = (wanted_.needed & ChunkBit(chunk)) != 0;
    if (needed && RangeOf(chunk, Plan{true, false}) != RangeOf(chunk, Plan{false, false})) return false;
  }
  return true;
}

// Waits in line for memory, but never with memory in hand that others may wait for.
Task<Result<ByteBudget::Lease>> StripeRead::Reserve(uint64_t bytes, std::shared_ptr<Buffer>& image) {
  std::optional<ByteBudget::Lease> at_once = context_.memory().TryAcquire(bytes);
  if (at_once) co_return std::move(*at_once);
  image.reset();
  for (ChunkAnswer& answer : answers_) answer.data = answer.header = Slice();
  claim_.Release();
  Result<ByteBudget::Claimed> leases = co_await context_.memory().ClaimAndAcquire(bytes);
  if (!leases) co_return leases.error();
  claim_ = std::move(leases->claim);
  co_return std::move(leases->memory);
}

ReadPolicy::Holder StripeRead::HolderOf(uint32_t chunk) const {
  const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
  if (!server) return {};
  return {*server, context_.engine().Rank(*server), context_.archives->open().HasFailed(*server)};
}

ReadPolicy::Holders StripeRead::HoldersNow() const {
  ReadPolicy::Holders holders;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) holders[chunk] = HolderOf(chunk);
  return holders;
}

// False when memory for a read is not at hand.
bool StripeRead::StartReads(Chunks& gather, ChunkMask chunks, Plan plan, ByteBudget::Lease& lease) {
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if (!(chunks & ChunkBit(chunk))) continue;
    const ChunkRange range = RangeOf(chunk, plan);
    const uint64_t bytes = context_.SlotBytes(range.size());
    ByteBudget::Lease slot;
    if (lease.bytes() >= bytes) {
      slot = lease.Split(bytes);
    } else {
      std::optional<ByteBudget::Lease> more = context_.memory().TryAcquire(bytes);
      if (!more) return false;
      slot = std::move(*more);
    }
    const MemberName name{static_cast<uint32_t>(stripe_), chunk};
    // A chunk that no server has is answered at once.
    const Result<MemberIndex> holder = context_.ServerOf(stripe_, chunk);
    const MemberIndex server = holder ? *holder : MemberIndex{0};
    policy_.OnAsked(chunk, holder ? std::optional(server) : std::nullopt, context_.engine().Rank(server),
                    context_.engine().executor().Now());
    gather.Start(chunk, server, context_.archives->open().Patience(server, bytes),
                 ReadChunk(context_, name, range, std::move(slot), false));
  }
  return true;
}

// Asks for others in place of the late chunks.
ReadPolicy::Actions StripeRead::AskOthers(const Chunks& gather) {
  ChunkMask late = 0;
  for (const size_t tag : gather.LateTags()) late |= ChunkBit(static_cast<uint32_t>(tag));
  Engine& engine = context_.engine();
  const TimePoint now = engine.executor().Now();
  return policy_.OnLate(late, HoldersNow(), now,
                        [&](uint64_t requests) { return engine.hedges().Take(requests, now); });
}

// Chunks that could not be had a while ago, and may be had now.
ChunkMask StripeRead::Returned(bool waiting) const {
  const ChunkMask wanted = policy_.MayBeBack(context_.engine().executor().Now(), waiting);
  ChunkMask back = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if (!(wanted & ChunkBit(chunk))) continue;
    const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
    if (server && context_.archives->open().MayHaveReturned(*server)) back |= ChunkBit(chunk);
  }
  return back;
}

// Searches for archives that have the bad chunks; a read that cannot go on without them searches on. Answers
// when to look whether these can be had.
TimePoint StripeRead::LookElsewhere() {
  StrayLanes& strays = context_.archives->strays();
  strays.StartSearch();
  if (!policy_.IsStuck() && !strays.searching()) return TimePoint::max();
  const TimePoint searched = policy_.IsStuck() ? strays.SearchOn() : TimePoint::max();
  return policy_.LookAgainAt(context_.engine().executor().Now(), searched);
}

// After all that could be done: have archives been found elsewhere, or may damaged ones have been repaired
// since they were opened?
Task<bool> StripeRead::MayTryAgain() {
  const ChunkMask back = Returned(/*waiting=*/false);
  if (back != 0) {
    policy_.OnBack(back, HoldersNow(), context_.engine().executor().Now());
    co_return true;
  }
  StrayLanes& strays = context_.archives->strays();
  // An archive that is found counts at once, since servers that hang keep a search going for long.
  bool searching = true;
  while (searching && !policy_.IsNews(strays.changes())) {
    strays.SearchOn();
    searching = strays.searching();
    if (searching) co_await Pause(context_.engine(), StrayLanes::kLookAgain);
  }
  if (policy_.OnSearched(strays.changes())) co_return true;
  if (!policy_.MayReopen()) co_return false;
  const bool anew = co_await context_.archives->open().ReopenCorrupt();
  if (anew) policy_.OnReopened(strays.changes());
  co_return anew;
}

// `actions`: those that the policy has started with.
Task<StripeRead::Outcome> StripeRead::Try(ReadPolicy::Actions actions, Plan plan, ByteBudget::Lease& lease) {
  Engine& engine = context_.engine();
  Chunks gather(engine, ReadKindOf(wanted_.hull.size()));
  engine.hedges().Note(static_cast<uint64_t>(std::popcount(actions.start)));
  TimePoint retry = TimePoint::max();
  while (true) {
    // Other chunks help only from the same offsets.
    const bool too_little = plan.exact && (actions.start & ~wanted_.needed) != 0;
    if (too_little || !StartReads(gather, actions.start, plan, lease)) {
      policy_.BreakOff();
      co_return Outcome::kAgain;
    }
    if (actions.outcome != ReadPolicy::Actions::kGoOn) break;
    if (policy_.WaitsBesideBad()) {
      // This comes before what the search has found: a search that ends in between has told everything by
      // then.
      retry = std::min(retry, LookElsewhere());
      const uint64_t changes = context_.archives->strays().changes();
      if (policy_.IsNews(changes) && policy_.FoundElsewhere(changes, HoldersNow())) {
        policy_.BreakOff();
        co_return Outcome::kElsewhere;
      }
      const ChunkMask back = policy_.IsStuck() ? Returned(/*waiting=*/true) : 0;
      if (back != 0) {
        actions = policy_.OnBack(back, HoldersNow(), engine.executor().Now());
        continue;
      }
    }
    Chunks::Event event = co_await gather.Next(retry);
    if (!event.value) {
      actions = AskOthers(gather);
      retry = actions.look_again;
      continue;
    }
    const auto chunk = static_cast<uint32_t>(event.tag);
    answers_[chunk] = std::move(*event.value);
    const ChunkHealth health = answers_[chunk].health;
    actions = health == ChunkHealth::kGood
                  ? policy_.OnGood(chunk)
                  : policy_.OnBad(chunk, health == ChunkHealth::kUnavailable, HoldersNow());
  }
  co_return actions.outcome == ReadPolicy::Actions::kDone ? Outcome::kDone : Outcome::kFailed;
}

// Copies what was read and decodes what was not, straight into the caller's memory.
void StripeRead::Deliver(Plan plan, uint64_t from, MutableByteSpan into) const {
  const uint64_t chunk_size = context_.geometry().chunk_size_bytes;
  for (uint32_t chunk = 0; chunk < context_.geometry().data_chunks; ++chunk) {
    if (!(wanted_.needed & ChunkBit(chunk))) continue;
    const ChunkRange exact = wanted_.exact[chunk];
    const MutableByteSpan target = into.subspan(chunk * chunk_size + exact.begin - from, exact.size());
    if (policy_.good() & ChunkBit(chunk)) {
      const size_t skip = exact.begin - RangeOf(chunk, plan).begin;
      std::memcpy(target.data(), answers_[chunk].data.span().data() + skip, target.size());
      continue;
    }
    Decode(chunk, target);
  }
}

// Computes the wanted bytes of a needed chunk from the good ones.
void StripeRead::Decode(uint32_t chunk, MutableByteSpan target) const {
  std::vector<ByteSpan> sources(answers_.size());
  for (uint32_t source = 0; source < answers_.size(); ++source) {
    if (!(policy_.good() & ChunkBit(source)) || (empty_ & ChunkBit(source))) continue;
    const ByteSpan bytes = answers_[source].data.span();
    // All ranges begin where the hull does.
    const size_t skip = wanted_.exact[chunk].begin - wanted_.hull.begin;
    sources[source] = bytes.subspan(std::min(skip, bytes.size()));
  }
  ReconstructPadded(CodecFor(context_.geometry()), sources, policy_.good(), chunk, target);
}

// Budget for what the plan starts with, or for everything it can ever start.
uint64_t StripeRead::BytesToReserve(ChunkMask first, Plan plan) const {
  uint64_t bytes = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    const bool started = plan.all_slots ? !(empty_ & ChunkBit(chunk)) : (first & ChunkBit(chunk)) != 0;
    if (started) bytes += context_.SlotBytes(RangeOf(chunk, plan).size());
  }
  return bytes;
}

Task<Status> StripeRead::Run(uint64_t from, MutableByteSpan into, std::shared_ptr<Buffer>& image) {
  Plan plan;
  plan.exact = !ExactIsHull();
  while (true) {
    const ReadPolicy::Actions first = policy_.Start(HoldersNow());
    plan.exact = plan.exact && (first.start & ~wanted_.needed) == 0;
    Result<ByteBudget::Lease> lease = co_await Reserve(BytesToReserve(first.start, plan), image);
    if (!lease) co_return lease.error();
    const Outcome outcome = co_await Try(first, plan, *lease);
    if (outcome == Outcome::kDone) break;
    if (outcome == Outcome::kFailed) {
      const bool again = co_await MayTryAgain();
      if (!again) co_return UnreadableStripe(context_, stripe_, answers_, policy_.bad());
    }
    if (outcome == Outcome::kElsewhere) continue;
    if (plan.exact) {
      plan.exact = false;
    } else {
      plan.all_slots = true;
    }
  }
  Deliver(plan, from, into);
  co_return OkStatus();
}

Task<Result<SliceCache::Value>> StripeRead::RunWithoutWaiting() {
  const Error no_memory = Fail(Code::kUnavailable, "no memory for a whole stripe is at hand");
  const Plan plan;
  // Half of the budget is never used for reading ahead, so a handle that stalls with its stripes holds up no
  // small reads.
  ByteBudget& budget = context_.memory();
  const ReadPolicy::Actions first = policy_.Start(HoldersNow());
  const uint64_t bytes_ahead = BytesToReserve(first.start, plan);
  const uint64_t kept = context_.engine().stripes()->kept_bytes();
  if (budget.in_use() + bytes_ahead > budget.limit() / 2 + kept) co_return no_memory;
  std::optional<ByteBudget::Lease> lease = budget.TryAcquire(bytes_ahead);
  if (!lease) co_return no_memory;
  const Outcome outcome = co_await Try(first, plan, *lease);
  if (outcome == Outcome::kAgain || outcome == Outcome::kElsewhere) co_return no_memory;
  if (outcome == Outcome::kFailed) co_return UnreadableStripe(context_, stripe_, answers_, policy_.bad());
  SliceCache::Value data;
  for (uint32_t chunk = 0; chunk < context_.geometry().data_chunks; ++chunk) {
    const uint64_t bytes = context_.ChunkBytes(stripe_, chunk);
    Slice slice;
    if (bytes > 0 && (policy_.good() & ChunkBit(chunk))) {
      slice = answers_[chunk].data;
    } else if (bytes > 0) {
      std::optional<ByteBudget::Lease> more = budget.TryAcquire(context_.SlotBytes(bytes));
      if (!more) co_return no_memory;
      slice = Slice(Buffer::Allocate(bytes, std::move(*more)));
      Decode(chunk, slice.span());
    }
    data.slices.push_back(std::move(slice));
  }
  co_return std::move(data);
}

}  // namespace

Task<Status> ReadStripe(ReadContext context, uint64_t stripe, uint64_t from, MutableByteSpan into,
                        std::shared_ptr<Buffer>& image) {
  Wanted wanted = WantedOf(context, stripe, from, from + into.size());
  StripeRead read(std::move(context), stripe, std::move(wanted));
  Status status = co_await read.Run(from, into, image);
  co_return std::move(status);
}

Task<Result<SliceCache::Value>> FetchStripe(ReadContext context, uint64_t stripe) {
  Wanted wanted = WantedOf(context, stripe, 0, context.stripes().Of(stripe).bytes);
  StripeRead read(std::move(context), stripe, std::move(wanted));
  Result<SliceCache::Value> data = co_await read.RunWithoutWaiting();
  co_return std::move(data);
}

}  // namespace xec
