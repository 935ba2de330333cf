// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/stripe_reader.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "commit/pause.hh"
#include "commit/server_gather.hh"
#include "object/padded_coding.hh"
#include "object/read_policy.hh"

namespace xec {
namespace {

// A late chunk for which the budget of hedges had nothing left is looked at again after this time; and so are
// bad ones, and what a search for archives has found.
constexpr Duration kLookAgain = StrayLanes::kLookAgain;
// After so many times the hedging delay nobody waits for a bad server any more, whatever the budget of hedges
// says.
constexpr int kLongWait = 5;
// So often a read begins again because archives were found elsewhere; and asks for a chunk because its server
// seems to be back.
constexpr int kSearchesMax = 4;
constexpr int kReturnsMax = 4;
// One that waits for late chunks does so at most after this time, then twice that, and so on: a server may
// answer everything but this chunk.
constexpr Duration kReturnPause = std::chrono::seconds(2);

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
        answers_(context_.geometry().Total()),
        asked_(answers_.size()),
        returns_(answers_.size()) {
    for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
      // A chunk that ends before the hull has nothing but zeros there.
      if (context_.ChunkBytes(stripe_, chunk) <= wanted_.hull.begin) empty_ |= ChunkBit(chunk);
    }
  }

  Task<Status> Run(uint64_t from, MutableByteSpan into, std::shared_ptr<Buffer>& image);
  Task<Result<SliceCache::Value>> RunWithoutWaiting();

 private:
  enum class Outcome { kDone, kFailed, kAgain, kElsewhere };  // the last: archives were found elsewhere
  struct Asked {
    std::optional<MemberIndex> server;  // nullopt: nobody was known to have it
    int rank = 0;  // of the server then
    TimePoint at;
  };

  ChunkRange RangeOf(uint32_t chunk, const Plan& plan) const;
  bool ExactIsHull() const;
  Task<Result<ByteBudget::Lease>> Reserve(uint64_t bytes, std::shared_ptr<Buffer>& image);
  ReadPolicy NewPolicy() const;
  ReadPolicy::Ranks RanksNow() const;
  bool IsBad(uint32_t chunk) const;
  bool HedgesForNothing(ChunkMask late, ChunkMask others) const;
  bool IsStuck(ChunkMask late) const;
  bool MayBeginAnew();
  bool FoundElsewhere();
  ChunkMask Returned(bool waiting);
  Task<bool> MayTryAgain();
  Task<Outcome> Try(ReadPolicy policy, Plan plan, ByteBudget::Lease& lease);
  bool StartReads(Chunks& gather, ChunkMask chunks, Plan plan, ByteBudget::Lease& lease);
  TimePoint LookAgainAt(bool stuck);
  ReadPolicy::Actions Hedge(ReadPolicy& policy, ChunkMask late);
  void Deliver(Plan plan, uint64_t from, MutableByteSpan into) const;
  void Decode(uint32_t chunk, MutableByteSpan target) const;
  uint64_t BytesToReserve(ChunkMask first, Plan plan) const;

  const ReadContext context_;
  const uint64_t stripe_;
  const Wanted wanted_;
  ByteBudget::Lease claim_;  // of what is reserved, if it is much
  std::vector<ChunkAnswer> answers_;
  ChunkMask empty_ = 0;
  std::vector<Asked> asked_;  // of the last read of each chunk
  ChunkMask late_ = 0;  // in an earlier try
  ChunkMask bad_ = 0;  // found bad in an earlier try
  ChunkMask again_ = 0;  // of this try: were bad, and are asked once more
  ChunkMask good_ = 0;  // of the last try
  int searches_ = 0;
  struct Return {
    int times = 0;
    TimePoint next = TimePoint::min();  // while it waits
  };
  std::vector<Return> returns_;  // by chunk
  bool reopened_ = false;
  uint64_t stray_changes_ = context_.archives->strays().changes();
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

// Of the servers of all chunks.
ReadPolicy::Ranks StripeRead::RanksNow() const {
  ReadPolicy::Ranks ranks{};
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
    if (!server) continue;
    int rank = context_.engine().Rank(*server);
    if (late_ & ChunkBit(chunk)) rank = std::max(rank, ServerHealth::kRankSuspect);
    if (context_.archives->open().HasFailed(*server)) rank = ServerHealth::kWorstRank + 1;
    ranks[chunk] = static_cast<uint8_t>(rank);
  }
  return ranks;
}

ReadPolicy StripeRead::NewPolicy() const {
  const Geometry& geometry = context_.geometry();
  const ReadPolicy::Stripe state{
      geometry.data_chunks, geometry.parity_chunks, wanted_.needed, empty_, bad_, RanksNow()};
  return ReadPolicy(state);
}

