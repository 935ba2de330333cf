// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/seals.hh"

#include "base/contains.hh"
#include "commit/engine/names.hh"
#include "commit/engine/server_gather.hh"

namespace xec {

bool IsSealOfAnyKind(const State& state) {
  return state.kind == StateKind::kSealed || state.kind == StateKind::kDirectorySeal ||
         state.kind == StateKind::kRemovalSeal || state.kind == StateKind::kMoveOut ||
         state.kind == StateKind::kMoveIn;
}

Task<HomesSealed> SealQuorum(Engine& engine, ObjectPath path, std::vector<MemberIndex> preferred,
                             UniqueFunction<Task<Status>(MemberIndex)> make) {
  const std::vector<MemberIndex> homes = HomesFrom(engine, path, std::move(preferred));
  const size_t quorum = engine.HomeQuorum(path);
  HomesSealed result;
  std::vector<MemberIndex>& sealed = result.sealed;
  ServerGather<Status> gather(engine, RequestKind::kSync);
  size_t next = 0;
  while (sealed.size() < quorum) {
    for (; next < homes.size() && sealed.size() + gather.timely() < quorum; ++next)
      gather.Start(homes[next], make(homes[next]));
    if (gather.pending() == 0) break;
    const auto event = co_await gather.Next();
    if (event.value && *event.value) sealed.push_back(event.member);
  }
  for (size_t i = 0; i < next; ++i) {
    const bool sure = Contains(sealed, homes[i]);
    if (!sure) result.unsure.push_back(homes[i]);
  }
  co_return std::move(result);
}

Task<SealsSeen> LookAtSeals(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> homes,
                            bool wait) {
  SealsSeen result{{}, Look(engine.Homes(path))};
  ServerGather<Result<States>> gather(engine);
  for (const MemberIndex home : homes) gather.Start(home, ListStates(engine, home, path));
  while (gather.pending() > 0) {
    result.late = !wait && gather.OnlyLateOnes();
    if (result.late) break;
    auto event = co_await gather.Next();
    if (!event.value) continue;
    const MemberIndex home = event.member;
    if (!*event.value) {
      result.look.Failed(home);
      continue;
    }
    if (SealStands(**event.value, seal)) result.homes.push_back(home);
    result.look.Heard(home, std::move(**event.value));
  }
  co_return std::move(result);
}

Task<Error> DirectoryInTheWay(Engine& engine, ObjectPath path) {
  const Result<NameInfo> info = co_await LookUp(engine, path);
  if (info && info->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
  co_return Fail(Code::kConflict, "{} was a directory a moment ago; retry", path.text());
}

Task<Error> ObjectInTheWay(Engine& engine, ObjectPath path, Rival rival) {
  const Result<NameInfo> info = co_await LookUp(engine, path);
  if (info && info->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
  co_return Fail(Code::kConflict, "another upload of {} is under way ({} has {}); retry", path.text(),
                 engine.server(rival.home)->name(), FormatState(rival.state));
}

Task<Error> ReplacementInTheWay(Engine& engine, ObjectPath path, Accepted base, Rival rival) {
  const Result<NameInfo> info = co_await LookUp(engine, path);
  if (info && info->accepted.version != base.version) co_return NotCurrent(path);
  co_return Fail(Code::kConflict, "another upload of {} is under way ({} has {}); retry", path.text(),
                 engine.server(rival.home)->name(), FormatState(rival.state));
}

Error DirectoryBeingMade(const ObjectPath& path) {
  return Fail(Code::kConflict, "a directory {} is being made; retry", path.text());
}

}  // namespace xec
