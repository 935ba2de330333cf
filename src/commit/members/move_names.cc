// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/members/move_names.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/mutant.hh"
#include "commit/engine/names.hh"
#include "commit/programs/name_walk.hh"
#include "commit/rename/carry_renames.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/roll_forward.hh"
#include "commit/steps/seals.hh"

namespace xec {
namespace {

// Of one name: further rounds find what requests under way have made meanwhile.
constexpr int kSweepRoundsMax = 4;

// What it would become is there already, or can only come below what is.
bool HasCome(const Look& look, const State& seal) {
  if (seal.kind == StateKind::kDirectorySeal && *seal.version <= look.highest().version) return true;
  return std::any_of(look.listings().begin(), look.listings().end(), [&](const auto& home) {
    return std::any_of(home.second.begin(), home.second.end(),
                       [&](const State& state) { return state.Accepted() && state.oid == seal.oid; });
  });
}

// Seals that a quorum of homes could miss.
std::vector<State> LonePromises(const Look& look) {
  std::map<std::string, std::pair<State, size_t>> seals;
  for (const auto& [home, states] : look.listings()) {
    for (const State& state : states) {
      if (!IsSealOfAnyKind(state) || HasCome(look, state)) continue;
      const auto [entry, first] = seals.emplace(FormatState(state), std::pair(state, size_t{0}));
      ++entry->second.second;
    }
  }
  std::vector<State> lone;
  for (auto& [name, seal] : seals) {
    if (seal.second < look.quorum()) lone.push_back(std::move(seal.first));
  }
  return lone;
}

// One that stands on fewer homes than a quorum of both lists together was made by the list before: its owner
// could commit where nobody looks any more. It is given up on all homes, unless it goes by itself.
Task<Status> GiveUpLone(Engine& engine, ObjectPath path) {
  const Look all = co_await LookAt(engine, path, LookWidth::kAll, kCleanerPatience);
  if (!all.HasQuorum()) co_return CannotTell(engine, path, all);
  const std::vector<State> lone = LonePromises(all);
  if (!lone.empty() && all.listings().size() < all.homes().size()) {
    co_return Fail(Code::kUnavailable,
                   "an upload or change of {} was begun before the data servers changed, and a home does not "
                   "answer",
                   path.text());
  }
  for (const State& seal : lone) {
    const bool fenced = co_await FenceAllHomes(engine, path, seal);
    if (!fenced) co_return Fail(Code::kConflict, "{} is being changed", path.text());
  }
  // What this look has shown beside them stands on a quorum before the name is done.
  if (!all.Decided()) {
    const RollOutcome rolled =
        co_await RollForwardAll(engine, path, all, all.LackingHighest(), Late::kWaitedFor, kCleanerPatience);
    const bool enough = all.WithHighest().size() + rolled.accepted.size() >= all.quorum();
    if (rolled.superseded || !enough) co_return Fail(Code::kConflict, "{} is being changed", path.text());
  }
  co_return OkStatus();
}

Task<Status> MoveName(Engine& engine, ObjectPath path, TimePoint fence_from) {
  // Whoever changes the name meanwhile does so by the list in force.
  const Result<NameInfo> info = co_await LookUpWithAttributes(engine, path);
  if (!info) co_return info.error();
  const Status carried = co_await CarryRenames(engine, path, info->listings);
  if (!carried) co_return carried;
  const bool seals = std::any_of(info->listings.begin(), info->listings.end(), [](const auto& home) {
    return std::any_of(home.second.begin(), home.second.end(), IsSealOfAnyKind);
  });
  if (!seals) co_return OkStatus();
  // Many are just being made.
  if (engine.executor().Now() < fence_from)
    co_return Fail(Code::kConflict, "{} is being changed", path.text());
  co_return co_await GiveUpLone(engine, std::move(path));
}

Task<Result<FolderUnion>> ListForMove(Engine& engine, ObjectPath directory) {
  FolderUnion found = co_await ListFolder(engine, directory, kCleanerPatience);
  const size_t silent = engine.server_count() - found.heard.size();
  if (silent > engine.SilentServersMax())
    co_return Fail(Code::kNoQuorum, "{} of {} data servers do not list {}", silent, engine.server_count(),
                   directory.text());
  co_return std::move(found);
}

Task<Status> SweepOn(Engine& engine, MemberIndex member, ObjectPath path) {
  for (int round = 0; round < kSweepRoundsMax; ++round) {
    const Result<States> shown = co_await ListStates(engine, member, path);
    if (!shown) co_return shown.error();
    bool clean = true;
    for (const State& state : *shown) {
      if (state.CountsElsewhere() && !MutantActive(Mutant::kSweepArchives)) continue;
      clean = false;
      const std::string entry = FormatState(state);
      Status removed;
      if (state.IsMark()) removed = co_await RemoveMark(engine, member, path, entry);
      if (!state.IsMark()) removed = co_await RemoveState(engine, member, path, entry);
      if (!removed && removed.code() != Code::kNotFound) co_return removed;
    }
    // Only a listing proves that nothing is left: a draft may have become something meanwhile.
    if (clean) co_return OkStatus();
  }
  co_return Fail(Code::kConflict, "{} is being changed", path.text());
}

Task<Status> SweepName(Engine& engine, ObjectPath path, std::vector<MemberIndex> members) {
  const Homes homes = engine.Homes(path);
  for (const MemberIndex member : members) {
    if (Contains(homes, member)) continue;
    const Status swept = co_await SweepOn(engine, member, path);
    if (!swept) co_return swept;
  }
  co_return OkStatus();
}

// A server that is being emptied holds nothing up: it is no home ever again.
Task<Result<FolderUnion>> ListForSweep(Engine& engine, ObjectPath directory) {
  FolderUnion found = co_await ListFolder(engine, directory, kCleanerPatience);
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const Member& member = engine.descriptor().members[i];
    if (!IsBeingEmptied(member.role) && !found.heard.contains(static_cast<MemberIndex>(i)))
      co_return Fail(Code::kUnavailable, "{} does not list {}", member.id, directory.text());
  }
  co_return std::move(found);
}

}  // namespace

Task<Status> MoveNames(Engine& engine, Turn turn) {
  const TimePoint fence_from = engine.executor().Now() + engine.options().metadata_timeout;
  NameWalk walk{.engine = engine,
                .list = [&engine](ObjectPath directory) { return ListForMove(engine, std::move(directory)); },
                .visit =
                    [&engine, fence_from](ObjectPath name, std::vector<MemberIndex>) {
                      return MoveName(engine, std::move(name), fence_from);
                    },
                .turn = std::move(turn)};
  co_return co_await VisitAllNames(std::move(walk));
}

Task<Status> SweepNames(Engine& engine, Turn turn) {
  NameWalk walk{
      .engine = engine,
      .list = [&engine](ObjectPath directory) { return ListForSweep(engine, std::move(directory)); },
      .visit =
          [&engine](ObjectPath name, std::vector<MemberIndex> members) {
            return SweepName(engine, std::move(name), std::move(members));
          },
      .turn = std::move(turn)};
  co_return co_await VisitAllNames(std::move(walk));
}

}  // namespace xec