// Is the server of the chunk known to be bad?
bool StripeRead::IsBad(uint32_t chunk) const {
  const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
  return server && context_.engine().Rank(*server) >= ServerHealth::kRankSuspect;
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
    // What nobody has is answered at once.
    const Result<MemberIndex> holder = context_.ServerOf(stripe_, chunk);
    const MemberIndex server = holder ? *holder : MemberIndex{0};
    asked_[chunk] = {holder ? std::optional(server) : std::nullopt, context_.engine().Rank(server),
                     context_.engine().executor().Now()};
    gather.Start(chunk, server, context_.archives->open().Patience(server, bytes),
                 ReadChunk(context_, name, range, std::move(slot), false));
  }
  return true;
}

// Hedges that are no matter of the budget: a server was well and has become bad, and those asked in its place
// are better. It happens to what is in flight then; who comes later asks it last. A server that fails again
// and again was not trusted when it was asked.
bool StripeRead::HedgesForNothing(ChunkMask late, ChunkMask others) const {
  const Engine& engine = context_.engine();
  const TimePoint long_ago = engine.executor().Now() - kLongWait * engine.options().hedge_delay;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if ((others & ChunkBit(chunk)) && IsBad(chunk)) return false;
    if (!(late & ChunkBit(chunk))) continue;
    const bool known = asked_[chunk].rank >= ServerHealth::kRankUntrusted && asked_[chunk].at > long_ago;
    if (known || !IsBad(chunk)) return false;
  }
  return true;
}

// Asks others in place of the late chunks, as far as the budget of hedges allows it.
ReadPolicy::Actions StripeRead::Hedge(ReadPolicy& policy, ChunkMask late) {
  policy.SetRanks(RanksNow());
  ChunkMask bad = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    if ((late & ChunkBit(chunk)) && IsBad(chunk)) bad |= ChunkBit(chunk);
  }
  ReadPolicy::Actions all;
  for (const ChunkMask part : {bad, late & ~bad}) {
    if (part == 0) continue;
    ReadPolicy next = policy;
    const ReadPolicy::Actions actions = next.OnLate(part);
    Engine& engine = context_.engine();
    const auto more = static_cast<uint64_t>(std::popcount(actions.start));
    const bool allowed = more == 0 || HedgesForNothing(part, actions.start) ||
                         engine.hedges().Take(more, engine.executor().Now());
    if (!allowed) continue;
    policy = next;
    all.start |= actions.start;
  }
  return all;
}

// Can only chunks that are late or bad give what is missing?
bool StripeRead::IsStuck(ChunkMask late) const {
  return std::popcount(bad_ | late) > static_cast<int>(context_.geometry().parity_chunks);
}

// Chunks that could not be had a while ago, and may be had now.
ChunkMask StripeRead::Returned(bool waiting) {
  const TimePoint now = context_.engine().executor().Now();
  ChunkMask back = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    Return& before = returns_[chunk];
    const bool silent = (bad_ & ChunkBit(chunk)) && answers_[chunk].health == ChunkHealth::kUnavailable;
    if (!silent || before.times == kReturnsMax || (waiting && now < before.next)) continue;
    const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
    if (!server || !context_.archives->open().MayHaveReturned(*server)) continue;
    back |= ChunkBit(chunk);
    before.next = now + kReturnPause * (1 << before.times++);
  }
  bad_ &= ~back;
  return back;
}

// Archives may be found one by one. A lane is also found anew whenever it can be opened, though not read.
bool StripeRead::MayBeginAnew() { return ++searches_ <= kSearchesMax + static_cast<int>(answers_.size()); }

// Has a search found archives, while others are late, of chunks that could not be had where they should be?
bool StripeRead::FoundElsewhere() {
  if (context_.archives->strays().changes() == stray_changes_) return false;
  ChunkMask found = 0;
  for (uint32_t chunk = 0; chunk < answers_.size(); ++chunk) {
    const Result<MemberIndex> server = context_.ServerOf(stripe_, chunk);
    const bool lacking = ((bad_ | again_) & ChunkBit(chunk)) != 0;
    if (lacking && server && asked_[chunk].server != *server) found |= ChunkBit(chunk);
  }
  if (found == 0 || !MayBeginAnew()) return false;
  bad_ &= ~found;
  return true;
}

// After all that could be done: were archives found elsewhere, or may damaged ones have been repaired since
// they were opened?
Task<bool> StripeRead::MayTryAgain() {
  if (Returned(/*waiting=*/false) != 0) co_return true;
  StrayLanes& strays = context_.archives->strays();
  // What is found counts at once: servers that hang keep a search going for long.
  bool searching = true;
  while (searching && strays.changes() == stray_changes_) {
    strays.SearchOn();
    searching = strays.searching();
    if (searching) co_await Pause(context_.engine(), kLookAgain);
  }
  const bool found = strays.changes() != stray_changes_ && MayBeginAnew();
  if (!found) {
    if (std::exchange(reopened_, true)) co_return false;
    const bool anew = co_await context_.archives->open().ReopenCorrupt();
    if (!anew) co_return false;
  }
  stray_changes_ = context_.archives->strays().changes();
  bad_ = 0;
  co_return true;
}

