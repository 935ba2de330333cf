// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/read_policy.hh"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/contains.hh"
#include "server/health/server_health.hh"

namespace xec {
namespace {

uint32_t Count(ChunkMask mask) { return static_cast<uint32_t>(std::popcount(mask)); }

// Is the server of the chunk known to be bad?
bool IsBad(const ReadPolicy::Holder& holder) {
  return holder.server && holder.rank >= ServerHealth::kRankSuspect;
}

}  // namespace

ReadPolicy::ReadPolicy(const Stripe& stripe)
    : stripe_(stripe),
      all_(FirstChunks(stripe.data_chunks + stripe.parity_chunks)),
      asked_(chunk_count()),
      returns_(chunk_count()),
      changes_(stripe.changes) {
  XEC_CHECK(stripe.needed != 0 && (stripe.needed & ~all_) == 0);
}

void ReadPolicy::SetRanks(const Holders& holders) {
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    const Holder& holder = holders[chunk];
    int rank = holder.rank;
    if (late_before_ & ChunkBit(chunk)) rank = std::max(rank, ServerHealth::kRankSuspect);
    if (holder.failed) rank = ServerHealth::kWorstRank + 1;
    ranks_[chunk] = static_cast<uint8_t>(holder.server ? rank : 0);
  }
  SortByRank();
}

void ReadPolicy::SortByRank() {
  const auto key = [&](uint32_t chunk) {
    const bool needed = (stripe_.needed & ChunkBit(chunk)) != 0;
    return std::tuple(ranks_[chunk], !needed, chunk);
  };
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
}

// Would reading the best k chunks leave the worst server of a needed one in peace?
bool ReadPolicy::Sparing() const {
  const uint32_t lacking = stripe_.data_chunks - std::min(stripe_.data_chunks, Count(good_));
  if (lacking == 0 || order_.size() < lacking) return false;
  uint8_t worst = 0;
  for (const uint32_t chunk : order_) {
    if (stripe_.needed & ChunkBit(chunk)) worst = std::max(worst, ranks_[chunk]);
  }
  return ranks_[order_[lacking - 1]] < worst;
}

bool ReadPolicy::Satisfied() const {
  return (stripe_.needed & ~good_) == 0 || Count(good_) >= stripe_.data_chunks;
}

ChunkMask ReadPolicy::TakeUnasked(uint32_t count) {
  ChunkMask taken = 0;
  for (const uint32_t chunk : order_) {
    if (count == 0) break;
    if ((good_ | bad_ | pending_) & ChunkBit(chunk)) continue;
    taken |= ChunkBit(chunk);
    pending_ |= ChunkBit(chunk);
    --count;
  }
  return taken;
}

ReadPolicy::Actions ReadPolicy::Decide() {
  Actions actions;
  if (Satisfied()) {
    actions.outcome = Actions::kDone;
    return actions;
  }
  const ChunkMask timely = good_ | (pending_ & ~late_);
  // Without trouble the needed chunks are enough; otherwise any k chunks are.
  if ((stripe_.needed & ~timely) != 0 && Count(timely) < stripe_.data_chunks) {
    actions.start = TakeUnasked(stripe_.data_chunks - Count(timely));
  }
  // Needed chunks that are all still possible, or k possible ones, keep the stripe undecided.
  const ChunkMask possible = all_ & ~bad_;
  if ((stripe_.needed & bad_) != 0 && Count(possible) < stripe_.data_chunks)
    actions.outcome = Actions::kFailed;
  return actions;
}

ReadPolicy::Actions ReadPolicy::Start(const Holders& holders) {
  good_ = stripe_.empty & all_;
  pending_ = late_ = overdue_ = again_ = 0;
  order_.clear();
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    if (!((good_ | bad_) & ChunkBit(chunk))) order_.push_back(chunk);
  }
  SetRanks(holders);
  const ChunkMask ready = stripe_.needed & ~(good_ | bad_);
  if ((stripe_.needed & bad_) == 0 && !Sparing()) pending_ |= ready;
  Actions actions = Decide();
  if (actions.outcome != Actions::kGoOn) return actions;
  actions.start |= pending_;
  return actions;
}

void ReadPolicy::OnAsked(uint32_t chunk, std::optional<MemberIndex> server, int rank, TimePoint now) {
  asked_[chunk] = {server, rank, now};
}

ReadPolicy::Actions ReadPolicy::OnGood(uint32_t chunk) {
  const ChunkMask bit = ChunkBit(chunk);
  XEC_CHECK(pending_ & bit);
  for (ChunkMask* left : {&pending_, &late_, &again_, &silent_}) *left &= ~bit;
  good_ |= bit;
  return Decide();
}

