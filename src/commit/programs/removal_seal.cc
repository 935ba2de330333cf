// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/removal_seal.hh"

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/roll_forward.hh"
#include "runtime/gather.hh"

namespace xec {

Task<Result<RemovalSeal>> SealRemoval(Engine& engine, const NameInfo& info) {
  const ObjectPath path = info.path;
  const Homes homes = engine.Homes(path);
  RemovalSeal removal{.path = path,
                      .seal = RemovalSealState(info.accepted.version, engine.NewObjectId()),
                      .homes = {},
                      .sealed_at = {}};
  const std::string entry = FormatState(removal.seal);
  std::vector<MemberIndex> order = info.HomesHeard();
  std::erase(order, homes.front());
  order.insert(order.begin(), homes.front());
  engine.known_directories().Forget(path);
  XEC_FAILPOINT("removal.seal");
  removal.homes = co_await SealQuorum(engine, path, std::move(order), [&](MemberIndex home) {
    return MakeNamedMark(engine, home, path, entry);
  });
  XEC_FAILPOINT("removal.sealed");
  if (removal.homes.sealed.size() < homes.quorum()) {
    co_await WithdrawRemoval(engine, std::move(removal));
    co_return Fail(Code::kNoQuorum, "too few homes of {} take changes now; retry", path.text());
  }
  const bool first_home = Contains(removal.homes.sealed, homes.front());
  if (!first_home) co_await Pause(engine, kUntilLooksAreOver);
  removal.sealed_at = engine.executor().Now();
  co_return std::move(removal);
}

Task<void> WithdrawRemoval(Engine& engine, RemovalSeal removal) {
  GiveUpLateSeals(engine, removal.path, removal.seal, removal.homes.unsure);
  co_await RemoveSeals(engine, removal.path, removal.seal, removal.homes.sealed);
  XEC_FAILPOINT("removal.withdrawn");
}

namespace {

constexpr size_t kEndedAtOnceMax = 64;

// The name may live on homes that were not heard before; then all homes get it. False: nothing lives there.
Task<bool> BringIfLive(Engine& engine, const ObjectPath& path) {
  const Look look = co_await LookAt(engine, path, LookWidth::kAll);
  if (look.HasQuorum() && look.highest().Live())
    co_await RollForwardAll(engine, path, look, look.LackingHighest(), Late::kPassedOver);
  co_return !look.HasQuorum() || look.highest().Live();
}

Task<void> EndOne(Engine& engine, Making making) {
  const bool lives = co_await BringIfLive(engine, making.path);
  if (lives) co_return;
  State seal = making.seal;
  if (seal.kind == StateKind::kAborted) seal.kind = StateKind::kSealed;
  if (seal.kind == StateKind::kAbortedDirectory) seal.kind = StateKind::kDirectorySeal;
  // Only its source knows whether a rename has committed, and the cleaner asks it.
  if (seal.kind == StateKind::kMoveIn) co_return;
  const bool fenced = co_await FenceAllHomes(engine, making.path, seal);
  if (!fenced) {
    co_await BringIfLive(engine, making.path);  // promoted since the look
    co_return;
  }
  const State aborted = AbortedState(seal);
  const Homes homes = engine.Homes(making.path);
  co_await RemoveSeals(engine, making.path, aborted, homes);
}

}  // namespace

Task<void> EndMaking(Engine& engine, std::vector<Making> under_way) {
  Gather<NoAnswer> gather(engine.scope(), engine.executor());
  for (Making& making : under_way) {
    if (gather.pending() >= kEndedAtOnceMax) co_await gather.Next();
    gather.Start(0, EndOne(engine, std::move(making)));
  }
  while (gather.pending() > 0) co_await gather.Next();
}

Task<bool> RemovalStands(Engine& engine, const RemovalSeal& removal) {
  const SealsSeen seen =
      co_await LookAtSeals(engine, removal.path, removal.seal, removal.homes.sealed, /*wait=*/false);
  co_return !seen.homes.empty() && seen.homes.size() == seen.look.listings().size();
}

}  // namespace xec
