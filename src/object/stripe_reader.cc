// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/stripe_reader.hh"

#include <algorithm>
#include <bit>
#include <cstring>

#include "object/padded_coding.hh"
#include "object/read_ahead.hh"
#include "object/read_policy.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

constexpr size_t kTimerTag = SIZE_MAX;

// What the caller wants of one stripe, chunk by chunk.
struct Wanted {
  ChunkMask needed = 0;
  std::vector<ChunkRange> exact;  // by chunk: the bytes themselves
  ChunkRange hull;                // page-aligned, around all of them
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
  bool exact = false;      // only the pages wanted, only of needed chunks
  bool all_slots = false;  // memory for all k+m chunks was reserved
};

class StripeRead {
 public:
  StripeRead(ReadContext context, uint64_t stripe, Wanted wanted)
      : context_(std::move(context)),
        stripe_(stripe),
        wanted_(std::move(wanted)),
        answers_(context_.geometry().Total()) {
    for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
      // A chunk that ends before the hull has nothing but zeros there.
      if (context_.ChunkBytes(stripe_, chunk) <= wanted_.hull.begin) {
        empty_ |= ChunkBit(chunk);
        continue;
      }
      const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
      if (server && context_.archives->IsSuspect(*server)) suspect_ |= ChunkBit(chunk);
    }
  }

  Task<Status> Run(uint64_t from, MutableByteSpan into, Held& held);
  Task<Result<StripeData>> RunWithoutWaiting();

 private:
  enum class Outcome { kDone, kFailed, kAgain };

  ChunkRange RangeOf(uint32_t chunk, const Plan& plan) const;
  bool ExactIsHull() const;
  Task<Result<ByteBudget::Lease>> Reserve(uint64_t bytes, Held& held);
  Task<Outcome> Try(Plan plan, ByteBudget::Lease& lease);
  bool StartReads(Gather<ChunkAnswer>& gather, ChunkMask chunks, Plan plan, ByteBudget::Lease& lease);
  void Deliver(Plan plan, uint64_t from, MutableByteSpan into) const;
  void Decode(uint32_t chunk, MutableByteSpan target) const;
  uint64_t BytesToReserve(Plan plan) const;

  const ReadContext context_;
  const uint64_t stripe_;
  const Wanted wanted_;
  std::vector<ChunkAnswer> answers_;
  ChunkMask empty_ = 0;
  ChunkMask suspect_ = 0;
  ChunkMask bad_ = 0;   // found bad in an earlier try
  ChunkMask good_ = 0;  // of the last try
  size_t strays_known_ = context_.archives->StrayCount();
};

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
Task<Result<ByteBudget::Lease>> StripeRead::Reserve(uint64_t bytes, Held& held) {
  std::optional<ByteBudget::Lease> at_once = context_.engine().budget().TryAcquire(bytes);
  if (at_once) co_return std::move(*at_once);
  held.image.reset();
  if (held.ahead != nullptr) held.ahead->Clear();
  for (ChunkAnswer& answer : answers_) answer.data = answer.header = Slice();
  Result<ByteBudget::Lease> lease = co_await context_.engine().budget().Acquire(bytes);
  co_return std::move(lease);
}

// False when memory for a read is not at hand.
bool StripeRead::StartReads(Gather<ChunkAnswer>& gather, ChunkMask chunks, Plan plan,
                            ByteBudget::Lease& lease) {
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if (!(chunks & ChunkBit(chunk))) continue;
    const ChunkRange range = RangeOf(chunk, plan);
    const uint64_t bytes = context_.SlotBytes(range.size());
    ByteBudget::Lease slot;
    if (lease.bytes() >= bytes) {
      slot = lease.Split(bytes);
    } else {
      std::optional<ByteBudget::Lease> more = context_.engine().budget().TryAcquire(bytes);
      if (!more) return false;
      slot = std::move(*more);
    }
    const MemberName name{static_cast<uint32_t>(stripe_), chunk};
    gather.Start(chunk, ReadChunk(context_, name, range, std::move(slot), false));
  }
  return true;
}

