// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory: the union of its folders, every name decided by its own homes.
#include <algorithm>

#include "commit/folder.hh"
#include "commit/names.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Names looked up at once by one listing.
constexpr size_t kLookUpsInFlightMax = 64;

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
  Gather<Result<NameInfo>> gather(engine.scope(), engine.executor());
  auto next = found.names.begin();
  while (next != found.names.end() || gather.pending() > 0) {
    while (next != found.names.end() && gather.pending() < kLookUpsInFlightMax) {
      gather.Start(0, LookUp(engine, *next));
      ++next;
    }
    auto event = co_await gather.Next();
    Result<NameInfo>& info = *event.value;
    if (!info) co_return info.error();
    const Accepted& accepted = info->accepted;
    if (!accepted.Live()) continue;
    names.push_back(ListedName{std::string(info->path.Last()), accepted.kind == Accepted::kDirectory,
                               accepted.size, accepted.version.WallMillis()});
  }
  std::sort(names.begin(), names.end(),
            [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
  co_return std::move(names);
}

}  // namespace xec
