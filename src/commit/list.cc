// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory: the union of its folders, every name decided by its own homes.
#include <algorithm>

#include "commit/folder.hh"
#include "commit/names.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

// Names looked at together by one listing, and of these how many are looked up one by one at once.
constexpr size_t kNamesAtOnceMax = 256;
constexpr size_t kLookUpsInFlightMax = 64;

// What is to be asked of one home, and of which of the names.
struct HomeBatch {
  std::vector<ObjectPath> paths;
  std::vector<size_t> names;
};

// A quorum of homes of every name, as LookAt asks them, but each home once for all its names.
Task<std::vector<Look>> LookAtMany(Engine& engine, std::vector<ObjectPath> paths) {
  std::vector<Look> looks;
  std::map<MemberIndex, HomeBatch> batches;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::vector<MemberIndex> homes = engine.ByHealth(engine.Homes(paths[i]));
    looks.emplace_back(homes);
    for (size_t home = 0; home < looks.back().quorum() && home < homes.size(); ++home) {
      HomeBatch& batch = batches[homes[home]];
      batch.paths.push_back(paths[i]);
      batch.names.push_back(i);
    }
  }
  // Patience as with a sync: a batch takes as long as many small requests.
  ServerGather<Result<std::vector<States>>> gather(engine, RequestKind::kSync);
  for (auto& [member, batch] : batches)
    gather.Start(member, ListManyStates(engine, member, std::move(batch.paths)));
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    const HomeBatch& batch = batches[event.member];
    for (size_t i = 0; i < batch.names.size(); ++i)
      looks[batch.names[i]].Heard(event.member, std::move((**event.value)[i]));
  }
  co_return std::move(looks);
}

// What the look says by itself, without anything to roll forward or to finish; nullopt: that takes a LookUp.
std::optional<Accepted> SettledBy(const Look& look) {
  if (!look.Decided() || !MovesIn(look.listings()).empty()) return std::nullopt;
  return look.highest();
}

void AddIfLive(const ObjectPath& path, const Accepted& accepted, std::vector<ListedName>& names) {
  if (!accepted.Live()) return;
  names.push_back(ListedName{std::string(path.Last()), accepted.kind == Accepted::kDirectory, accepted.size,
                             accepted.version.WallMillis()});
}

// Adds those of the names that live.
Task<Status> AddLive(Engine& engine, std::vector<ObjectPath> paths, std::vector<ListedName>* names) {
  const std::vector<Look> looks = co_await LookAtMany(engine, paths);
  std::vector<ObjectPath> unsettled;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::optional<Accepted> accepted = SettledBy(looks[i]);
    if (accepted) {
      AddIfLive(paths[i], *accepted, *names);
    } else {
      unsettled.push_back(std::move(paths[i]));
    }
  }
  Gather<Result<NameInfo>> gather(engine.scope(), engine.executor());
  auto next = unsettled.begin();
  while (next != unsettled.end() || gather.pending() > 0) {
    for (; next != unsettled.end() && gather.pending() < kLookUpsInFlightMax; ++next)
      gather.Start(0, LookUp(engine, *next));
    const auto event = co_await gather.Next();
    const Result<NameInfo>& info = *event.value;
    if (!info) co_return info.error();
    AddIfLive(info->path, info->accepted, *names);
  }
  co_return OkStatus();
}

}  // namespace

Task<Result<std::vector<ListedName>>> ListDirectory(Engine& engine, ObjectPath path) {
  if (!path.IsRoot()) {
    Result<NameInfo> info = co_await LookUpLive(engine, path);
    if (!info) co_return info.error();
    if (info->accepted.kind != Accepted::kDirectory)
      co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  }
  FolderUnion found = co_await ListFolder(engine, path);
  const size_t silent = engine.server_count() - found.servers_heard;
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (silent > SilentServersMax(engine)) {
    co_return Fail(Code::kNoQuorum,
                   "cannot tell what {} contains: {} of {} data servers do not answer; retry", path.text(),
                   silent, engine.server_count());
  }
  std::vector<ListedName> names;
  auto next = found.names.begin();
  while (next != found.names.end()) {
    std::vector<ObjectPath> paths;
    for (; next != found.names.end() && paths.size() < kNamesAtOnceMax; ++next) paths.push_back(next->first);
    const Status added = co_await AddLive(engine, std::move(paths), &names);
    if (!added) co_return added.error();
  }
  std::sort(names.begin(), names.end(),
            [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
  co_return std::move(names);
}

}  // namespace xec
