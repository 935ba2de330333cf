// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/given_up_files.hh"

#include <algorithm>

#include "commit/server_gather.hh"
#include "protocol/state_name.hh"

namespace xec {
namespace {

bool IsMark(const std::string& path) {
  const std::optional<State> state = ParseState(std::string_view(path).substr(path.rfind('/') + 1));
  return state && state->IsMark();
}

Task<bool> RemoveFilesOn(Engine& engine, MemberIndex server) {
  GivenUpFiles& files = engine.given_up_files();
  while (true) {
    const std::optional<std::string> path = files.Take(server, engine.executor().Now());
    if (!path) co_return true;
    Status removed;
    if (IsMark(*path)) {
      removed = co_await RemoveDirectory(engine.MetadataCall(), engine.server(server), *path);
    } else {
      removed = co_await Remove(engine.MetadataCall(), engine.server(server), *path);
    }
    if (!files.Ended(server, *path, removed, engine.executor().Now())) co_return false;
  }
}

}  // namespace

void GivenUpFiles::Add(MemberIndex server, std::string path) {
  std::lock_guard lock(mutex_);
  if (files_.size() >= kFilesMax) {
    const auto older = [](const auto& a, const auto& b) { return a.second.order < b.second.order; };
    files_.erase(std::min_element(files_.begin(), files_.end(), older));
  }
  files_.try_emplace({server, std::move(path)}, File{.order = next_++});
}

std::set<MemberIndex> GivenUpFiles::Servers(TimePoint now) const {
  std::set<MemberIndex> servers;
  std::lock_guard lock(mutex_);
  for (const auto& [key, file] : files_) {
    const auto paused = paused_.find(key.first);
    const bool may = paused == paused_.end() || paused->second <= now;
    if (may && !file.taken && file.from <= now) servers.insert(key.first);
  }
  return servers;
}

std::optional<std::string> GivenUpFiles::Take(MemberIndex server, TimePoint now) {
  std::lock_guard lock(mutex_);
  for (auto next = files_.lower_bound({server, {}}); next != files_.end(); ++next) {
    auto& [key, file] = *next;
    if (key.first != server) break;
    if (file.taken || file.from > now) continue;
    file.taken = true;
    return key.second;
  }
  return std::nullopt;
}

bool GivenUpFiles::Ended(MemberIndex server, const std::string& path, const Status& removed, TimePoint now) {
  const bool missing = !removed && removed.code() == Code::kNotFound;
  std::lock_guard lock(mutex_);
  const auto known = files_.find({server, path});
  if (known != files_.end()) {
    File& file = known->second;
    file.taken = false;
    if (removed || (missing && file.missed)) {
      files_.erase(known);
    } else if (missing) {
      file.missed = true;
      file.from = now + kLateCreation;
    }
  }
  if (removed || missing) return true;
  paused_[server] = now + kPause;
  return false;
}

size_t GivenUpFiles::size() const {
  std::lock_guard lock(mutex_);
  return files_.size();
}

Task<void> RemoveGivenUpFiles(Engine& engine) {
  const TimePoint now = engine.executor().Now();
  const std::set<MemberIndex> servers = engine.given_up_files().Servers(now);
  ServerGather<bool> gather(engine);
  for (const MemberIndex server : servers) {
    engine.Rank(server);  // has it probed when it is not well
    if (engine.health().At(server, now).state == ServerState::kUp)
      gather.Start(server, RemoveFilesOn(engine, server));
  }
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace xec
