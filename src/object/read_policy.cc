// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read_policy.hh"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/contains.hh"

namespace xec {
namespace {

uint32_t Count(ChunkMask mask) { return static_cast<uint32_t>(std::popcount(mask)); }

}  // namespace

ReadPolicy::ReadPolicy(const Stripe& stripe)
    : stripe_(stripe), all_(FirstChunks(stripe.data_chunks + stripe.parity_chunks)) {
  XEC_CHECK(stripe.needed != 0 && (stripe.needed & ~all_) == 0);
  good_ = stripe.empty & all_;
  bad_ = stripe.absent & all_ & ~good_;
  for (uint32_t chunk = 0; chunk < stripe.data_chunks + stripe.parity_chunks; ++chunk) {
    if (!((good_ | bad_) & ChunkBit(chunk))) order_.push_back(chunk);
  }
  SetRanks(stripe.ranks);
}

void ReadPolicy::SetRanks(const Ranks& ranks) {
  stripe_.ranks = ranks;
  const auto key = [&](uint32_t chunk) {
    const bool needed = (stripe_.needed & ChunkBit(chunk)) != 0;
    return std::tuple(ranks[chunk], !needed, chunk);
  };
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
}

// Would reading the best k chunks leave the worst server of a needed one in peace?
bool ReadPolicy::Sparing() const {
  const uint32_t lacking = stripe_.data_chunks - std::min(stripe_.data_chunks, Count(good_));
  if (lacking == 0 || order_.size() < lacking) return false;
  uint8_t worst = 0;
  for (const uint32_t chunk : order_) {
    if (stripe_.needed & ChunkBit(chunk)) worst = std::max(worst, stripe_.ranks[chunk]);
  }
  return stripe_.ranks[order_[lacking - 1]] < worst;
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
  // Without trouble the needed chunks are enough; otherwise k of any kind are.
  if ((stripe_.needed & ~timely) != 0 && Count(timely) < stripe_.data_chunks) {
    actions.start = TakeUnasked(stripe_.data_chunks - Count(timely));
  }
  // Needed chunks that are all still possible, or k possible ones, keep the stripe undecided.
  const ChunkMask possible = all_ & ~bad_;
  if ((stripe_.needed & bad_) != 0 && Count(possible) < stripe_.data_chunks)
    actions.outcome = Actions::kFailed;
  return actions;
}

ReadPolicy::Actions ReadPolicy::OnStart() {
  ChunkMask ready = stripe_.needed & ~(good_ | bad_);
  if ((stripe_.needed & bad_) == 0 && !Sparing()) pending_ |= ready;
  Actions actions = Decide();
  if (actions.outcome != Actions::kGoOn) return actions;
  actions.start |= pending_;
  return actions;
}

ReadPolicy::Actions ReadPolicy::OnChunk(uint32_t chunk, bool good) {
  XEC_CHECK(pending_ & ChunkBit(chunk));
  pending_ &= ~ChunkBit(chunk);
  late_ &= ~ChunkBit(chunk);
  (good ? good_ : bad_) |= ChunkBit(chunk);
  return Decide();
}

ReadPolicy::Actions ReadPolicy::OnBack(ChunkMask back) {
  bad_ &= ~back;
  for (uint32_t chunk = 0; chunk < stripe_.data_chunks + stripe_.parity_chunks; ++chunk) {
    if ((back & ChunkBit(chunk)) && !Contains(order_, chunk)) order_.push_back(chunk);
  }
  SetRanks(stripe_.ranks);
  return Decide();
}

ReadPolicy::Actions ReadPolicy::OnLate(ChunkMask late) {
  late_ |= pending_ & late;
  return Decide();
}

}  // namespace xec
