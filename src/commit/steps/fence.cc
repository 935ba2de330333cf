// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/fence.hh"

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

constexpr int kFenceStepsMax = 12;
// All homes are needed, so a home that was well is not given up lightly.
constexpr Duration kFencePatience = std::chrono::seconds(1);

}  // namespace

Task<bool> FenceHome(Engine& engine, ObjectPath path, MemberIndex home, State seal) {
  for (int steps = 0; steps < kFenceStepsMax; ++steps) {
    Result<States> states = co_await ListStates(engine, home, path);
    if (!states) co_return false;
    const FenceStep step = NextFenceStep(*states, seal);
    if (step.kind == FenceStep::kFenced) co_return true;
    if (step.kind == FenceStep::kPromotedHere) co_return false;
    Status done;
    if (step.kind == FenceStep::kRename) {
      done = co_await RenameState(engine, home, path, step.from, step.to);
    } else {
      // The mark is made before the listing of the next round: a late creation and we cannot miss each other.
      done = co_await MakeNamedMark(engine, home, path, step.to);
    }
    if (!done && done.code() != Code::kNotFound) co_return false;
    XEC_FAILPOINT("clean.fenced");
  }
  co_return false;
}

Task<bool> FenceAllHomes(Engine& engine, ObjectPath path, State seal) {
  const Homes homes = engine.Homes(path);
  ServerGather<bool> gather(engine, RequestKind::kSync, kFencePatience);
  for (const MemberIndex home : homes) gather.Start(home, FenceHome(engine, path, home, seal));
  size_t fenced = 0;
  // A home that is late is a home that is missing: the seal is not void.
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (event.value && *event.value) ++fenced;
  }
  co_return fenced >= (MutantActive(Mutant::kAbortAtMajority) ? homes.quorum() : homes.size());
}

Task<void> RemoveOrGiveUp(Engine& engine, MemberIndex member, ObjectPath path, State seal) {
  const std::string entry = FormatState(seal);
  Status removed;
  if (seal.IsMark()) removed = co_await RemoveMark(engine, member, path, entry);
  if (!seal.IsMark()) removed = co_await RemoveState(engine, member, path, entry);
  const bool gone = removed || removed.code() == Code::kNotFound;
  if (!gone) engine.given_up_files().Add(member, StatePath(path, entry));
}

Task<void> RemoveSeals(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> members) {
  ServerGather<NoAnswer> gather(engine);
  for (const MemberIndex member : members) gather.Start(member, RemoveOrGiveUp(engine, member, path, seal));
  while (gather.timely() > 0) co_await gather.Next();
}

void GiveUpLateSeals(Engine& engine, const ObjectPath& path, const State& seal,
                     const std::vector<MemberIndex>& homes) {
  for (const MemberIndex home : homes) engine.given_up_files().Add(home, StatePath(path, FormatState(seal)));
}

}  // namespace xec
