// SPDX-License-Identifier: LGPL-3.0-or-later
// ROLL: making one home accept a version that was seen accepted elsewhere (docs/protocol/roll-forward.md).
#pragma once

#include "commit/steps/drafts.hh"

namespace xec {

// `listing`: of this home, made in this operation, or nullopt. Never renames a source that no listing has
// shown, and never proves a witness without looking again elsewhere.
Task<RollResult> RollForward(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             std::optional<States> listing);

// Rolls look.highest() forward on `homes` in parallel, and on others that lack it in place of those that fail
// or are late, until a quorum has it, if there are enough. With kPassedOver no more than may be bad are
// waited for: the caller looks again.
struct RollOutcome {
  bool superseded = false;  // some home has something higher: look again
  std::vector<MemberIndex> accepted;
  TimePoint enough_at = TimePoint::max();  // when a quorum had it, as far as was known
};
// `least`: as of ServerGather.
Task<RollOutcome> RollForwardAll(Engine& engine, ObjectPath path, const Look& look,
                                 std::vector<MemberIndex> homes, Late late_ones, Duration least = {});

}  // namespace xec
