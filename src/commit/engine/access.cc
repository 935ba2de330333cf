// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/access.hh"

#include <set>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "commit/engine/server_gather.hh"
#include "server/stray_file.hh"

namespace xec {

std::string StatePath(const ObjectPath& path, std::string_view entry) {
  return path.ObjectDirectory() + "/" + std::string(entry);
}

bool OutcomeUnknown(const Status& status) {
  return !status && (status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded ||
                     status.code() == Code::kUnknown);
}

bool TookTooLong(const Engine& engine, TimePoint begun, TimePoint enough_at) {
  return enough_at > begun + LongestRound(engine);
}

namespace {

Task<Result<Listed>> ListIfThere(Engine& engine, MemberIndex member, std::string directory) {
  Result<std::vector<Entry>> listed = co_await List(engine.MetadataCall(), engine.server(member), directory);
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (listed) co_return Listed(std::move(*listed));
  if (listed.code() == Code::kNotFound) co_return Listed();
  if (listed.code() == Code::kNotDirectory) {
    const bool removed = co_await RemoveStrayFile(engine.executor(), engine.server(member),
                                                  std::move(directory), engine.options().metadata_timeout);
    if (removed) co_return Listed();
  }
  co_return listed.error();
}

}  // namespace

Task<Result<std::vector<Entry>>> ListOrEmpty(Engine& engine, MemberIndex member, std::string directory) {
  Result<Listed> listed = co_await ListIfThere(engine, member, std::move(directory));
  if (!listed) co_return listed.error();
  if (!*listed) co_return std::vector<Entry>{};
  co_return std::move(**listed);
}

namespace {

States StatesOf(const std::vector<Entry>& entries) {
  States states;
  for (const Entry& entry : entries) {
    std::optional<State> state = ParseState(entry.name);
    if (!state) continue;
    state->entry_bytes = entry.size;
    state->mtime_s = entry.mtime_s;
    state->entry_directory = entry.directory;
    states.push_back(std::move(*state));
  }
  return states;
}

std::optional<States> StatesIfThere(const Listed& entries) {
  return entries ? std::optional(StatesOf(*entries)) : std::nullopt;
}

}  // namespace

Task<Result<States>> ListStates(Engine& engine, MemberIndex member, ObjectPath path) {
  const Result<Listed> listed = co_await ListIfThere(engine, member, path.ObjectDirectory());
  if (!listed) co_return listed.error();
  States states = StatesIfThere(*listed).value_or(States{});
  engine.crowded_names().Saw(path, states.size());
  co_return std::move(states);
}

Task<Result<std::optional<States>>> ListStatesIfThere(Engine& engine, MemberIndex member, ObjectPath path) {
  const Result<Listed> listed = co_await ListIfThere(engine, member, path.ObjectDirectory());
  if (!listed) co_return listed.error();
  co_return StatesIfThere(*listed);
}

namespace {

Task<Result<std::vector<std::optional<States>>>> ListTheirStates(Engine& engine, MemberIndex member,
                                                                 std::vector<ObjectPath> paths) {
  std::vector<std::string> directories;
  for (const ObjectPath& path : paths) directories.push_back(path.ObjectDirectory());
  const Result<std::vector<Listed>> listed =
      co_await ListMany(engine.MetadataCall(), engine.server(member), std::move(directories));
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (!listed) co_return listed.error();
  std::vector<std::optional<States>> states;
  for (const Listed& entries : *listed) states.push_back(StatesIfThere(entries));
  co_return std::move(states);
}

}  // namespace

Task<StatesByName> ListManyStates(Engine& engine, NamesByServer wanted, Duration least, Duration most) {
  StatesByName heard;
  // The patience is that of a sync, since a batch takes as long as many small requests.
  ServerGather<Result<std::vector<std::optional<States>>>> gather(engine, RequestKind::kSync, least);
  for (const auto& [member, paths] : wanted) gather.Start(member, ListTheirStates(engine, member, paths));
  const Executor& executor = engine.executor();
  const TimePoint until = most == Duration::max() ? TimePoint::max() : executor.Now() + most;
  while (gather.timely() > 0 && executor.Now() < until) {
    auto event = co_await gather.Next(until);
    if (!event.value || !*event.value) continue;
    const std::vector<ObjectPath>& paths = wanted[event.member];
    for (size_t i = 0; i < paths.size(); ++i) heard[paths[i]][event.member] = std::move((**event.value)[i]);
  }
  co_return std::move(heard);
}

Task<Status> RenameState(Engine& engine, MemberIndex member, ObjectPath path, std::string from,
                         std::string to) {
  XEC_FAILPOINT("state.rename");
  Status renamed = co_await Rename(engine.MetadataCall(), engine.server(member), StatePath(path, from),
                                   StatePath(path, to));
  XEC_FAILPOINT("state.renamed");
  co_return std::move(renamed);
}

Task<Status> RemoveState(Engine& engine, MemberIndex member, ObjectPath path, std::string entry) {
  XEC_FAILPOINT("state.remove");
  Status removed = co_await Remove(engine.MetadataCall(), engine.server(member), StatePath(path, entry));
  XEC_FAILPOINT("state.removed");
  co_return std::move(removed);
}

Task<Status> MakeMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry) {
  XEC_FAILPOINT("state.mark");
  Status made = co_await MakeDirectory(engine.MetadataCall(), engine.server(member), StatePath(path, entry));
  XEC_FAILPOINT("state.marked");
  co_return std::move(made);
}

