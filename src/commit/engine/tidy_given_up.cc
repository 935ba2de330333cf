// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/tidy_given_up.hh"

#include <algorithm>

#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"
#include "protocol/state_name.hh"

namespace xec {
namespace {

std::optional<State> StateAt(const std::string& path) {
  return ParseState(std::string_view(path).substr(path.rfind('/') + 1));
}

bool IsMark(const std::string& path) {
  const std::optional<State> state = StateAt(path);
  return state && state->IsMark();
}

// An archive counts wherever it is; a witness must not come to a server that is no home any more.
bool CountsByAnyList(const GivenUpFiles::Taken& file) {
  if (file.promoted.empty()) return true;
  const std::optional<State> promoted = StateAt(file.promoted);
  return promoted && promoted->kind == StateKind::kPromoted;
}

void TakeOver(Engine& before, Engine& engine) {
  for (GivenUpFiles::Waiting& left : before.given_up_files().TakeAll()) {
    const std::optional<MemberIndex> server = engine.FindMember(before.server_id(left.server));
    if (!server || !CountsByAnyList(left.file)) continue;
    engine.given_up_files().Add(*server, std::move(left.file.path), std::move(left.file.promoted));
  }
}

// The path of a seal as it is left by a cleaner that takes the upload for one that died. Empty: this is no
// such seal.
std::string AbortedPath(const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  const std::optional<State> state = ParseState(std::string_view(path).substr(name));
  if (!state || (state->kind != StateKind::kSealed && state->kind != StateKind::kMoveOut)) return {};
  return path.substr(0, name) + FormatState(AbortedState(*state));
}

Task<Status> RemoveLate(Engine& engine, MemberIndex server, std::string path) {
  if (IsMark(path)) co_return co_await RemoveDirectory(engine.MetadataCall(), engine.server(server), path);
  Status removed = co_await Remove(engine.MetadataCall(), engine.server(server), path);
  const std::string aborted = AbortedPath(path);
  const bool missing = !removed && removed.code() == Code::kNotFound;
  if (missing && !aborted.empty())
    removed = co_await Remove(engine.MetadataCall(), engine.server(server), aborted);
  co_return std::move(removed);
}

// Promotes what still stands there, unless a repair has put a copy beside it.
Task<Status> PromoteLate(Engine& engine, MemberIndex server, std::string from, std::string to) {
  const std::string directory = from.substr(0, from.rfind('/'));
  Result<std::vector<Entry>> listed = co_await ListOrEmpty(engine, server, directory);
  if (!listed) co_return listed.error();
  const auto there = [&](const std::string& path) {
    return std::any_of(listed->begin(), listed->end(),
                       [&](const Entry& entry) { return directory + "/" + entry.name == path; });
  };
  if (there(to)) co_return OkStatus();
  const std::string aborted = AbortedPath(from);
  if (there(aborted)) from = aborted;
  co_return co_await Rename(engine.MetadataCall(), engine.server(server), std::move(from), std::move(to));
}

Task<void> TidyFilesOn(Engine& engine, MemberIndex server) {
  GivenUpFiles& files = engine.given_up_files();
  while (true) {
    const std::optional<GivenUpFiles::Taken> file = files.Take(server, engine.executor().Now());
    if (!file) co_return;
    Status done;
    if (file->promoted.empty()) {
      done = co_await RemoveLate(engine, server, file->path);
    } else {
      done = co_await PromoteLate(engine, server, file->path, file->promoted);
    }
    if (!files.Ended(server, file->path, done, engine.executor().Now())) co_return;
  }
}

}  // namespace

Task<void> TidyGivenUpFiles(Engine& engine) {
  for (Engine* before = engine.before(); before != nullptr; before = before->before())
    TakeOver(*before, engine);
  const TimePoint now = engine.executor().Now();
  const std::set<MemberIndex> servers = engine.given_up_files().Servers(now);
  ServerGather<NoAnswer> gather(engine);
  for (const MemberIndex server : servers) {
    engine.Rank(server);  // has it probed when it is not well
    if (engine.health().At(server, now).state == ServerState::kUp)
      gather.Start(server, TidyFilesOn(engine, server));
  }
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace xec
