// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/short_ways.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/clean/clean_pass.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

// Brings the tombstone to homes that lack it. False: a home did not take it. What that home accepts must not
// sink, so nothing may be removed there.
Task<bool> MarkLacking(CleanPass& pass) {
  const State tombstone = TombstoneState(pass.current.version);
  ServerGather<Status> gather(pass.engine, RequestKind::kSync, kCleanerPatience);
  size_t lacking = 0;
  for (const MemberIndex home : pass.homes) {
    if (HighestAccepted(pass.servers[home]) == pass.current) continue;
    gather.Start(home, MakeNamedMark(pass.engine, home, pass.path, FormatState(tombstone)));
    ++lacking;
  }
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    pass.servers[event.member].push_back(tombstone);
    pass.without.erase(event.member);
    --lacking;
  }
  co_return lacking == 0;
}

// OnlySuperseded is asked about these: servers that have no object directory of the name are left out.
ServerStates Shown(const CleanPass& pass) {
  ServerStates shown = pass.servers;
  for (const MemberIndex member : pass.without) shown.erase(member);
  return shown;
}

}  // namespace

Task<std::optional<CleanOutcome>> PurgeName(Engine& engine, ObjectPath path, Purgeable purgeable) {
  CleanPass pass(engine, std::move(path));
  std::vector<MemberIndex> members = pass.homes;
  for (const MemberIndex member : purgeable.shown_by) {
    if (!Contains(pass.homes, member)) members.push_back(member);
  }
  co_await ListOn(pass, members);
  if (pass.servers.size() < members.size()) co_return std::nullopt;
  const std::optional<Superseding> found = OnlySuperseded(engine, Shown(pass), pass.homes);
  const bool same = found && found->current == purgeable.current;
  if (!same || !pass.Past(found->since_ms, engine.options().superseded_grace)) co_return std::nullopt;
  for (const auto& [member, states] : found->shown)
    pass.current = std::max(pass.current, HighestAccepted(states));
  if (!pass.current.Live()) {
    const bool everywhere = co_await MarkLacking(pass);
    if (!everywhere) co_return std::nullopt;
    ++pass.outcome.left;  // the tombstone, until the horizon
  }
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.Accepted() && *state.version < pass.current.version)
        co_await Perform(pass, member, RemoveEntry(state));
    }
  }
  co_await RemoveObjectDirectory(pass);
  co_return pass.outcome;
}

Task<std::optional<CleanOutcome>> ForgetName(Engine& engine, ObjectPath path, int64_t asked_ms) {
  CleanPass pass(engine, std::move(path));
  co_await ListOn(pass, pass.homes);
  if (!IsForgettable(pass.servers, pass.homes)) co_return std::nullopt;
  pass.current = HighestAccepted(pass.servers.begin()->second);
  const int64_t made_ms = TombstoneMadeMs(pass.current.version, pass.servers);
  // Clocks may be set back.
  const int64_t past_ms = std::min(asked_ms, pass.Now());
  if (!IsPast(past_ms, made_ms, engine.options().tombstone_horizon)) co_return std::nullopt;
  co_await RemoveTombstones(pass);
  co_await RemoveObjectDirectory(pass);
  co_return pass.outcome;
}

}  // namespace xec
