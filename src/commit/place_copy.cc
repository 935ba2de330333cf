// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/place_copy.hh"

#include <algorithm>

namespace xec {
namespace {

// Makes sure that a quorum of the name's homes accepts the version without this one, whose archive is bad and
// has to go: what it accepts sinks until the copy is there.
Task<Status> StandWithout(Engine& engine, ObjectPath path, MemberIndex member, Accepted version) {
  const std::vector<MemberIndex> homes = engine.Homes(path);
  if (std::find(homes.begin(), homes.end(), member) == homes.end()) co_return OkStatus();
  size_t have = 0;
  for (const MemberIndex home : homes) {
    if (home == member || have >= Quorum(homes.size())) continue;
    const RollResult rolled = co_await RollForward(engine, path, home, version, std::nullopt);
    if (rolled == RollResult::kSuperseded)
      co_return Fail(Code::kConflict, "{} was changed meanwhile", path.text());
    if (rolled == RollResult::kAccepted) ++have;
  }
  if (have >= Quorum(homes.size())) co_return OkStatus();
  co_return Fail(Code::kUnavailable,
                 "too few homes of {} answer to replace the bad archive on {}, which is one of them; retry",
                 path.text(), engine.server_id(member));
}

}  // namespace

Task<Status> PlaceCopy(Engine& engine, ObjectPath path, MemberIndex member, State draft, Accepted version) {
  const State place = PromotedState(version.version, version.oid, version.size);
  const Error changed = Fail(Code::kConflict, "{} was changed meanwhile", path.text());
  bool current = co_await StillHighestElsewhere(engine, path, member, version);
  if (!current) co_return changed;
  Result<States> states = co_await ListStates(engine, member, path);
  if (!states) co_return states.error();
  const auto there = std::find_if(states->begin(), states->end(), [&](const State& state) {
    return FormatState(state) == FormatState(place);
  });
  if (there != states->end()) {
    Status stands = co_await StandWithout(engine, path, member, version);
    if (!stands) co_return std::move(stands);
    Status removed =
        co_await Remove(engine.MetadataCall(), engine.server(member), StatePath(path, FormatState(place)));
    if (!removed) co_return std::move(removed);
    // After what took a while: who has collected this version since must not meet the copy.
    current = co_await StillHighestElsewhere(engine, path, member, version);
    if (!current) co_return changed;
  }
  Status renamed = co_await RenameState(engine, member, path, FormatState(draft), FormatState(place));
  co_return std::move(renamed);
}

}  // namespace xec