ReadPolicy::Actions ReadPolicy::OnBad(uint32_t chunk, bool silent, const Holders& holders) {
  const ChunkMask bit = ChunkBit(chunk);
  XEC_CHECK(pending_ & bit);
  for (ChunkMask* left : {&pending_, &late_, &again_, &silent_}) *left &= ~bit;
  bad_ |= bit;
  if (silent) silent_ |= bit;
  SetRanks(holders);
  return Decide();
}

// Is the hedge no matter of the budget? It is free if a server was well and has become bad, and those asked
// in its place are better. That happens only to requests in flight then, since later reads ask that server
// last. A server that fails again and again was not trusted when it was asked.
bool ReadPolicy::IsFree(ChunkMask late, ChunkMask others, const Holders& holders, TimePoint now) const {
  const TimePoint long_ago = now - kLongWait * stripe_.hedge_delay;
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    if ((others & ChunkBit(chunk)) && IsBad(holders[chunk])) return false;
    if (!(late & ChunkBit(chunk))) continue;
    const bool known = asked_[chunk].rank >= ServerHealth::kRankUntrusted && asked_[chunk].at > long_ago;
    if (known || !IsBad(holders[chunk])) return false;
  }
  return true;
}

ReadPolicy::Actions ReadPolicy::OnLate(ChunkMask late, const Holders& holders, TimePoint now,
                                       const Pay& pay) {
  overdue_ = late;
  SetRanks(holders);
  const ChunkMask fresh = late & ~late_;
  ChunkMask bad = 0;
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    if ((fresh & ChunkBit(chunk)) && IsBad(holders[chunk])) bad |= ChunkBit(chunk);
  }
  Actions all;
  // Hedges that are free must not wait for those that cannot be paid.
  for (const ChunkMask part : {bad, fresh & ~bad}) {
    if (part == 0) continue;
    const ChunkMask late_before = late_;
    const ChunkMask pending_before = pending_;
    late_ |= pending_ & part;
    const ChunkMask others = Decide().start;
    if (others == 0 || IsFree(part, others, holders, now) || pay(Count(others))) {
      all.start |= others;
    } else {
      late_ = late_before;
      pending_ = pending_before;
    }
  }
  if ((late & ~late_) != 0) all.look_again = now + kLookAgain;
  return all;
}

bool ReadPolicy::IsStuck() const { return Count(bad_ | (overdue_ & ~good_)) > stripe_.parity_chunks; }

bool ReadPolicy::FoundElsewhere(uint64_t changes, const Holders& holders) {
  if (!IsNews(changes)) return false;
  ChunkMask found = 0;
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    const std::optional<MemberIndex>& server = holders[chunk].server;
    const bool lacking = ((bad_ | again_) & ChunkBit(chunk)) != 0;
    if (lacking && server && asked_[chunk].server != server) found |= ChunkBit(chunk);
  }
  // Archives may be found one by one. A lane is also found anew whenever it can be opened, though not read.
  if (found == 0 || !MayBeginAnew()) return false;
  bad_ &= ~found;
  return true;
}

TimePoint ReadPolicy::LookAgainAt(TimePoint now, TimePoint searched) const {
  const TimePoint soon = now + kLookAgain;
  if (!IsStuck()) return soon;
  // A server that does not answer may do so at any time.
  return silent_ != 0 ? std::min(soon, searched) : searched;
}

ChunkMask ReadPolicy::MayBeBack(TimePoint now, bool waiting) const {
  ChunkMask back = 0;
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    const Return& before = returns_[chunk];
    if (!(bad_ & silent_ & ChunkBit(chunk)) || before.times == kReturnsMax) continue;
    if (!waiting || now >= before.next) back |= ChunkBit(chunk);
  }
  return back;
}

ReadPolicy::Actions ReadPolicy::OnBack(ChunkMask back, const Holders& holders, TimePoint now) {
  bad_ &= ~back;
  again_ |= back;
  for (uint32_t chunk = 0; chunk < chunk_count(); ++chunk) {
    if (!(back & ChunkBit(chunk))) continue;
    Return& before = returns_[chunk];
    before.next = now + kReturnPause * (1 << before.times++);
    if (!Contains(order_, chunk)) order_.push_back(chunk);
  }
  SetRanks(holders);
  return Decide();
}

bool ReadPolicy::OnSearched(uint64_t changes) {
  if (!IsNews(changes) || !MayBeginAnew()) return false;
  Forgive(changes);
  return true;
}

void ReadPolicy::Forgive(uint64_t changes) {
  changes_ = changes;
  bad_ = 0;
}

}  // namespace xec