Task<StripeRead::Outcome> StripeRead::Try(Plan plan, ByteBudget::Lease& lease) {
  const Geometry& geometry = context_.geometry();
  ReadPolicy::Stripe state{
      geometry.data_chunks, geometry.parity_chunks, wanted_.needed, empty_, suspect_, bad_};
  ReadPolicy policy(state);
  Gather<ChunkAnswer> gather(context_.engine().scope(), context_.engine().executor());
  ReadPolicy::Actions actions = policy.OnStart();
  while (true) {
    // Other chunks help only from the same offsets.
    const bool too_little = plan.exact && (actions.start & ~wanted_.needed) != 0;
    if (too_little || !StartReads(gather, actions.start, plan, lease)) {
      suspect_ |= policy.late();
      co_return Outcome::kAgain;
    }
    if (actions.outcome != ReadPolicy::Actions::kGoOn) break;
    if (actions.arm_timer) {
      gather.StartTimer(kTimerTag,
                        context_.engine().executor().Now() + context_.engine().options().hedge_delay);
    }
    Gather<ChunkAnswer>::Event event = co_await gather.Next();
    if (!event.value) {
      actions = policy.OnTimer();
      continue;
    }
    const auto chunk = static_cast<uint32_t>(event.tag);
    answers_[chunk] = std::move(*event.value);
    const bool good = answers_[chunk].health == ChunkHealth::kGood;
    if (!good) bad_ |= ChunkBit(chunk);
    actions = policy.OnChunk(chunk, good);
  }
  good_ = policy.good();
  co_return actions.outcome == ReadPolicy::Actions::kDone ? Outcome::kDone : Outcome::kFailed;
}

// Copies what was read and decodes what was not, straight into the caller's memory.
void StripeRead::Deliver(Plan plan, uint64_t from, MutableByteSpan into) const {
  const uint64_t chunk_size = context_.geometry().chunk_size_bytes;
  for (uint32_t chunk = 0; chunk < context_.geometry().data_chunks; ++chunk) {
    if (!(wanted_.needed & ChunkBit(chunk))) continue;
    const ChunkRange exact = wanted_.exact[chunk];
    const MutableByteSpan target = into.subspan(chunk * chunk_size + exact.begin - from, exact.size());
    if (good_ & ChunkBit(chunk)) {
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
    if (!(good_ & ChunkBit(source)) || (empty_ & ChunkBit(source))) continue;
    const ByteSpan bytes = answers_[source].data.span();
    // All ranges begin where the hull does.
    const size_t skip = wanted_.exact[chunk].begin - wanted_.hull.begin;
    sources[source] = bytes.subspan(std::min(skip, bytes.size()));
  }
  ReconstructPadded(CodecFor(context_.geometry()), sources, good_, chunk, target);
}

// Budget for what the plan starts with, or for everything it can ever start.
uint64_t StripeRead::BytesToReserve(Plan plan) const {
  const bool trouble = (wanted_.needed & (bad_ | suspect_)) != 0;
  uint64_t bytes = 0;
  uint64_t largest = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if (empty_ & ChunkBit(chunk)) continue;
    const bool needed = (wanted_.needed & ChunkBit(chunk)) != 0;
    if (plan.exact && !needed) continue;
    const uint64_t slot = context_.SlotBytes(RangeOf(chunk, plan).size());
    largest = std::max(largest, slot);
    if (plan.all_slots || needed) bytes += slot;
  }
  return trouble && !plan.all_slots ? std::max(bytes, largest * context_.geometry().data_chunks) : bytes;
}

Task<Status> StripeRead::Run(uint64_t from, MutableByteSpan into, Held& held) {
  Plan plan;
  plan.exact = (wanted_.needed & suspect_) == 0 && !ExactIsHull();
  while (true) {
    Result<ByteBudget::Lease> lease = co_await Reserve(BytesToReserve(plan), held);
    if (!lease) co_return lease.error();
    const Outcome outcome = co_await Try(plan, *lease);
    if (outcome == Outcome::kDone) break;
    if (outcome == Outcome::kFailed) {
      co_await ArchiveSet::FindStrays(context_.archives);
      const size_t strays = context_.archives->StrayCount();
      if (strays == strays_known_) co_return UnreadableStripe(context_, stripe_, answers_, bad_);
      strays_known_ = strays;
      bad_ = 0;
    }
    if (plan.exact) {
      plan.exact = false;
    } else {
      plan.all_slots = true;
    }
  }
  Deliver(plan, from, into);
  co_return OkStatus();
}

