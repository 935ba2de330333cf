// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/removal_seal.hh"

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "commit/fence.hh"
#include "commit/pause.hh"
#include "commit/roll_forward.hh"

namespace xec {

Task<Result<RemovalSeal>> SealRemoval(Engine& engine, const NameInfo& info) {
  const ObjectPath path = info.path;
  const std::vector<MemberIndex> homes = engine.Homes(path);
  RemovalSeal removal{path, RemovalSealState(info.accepted.version, engine.NewObjectId()), {}, {}};
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
  if (removal.homes.sealed.size() < Quorum(homes.size())) {
    co_await WithdrawRemoval(engine, std::move(removal));
    co_return Fail(Code::kNoQuorum, "too few homes of {} take changes now; retry", path.text());
  }
  const bool first_home = Contains(removal.homes.sealed, homes.front());
  if (!first_home) co_await Pause(engine, KnownDirectories::kHolds);
  removal.sealed_at = engine.executor().Now();
  co_return std::move(removal);
}

Task<void> WithdrawRemoval(Engine& engine, RemovalSeal removal) {
  ServerGather<bool> gather(engine);
  for (const MemberIndex home : removal.homes.sealed)
    gather.Start(home, RemoveOrGiveUp(engine, home, removal.path, removal.seal));
  GiveUpLateSeals(engine, removal.path, removal.seal, removal.homes.unsure);
  while (gather.timely() > 0) co_await gather.Next();
  XEC_FAILPOINT("removal.withdrawn");
}

namespace {

Task<void> EndOne(Engine& engine, Making making) {
  const Look look = co_await LookAt(engine, making.path, LookWidth::kAll);
  if (!look.HasQuorum()) co_return;
  if (look.highest().Live()) {
    // Homes that were not heard before have it.
    const RollOutcome rolled =
        co_await RollForwardAll(engine, making.path, look, look.LackingHighest(), Late::kPassedOver);
    (void)rolled;
    co_return;
  }
  State seal = making.seal;
  if (seal.kind == StateKind::kAborted) seal.kind = StateKind::kSealed;
  if (seal.kind == StateKind::kAbortedDirectory) seal.kind = StateKind::kDirectorySeal;
  // Of a rename its source knows.
  if (seal.kind == StateKind::kMoveIn) co_return;
  const bool fenced = co_await FenceAllHomes(engine, std::move(making.path), std::move(seal));
  (void)fenced;
}

}  // namespace

Task<void> EndMaking(Engine& engine, std::vector<Making> under_way) {
  for (Making& making : under_way) co_await EndOne(engine, std::move(making));
}

}  // namespace xec