// When to look whether what is bad can be had; who cannot go on without it searches on.
TimePoint StripeRead::LookAgainAt(bool stuck) {
  const TimePoint soon = context_.engine().executor().Now() + kLookAgain;
  if (!stuck) return soon;
  const TimePoint searched = context_.archives->strays().SearchOn();
  const bool silent = std::any_of(answers_.begin(), answers_.end(), [](const ChunkAnswer& answer) {
    return answer.health == ChunkHealth::kUnavailable;
  });
  return silent ? std::min(soon, searched) : searched;
}

Task<StripeRead::Outcome> StripeRead::Try(ReadPolicy policy, Plan plan, ByteBudget::Lease& lease) {
  Engine& engine = context_.engine();
  Chunks gather(engine, ReadKindOf(wanted_.hull.size()));
  ReadPolicy::Actions actions = policy.OnStart();
  again_ = 0;
  engine.hedges().Note(static_cast<uint64_t>(std::popcount(actions.start)));
  TimePoint retry = TimePoint::max();
  ChunkMask late = 0;
  while (true) {
    // Other chunks help only from the same offsets.
    const bool too_little = plan.exact && (actions.start & ~wanted_.needed) != 0;
    if (too_little || !StartReads(gather, actions.start, plan, lease)) {
      late_ |= policy.late();
      co_return Outcome::kAgain;
    }
    if (actions.outcome != ReadPolicy::Actions::kGoOn) break;
    if (late != 0 && (bad_ | again_) != 0) {
      const bool stuck = IsStuck(late & ~policy.good());
      context_.archives->strays().StartSearch();
      // Before what it has found: a search that ends in between has told everything by then.
      if (stuck || context_.archives->strays().searching()) retry = std::min(retry, LookAgainAt(stuck));
      if (FoundElsewhere()) {
        late_ |= policy.late();
        co_return Outcome::kElsewhere;
      }
      const ChunkMask back = stuck ? Returned(/*waiting=*/true) : 0;
      if (back != 0) {
        again_ |= back;
        policy.SetRanks(RanksNow());
        actions = policy.OnBack(back);
        continue;
      }
    }
    Chunks::Event event = co_await gather.Next(retry);
    if (!event.value) {
      late = 0;
      for (const size_t tag : gather.LateTags()) late |= ChunkBit(static_cast<uint32_t>(tag));
      actions = Hedge(policy, late & ~policy.late());
      const bool unhedged = (late & ~policy.late()) != 0;
      retry = unhedged ? engine.executor().Now() + kLookAgain : TimePoint::max();
      continue;
    }
    const auto chunk = static_cast<uint32_t>(event.tag);
    again_ &= ~ChunkBit(chunk);
    answers_[chunk] = std::move(*event.value);
    const bool good = answers_[chunk].health == ChunkHealth::kGood;
    if (!good) {
      bad_ |= ChunkBit(chunk);
      policy.SetRanks(RanksNow());
    }
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
    ReadPolicy policy = NewPolicy();
    const ChunkMask first = ReadPolicy(policy).OnStart().start;
    plan.exact = plan.exact && (first & ~wanted_.needed) == 0;
    Result<ByteBudget::Lease> lease = co_await Reserve(BytesToReserve(first, plan), image);
    if (!lease) co_return lease.error();
    const Outcome outcome = co_await Try(std::move(policy), plan, *lease);
    if (outcome == Outcome::kDone) break;
    if (outcome == Outcome::kFailed) {
      const bool again = co_await MayTryAgain();
      if (!again) co_return UnreadableStripe(context_, stripe_, answers_, bad_);
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
  // Half of the budget is never used ahead: a handle that stalls with its stripes holds up nobody's small
  // reads.
  ByteBudget& budget = context_.memory();
  ReadPolicy policy = NewPolicy();
  const uint64_t bytes_ahead = BytesToReserve(ReadPolicy(policy).OnStart().start, plan);
  const uint64_t kept = context_.engine().stripes()->kept_bytes();
  if (budget.in_use() + bytes_ahead > budget.limit() / 2 + kept) co_return no_memory;
  std::optional<ByteBudget::Lease> lease = budget.TryAcquire(bytes_ahead);
  if (!lease) co_return no_memory;
  const Outcome outcome = co_await Try(std::move(policy), plan, *lease);
  if (outcome == Outcome::kAgain || outcome == Outcome::kElsewhere) co_return no_memory;
  if (outcome == Outcome::kFailed) co_return UnreadableStripe(context_, stripe_, answers_, bad_);
  SliceCache::Value data;
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
  const uint64_t bytes = context.geometry().StripeBytes(context.manifest->size_bytes, stripe);
  Wanted wanted = WantedOf(context, stripe, 0, bytes);
  StripeRead read(std::move(context), stripe, std::move(wanted));
  Result<SliceCache::Value> data = co_await read.RunWithoutWaiting();
  co_return std::move(data);
}

}  // namespace xec