Task<Status> RemoveMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry) {
  XEC_FAILPOINT("state.unmark");
  Status removed =
      co_await RemoveDirectory(engine.MetadataCall(), engine.server(member), StatePath(path, entry));
  XEC_FAILPOINT("state.unmarked");
  co_return std::move(removed);
}

Task<Status> SyncStates(Engine& engine, MemberIndex member, ObjectPath path) {
  if (!engine.SyncBeforeCommit()) co_return OkStatus();
  co_return co_await MakeDirectory(engine.MetadataCall(), engine.server(member), path.ObjectDirectory());
}

namespace {

Task<bool> MakeDurable(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal) {
  const Result<States> states = co_await ListStates(engine, home, path);
  if (!states || HighestAccepted(*states) < goal) co_return false;
  const Status synced = co_await SyncStates(engine, home, path);
  co_return synced.has_value();
}

}  // namespace

Task<bool> DurableOnQuorum(Engine& engine, ObjectPath path, Accepted goal, Late late_ones) {
  if (!engine.SyncBeforeCommit()) co_return true;
  const TimePoint begun = engine.executor().Now();
  ServerGather<bool> gather(engine, RequestKind::kSync);
  const Homes homes = engine.Homes(path);
  for (const MemberIndex home : homes) gather.Start(home, MakeDurable(engine, path, home, goal));
  size_t accepted = 0;
  while (gather.pending() > 0 && accepted < homes.quorum()) {
    if (late_ones == Late::kPassedOver && gather.OnlyLateOnes()) break;
    const auto event = co_await gather.Next();
    if (event.value && *event.value) ++accepted;
  }
  co_return accepted >= homes.quorum() && !TookTooLong(engine, begun);
}

Task<Status> KeepLongName(Engine& engine, MemberIndex member, ObjectPath path) {
  const std::vector<std::string> entries = path.LongNameEntries();
  for (const std::string& entry : entries) {
    Status made = co_await MakeMark(engine, member, path, entry);
    if (!made) co_return made.error();
  }
  co_return OkStatus();
}

Task<Status> MakeNamedMark(Engine& engine, MemberIndex member, ObjectPath path, std::string entry) {
  const Status named = co_await KeepLongName(engine, member, path);
  if (!named) co_return named.error();
  Status made = co_await MakeMark(engine, member, path, std::move(entry));
  if (!made) co_return std::move(made);
  // The mark counts without the name.
  const Status again = co_await KeepLongName(engine, member, std::move(path));
  (void)again;
  co_return OkStatus();
}

std::vector<MemberIndex> HomesFrom(const Engine& engine, const ObjectPath& path,
                                   std::vector<MemberIndex> preferred) {
  for (const MemberIndex home : engine.Homes(path)) {
    if (!Contains(preferred, home)) preferred.push_back(home);
  }
  return engine.ByHealth(std::move(preferred));
}

namespace {

constexpr Duration kPassedOverPatience = std::chrono::milliseconds(150);

void Note(Look& look, ServerGather<Result<States>>::Event event) {
  if (!event.value) return;
  if (*event.value) {
    look.Heard(event.member, std::move(**event.value));
  } else {
    look.Failed(event.member);
  }
}

}  // namespace

Task<Look> LookAt(Engine& engine, ObjectPath path, LookWidth width, Duration least) {
  Look look(engine.Homes(path));
  const std::vector<MemberIndex> order = engine.ByHealth(look.homes());
  ServerGather<Result<States>> gather(engine, RequestKind::kMetadata, least);
  size_t next = 0;
  while (true) {
    // The homes heard and those still to be expected make a quorum, if there are enough homes.
    const size_t wanted = width == LookWidth::kAll ? order.size() : look.quorum();
    while (next < order.size() && look.listings().size() + gather.timely() < wanted) {
      gather.Start(order[next], ListStates(engine, order[next], path));
      ++next;
    }
    if (gather.pending() == 0) break;
    if (look.HasQuorum() && (width == LookWidth::kQuorum || gather.timely() == 0)) break;
    auto event = co_await gather.Next();
    Note(look, std::move(event));
  }
  co_return std::move(look);
}

std::vector<MemberIndex> PassedOver(const Engine& engine, const Look& look) {
  std::vector<MemberIndex> homes = look.FirstHomesNotHeard();
  std::erase_if(homes, [&](MemberIndex home) {
    const int rank = engine.Rank(home);
    return rank != 0 && rank != ServerHealth::kRankUntrusted;
  });
  return homes;
}

Task<Look> AskPassedOver(Engine& engine, ObjectPath path, Look look) {
  ServerGather<Result<States>> gather(engine);
  for (const MemberIndex home : PassedOver(engine, look)) gather.Start(home, ListStates(engine, home, path));
  const TimePoint until = engine.executor().Now() + kPassedOverPatience;
  while (gather.timely() > 0 && engine.executor().Now() < until) {
    auto event = co_await gather.Next(until);
    Note(look, std::move(event));
  }
  co_return std::move(look);
}

Error CannotTell(const Engine& engine, const ObjectPath& path, const Look& look) {
  const Status in_force = engine.MembersInForce();
  if (!in_force) return in_force.error();
  std::string missing;
  for (const MemberIndex home : look.homes()) {
    if (look.listings().contains(home)) continue;
    missing += (missing.empty() ? "" : ", ") + engine.server(home)->name();
  }
  return Fail(
      Code::kNoQuorum,
      "cannot tell whether {} exists: only {} of its {} homes answered, {} are needed (not {}); retry",
      path.text(), look.listings().size(), look.homes().size(), look.quorum(), missing);
}

}  // namespace xec
