// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_pass.hh"

#include "base/failpoint.hh"
#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/given_up_seal.hh"

namespace xec {
namespace {

Task<Status> RemoveObjectDirectoryOn(Engine& engine, MemberIndex member, ObjectPath path) {
  const std::vector<std::string> parts = path.LongNameEntries();
  if (!parts.empty()) {
    // It is looked for now, not when it was listed: a state that came since would be without its name for a
    // moment.
    const Result<States> left = co_await ListStates(engine, member, path);
    if (!left) co_return left.error();
    if (!left->empty()) co_return OkStatus();
  }
  for (const std::string& part : parts) {
    const Status removed = co_await RemoveMark(engine, member, path, part);
    (void)removed;
  }
  Status removed =
      co_await RemoveDirectory(engine.MetadataCall(), engine.server(member), path.ObjectDirectory());
  // The server refuses this if a creation came first, which keeps the directory and needs the name.
  if (!removed && removed.code() != Code::kNotFound)
    removed = co_await KeepLongName(engine, member, std::move(path));
  co_return std::move(removed);
}

}  // namespace

ServerStates CleanPass::HomesHeard() const {
  ServerStates heard;
  for (const MemberIndex home : homes) {
    const auto found = servers.find(home);
    if (found != servers.end()) heard.insert(*found);
  }
  return heard;
}

Task<void> ListOn(CleanPass& pass, std::vector<MemberIndex> members) {
  pass.servers.clear();
  pass.without.clear();
  pass.gone.clear();
  ServerGather<Result<std::optional<States>>> gather(pass.engine, RequestKind::kMetadata, kCleanerPatience);
  for (const MemberIndex member : members)
    gather.Start(member, ListStatesIfThere(pass.engine, member, pass.path));
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    std::optional<States>& states = **event.value;
    if (!states) pass.without.insert(event.member);
    pass.servers[event.member] = std::move(states).value_or(States{});
  }
}

Task<void> ListEverywhere(CleanPass& pass) { co_await ListOn(pass, pass.engine.AllByHealth()); }

Task<void> RemoveObjectDirectory(CleanPass& pass) {
  XEC_FAILPOINT("clean.directory");
  ServerGather<Status> gather(pass.engine);
  for (const auto& [member, states] : pass.servers) {
    const bool empty = states.size() == pass.gone[member] && !pass.without.contains(member);
    if (empty) gather.Start(member, RemoveObjectDirectoryOn(pass.engine, member, pass.path));
  }
  while (gather.timely() > 0) co_await gather.Next();
}

Task<void> RemoveTombstones(CleanPass& pass) {
  XEC_FAILPOINT("clean.collect");
  const ServerStates listings = pass.HomesHeard();
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.Accepted()) co_await Perform(pass, home, RemoveEntry(state));
    }
  }
}

SweepAction RemoveEntry(const State& state) {
  return {.kind = state.IsMark() ? SweepAction::kRemoveMark : SweepAction::kRemoveFile,
          .from = FormatState(state)};
}

Task<void> Perform(CleanPass& pass, MemberIndex member, SweepAction action) {
  const Performed performed = co_await PerformOn(pass, member, std::move(action));
  Count(pass, member, performed);
}

void Count(CleanPass& pass, MemberIndex member, const Performed& performed) {
  pass.outcome.removed += performed.removed;
  pass.outcome.left += performed.left;
  if (performed.gone > 0) pass.gone[member] += performed.gone;
}

Task<Performed> PerformOn(const CleanPass& pass, MemberIndex member, SweepAction action) {
  // A server that has fallen silent since it was listed is not waited for, entry by entry.
  const Standing standing = pass.engine.health().At(member, pass.engine.executor().Now());
  if (standing.state == ServerState::kSuspect) co_return Performed{.left = 1};
  Status status;
  GivenUp given_up = GivenUp::kNo;
  switch (action.kind) {
    case SweepAction::kRemoveFile:
      status = co_await RemoveState(pass.engine, member, pass.path, action.from);
      break;
    case SweepAction::kRemoveMark:
      status = co_await RemoveMark(pass.engine, member, pass.path, action.from);
      break;
    case SweepAction::kRename:
      given_up = co_await RemoveIfGivenUp(pass.engine, pass.path, member, action.from, pass.current);
      if (given_up == GivenUp::kUnclear)
        status = Fail(Code::kUnavailable, "{} cannot be read well now", action.from);
      if (given_up == GivenUp::kNo)
        status = co_await RenameState(pass.engine, member, pass.path, action.from, action.to);
      break;
  }
  XEC_FAILPOINT("clean.swept");
  if (status) co_return Performed{.removed = 1, .gone = action.kind == SweepAction::kRename ? 0u : 1u};
  co_return Performed{.left = status.code() == Code::kNotFound ? 0u : 1u};
}

}  // namespace xec