Task<Result<StripeData>> StripeRead::RunWithoutWaiting() {
  const Error no_memory = Fail(Code::kUnavailable, "no memory for a whole stripe is at hand");
  const Plan plan;
  // Half of the budget is never used ahead: a handle that stalls with its stripes holds up nobody's small
  // reads.
  ByteBudget& budget = context_.engine().budget();
  const uint64_t bytes_ahead = BytesToReserve(plan);
  if (budget.in_use() + bytes_ahead > budget.limit() / 2) co_return no_memory;
  std::optional<ByteBudget::Lease> lease = budget.TryAcquire(bytes_ahead);
  if (!lease) co_return no_memory;
  const Outcome outcome = co_await Try(plan, *lease);
  if (outcome == Outcome::kAgain) co_return no_memory;
  if (outcome == Outcome::kFailed) co_return UnreadableStripe(context_, stripe_, answers_, bad_);
  StripeData data;
  for (uint32_t chunk = 0; chunk < context_.geometry().data_chunks; ++chunk) {
    const uint64_t bytes = context_.ChunkBytes(stripe_, chunk);
    Slice slice;
    if (bytes > 0 && (good_ & ChunkBit(chunk))) {
      slice = answers_[chunk].data;
    } else if (bytes > 0) {
      std::optional<ByteBudget::Lease> more = budget.TryAcquire(context_.SlotBytes(bytes));
      if (!more) co_return no_memory;
      slice = Slice(Buffer::Allocate(bytes, std::move(*more)));
      Decode(chunk, slice.span());
    }
    data.chunks.push_back(std::move(slice));
  }
  co_return std::move(data);
}

}  // namespace

Error UnreadableStripe(const ReadContext& context, uint64_t stripe, std::span<const ChunkAnswer> answers,
                       ChunkMask bad) {
  std::string problems;
  bool unavailable = !context.archives->StraysKnown();
  for (uint32_t chunk = 0; chunk < answers.size(); ++chunk) {
    if (!(bad & ChunkBit(chunk))) continue;
    if (answers[chunk].health == ChunkHealth::kUnavailable) unavailable = true;
    problems += (problems.empty() ? "" : "; ") + answers[chunk].problem;
  }
  const Geometry& geometry = context.geometry();
  const std::string& path = context.archives->info().path.text();
  const int left = static_cast<int>(geometry.Total()) - std::popcount(bad);
  if (unavailable) {
    return Fail(Code::kUnavailable,
                "cannot read stripe {} of {} now: at most {} of the {} chunks needed can be had ({})", stripe,
                path, left, geometry.data_chunks, problems);
  }
  return Fail(Code::kDataLoss, "stripe {} of {} is lost: {} of the {} chunks needed are good ({})", stripe,
              path, left, geometry.data_chunks, problems);
}

Task<Status> ReadStripe(ReadContext context, uint64_t stripe, uint64_t from, MutableByteSpan into,
                        Held& held) {
  Wanted wanted = WantedOf(context, stripe, from, from + into.size());
  StripeRead read(std::move(context), stripe, std::move(wanted));
  Status status = co_await read.Run(from, into, held);
  co_return std::move(status);
}

Task<Result<StripeData>> FetchStripe(ReadContext context, uint64_t stripe) {
  const uint64_t bytes = context.geometry().StripeBytes(context.manifest->size_bytes, stripe);
  Wanted wanted = WantedOf(context, stripe, 0, bytes);
  StripeRead read(std::move(context), stripe, std::move(wanted));
  Result<StripeData> data = co_await read.RunWithoutWaiting();
  co_return std::move(data);
}

}  // namespace xec
