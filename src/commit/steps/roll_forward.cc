// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/roll_forward.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/given_up_seal.hh"
#include "commit/steps/witness.hh"

namespace xec {
namespace {

constexpr int kRollTriesMax = 3;

}  // namespace

Task<RollResult> RollForward(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             std::optional<States> listing) {
  bool fresh = false;
  for (int tries = 0; tries < kRollTriesMax; ++tries) {
    if (!listing) {
      Result<States> states = co_await ListStates(engine, home, path);
      if (!states) co_return RollResult::kFailed;
      listing = std::move(*states);
      fresh = true;
    }
    const RollStep step = NextRollStep(*listing, goal);
    listing.reset();
    switch (step.kind) {
      case RollStep::kAccepted: co_return RollResult::kAccepted;
      case RollStep::kSuperseded: co_return RollResult::kSuperseded;
      case RollStep::kRename: {
        const GivenUp given_up = co_await RemoveIfGivenUp(engine, path, home, step.from, goal);
        if (given_up != GivenUp::kNo) break;
        const Status renamed = co_await RenameState(engine, home, path, step.from, step.to);
        if (renamed) co_return RollResult::kAccepted;
        break;  // somebody else was faster, or the reply was lost: the next listing tells
      }
      case RollStep::kMark: {
        const Status made = co_await MakeNamedMark(engine, home, path, step.to);
        co_return made ? RollResult::kAccepted : RollResult::kFailed;
      }
      case RollStep::kWitness:
        // An older listing may have been overtaken, so a witness is written only after a fresh one.
        if (fresh) co_return co_await MakeWitness(engine, path, home, goal);
        break;
    }
  }
  co_return RollResult::kFailed;
}

Task<RollOutcome> RollForwardAll(Engine& engine, ObjectPath path, const Look& look,
                                 std::vector<MemberIndex> homes, Late late_ones, Duration least) {
  RollOutcome outcome;
  // Other homes may have it by now, or take it, in place of those that fail or are late.
  const std::vector<MemberIndex> holders = look.WithHighest();
  std::vector<MemberIndex> spares = look.homes();
  std::erase_if(spares, [&](MemberIndex home) { return Contains(holders, home) || Contains(homes, home); });
  spares = engine.ByHealth(std::move(spares));
  size_t next = 0;
  ServerGather<RollResult> gather(engine, RequestKind::kSync, least);
  for (const MemberIndex home : homes) {
    std::optional<States> listing;
    const auto heard = look.listings().find(home);
    if (heard != look.listings().end()) listing = heard->second;
    gather.Start(home, RollForward(engine, path, home, look.highest(), std::move(listing)));
  }
  const size_t quorum = look.quorum();
  const size_t have = holders.size();
  const auto passed_over = UnlessTooMany(engine, late_ones);
  while (true) {
    const bool enough = have + outcome.accepted.size() >= quorum;
    if (enough) outcome.enough_at = std::min(outcome.enough_at, engine.executor().Now());
    for (; !outcome.superseded && next < spares.size() &&
           have + outcome.accepted.size() + gather.timely() < quorum;
         ++next) {
      gather.Start(spares[next], RollForward(engine, path, spares[next], look.highest(), std::nullopt));
    }
    if (gather.pending() == 0) break;
    const bool all_late = gather.OnlyLateOnes();
    if (all_late && (enough || outcome.superseded || passed_over(gather.pending()))) break;
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    const bool higher = *event.value == RollResult::kSuperseded || *event.value == RollResult::kOvertaken;
    outcome.superseded = outcome.superseded || higher;
    if (*event.value == RollResult::kAccepted) outcome.accepted.push_back(event.member);
  }
  co_return std::move(outcome);
}

}  // namespace xec
