// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/access.hh"

#include <set>

#include "base/failpoint.hh"
#include "runtime/gather.hh"

namespace xec {

std::string StatePath(const ObjectPath& path, std::string_view entry) {
  return path.ObjectDirectory() + "/" + std::string(entry);
}

bool OutcomeUnknown(const Status& status) {
  return !status && (status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded);
}

Task<Result<States>> ListStates(Engine& engine, MemberIndex member, ObjectPath path) {
  Result<std::vector<Entry>> listed =
      co_await List(engine.MetadataCall(), engine.server(member), path.ObjectDirectory());
  if (!listed) {
    if (listed.code() == Code::kNotFound) co_return States{};
    co_return listed.error();
  }
  States states;
  for (const Entry& entry : *listed) {
    std::optional<State> state = ParseState(entry.name);
    if (!state) continue;
    state->entry_bytes = entry.size;
    state->mtime_s = entry.mtime_s;
    state->entry_directory = entry.directory;
    states.push_back(std::move(*state));
  }
  co_return std::move(states);
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

Task<Status> KeepLongName(Engine& engine, MemberIndex member, ObjectPath path) {
  const std::vector<std::string> entries = path.LongNameEntries();
  for (const std::string& entry : entries) {
    Status made = co_await MakeMark(engine, member, path, entry);
    if (!made) co_return made.error();
  }
  co_return OkStatus();
}

Task<Look> LookAt(Engine& engine, ObjectPath path, LookWidth width) {
  Look look(engine.Homes(path));
  Gather<Result<States>> gather(engine.scope(), engine.executor());
  const std::vector<MemberIndex>& homes = look.homes();
  size_t next = 0;
  const size_t first = width == LookWidth::kQuorum ? look.quorum() : homes.size();
  bool timer = false;
  for (; next < first; ++next) gather.Start(homes[next], ListStates(engine, homes[next], path));
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    if (!event.value) break;
    const auto home = static_cast<MemberIndex>(event.tag);
    if (*event.value) {
      look.Heard(home, std::move(**event.value));
      if (width == LookWidth::kQuorum && look.HasQuorum()) break;
      if (width == LookWidth::kMost && look.HasQuorum() && !timer) {
        gather.StartTimer(0, engine.executor().Now() + engine.options().hedge_delay);
        timer = true;
      }
    } else {
      look.Failed(home);
      if (next < homes.size()) {
        gather.Start(homes[next], ListStates(engine, homes[next], path));
        ++next;
      }
    }
  }
  co_return std::move(look);
}

Error CannotTell(const Engine& engine, const ObjectPath& path, const Look& look) {
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
