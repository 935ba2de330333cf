// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read_policy.hh"

#include <algorithm>
#include <bit>

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
  const auto rank = [&](uint32_t chunk) {
    const bool suspect = (stripe_.suspect & ChunkBit(chunk)) != 0;
    const bool needed = (stripe_.needed & ChunkBit(chunk)) != 0;
    return (suspect ? 2 : 0) + (needed ? 0 : 1);
  };
  // Stable: data before parity within a rank.
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
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
    actions.arm_timer = actions.start != 0;
  }
  // Needed chunks that are all still possible, or k possible ones, keep the stripe undecided.
  const ChunkMask possible = all_ & ~bad_;
  if ((stripe_.needed & bad_) != 0 && Count(possible) < stripe_.data_chunks)
    actions.outcome = Actions::kFailed;
  return actions;
}

ReadPolicy::Actions ReadPolicy::OnStart() {
  ChunkMask ready = stripe_.needed & ~(good_ | bad_);
  if ((stripe_.needed & (bad_ | stripe_.suspect) & ~good_) == 0) {
    pending_ |= ready;
  }
  Actions actions = Decide();
  if (actions.outcome != Actions::kGoOn) return actions;
  actions.start |= pending_;
  actions.arm_timer = true;
  return actions;
}

ReadPolicy::Actions ReadPolicy::OnChunk(uint32_t chunk, bool good) {
  XEC_CHECK(pending_ & ChunkBit(chunk));
  pending_ &= ~ChunkBit(chunk);
  late_ &= ~ChunkBit(chunk);
  (good ? good_ : bad_) |= ChunkBit(chunk);
  return Decide();
}

ReadPolicy::Actions ReadPolicy::OnTimer() {
  late_ |= pending_;
  return Decide();
}

}  // namespace xec
