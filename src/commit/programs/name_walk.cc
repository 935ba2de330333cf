// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/name_walk.hh"

#include <algorithm>
#include <utility>

#include "commit/engine/pause.hh"
#include "commit/programs/attributes.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

constexpr size_t kNamesInFlightMax = 32;
constexpr size_t kNamesFailedMax = 1000;
constexpr int kTriesMax = 6;
constexpr Duration kTryPause = std::chrono::seconds(5);

struct Name {
  ObjectPath path;
  std::vector<MemberIndex> members;
};

struct Walk {
  NameWalk work;
  uint64_t names = 0;  // that were begun
  bool stopped = false;
  std::vector<Name> failed = {};
  Status last_failure = {};
};

Error Stopped() { return Fail(Code::kCancelled, "this process ends"); }

// False, ever after: the walk is to end.
Task<bool> MayGoOn(Walk& walk, std::string at) {
  if (!walk.work.turn || walk.stopped) co_return !walk.stopped;
  WalkPoint point{std::move(at), walk.names};
  const bool go_on = co_await walk.work.turn(std::move(point));
  walk.stopped = !go_on;
  co_return go_on;
}

// Those that fail are remembered.
Task<Status> VisitNames(Walk& walk, std::vector<Name> names) {
  Engine& engine = walk.work.engine;
  Gather<Status> gather(engine.scope(), engine.executor());
  size_t next = 0;
  while (next < names.size() || gather.pending() > 0) {
    for (; next < names.size() && gather.pending() < kNamesInFlightMax; ++next) {
      const bool go_on = co_await MayGoOn(walk, names[next].path.text());
      if (!go_on) {
        next = names.size();
        break;
      }
      ++walk.names;
      gather.Start(next, walk.work.visit(names[next].path, names[next].members));
    }
    if (gather.pending() == 0) break;
    auto event = co_await gather.Next();
    if (*event.value) continue;
    walk.last_failure = std::move(*event.value);
    walk.failed.push_back(std::move(names[event.tag]));
  }
  if (walk.stopped) co_return Stopped();
  if (walk.failed.size() > kNamesFailedMax) co_return walk.last_failure;
  co_return OkStatus();
}

Task<Status> VisitFolder(Walk& walk, ObjectPath directory) {
  Result<FolderUnion> found = co_await walk.work.list(directory);
  if (!found) co_return found.error();
  std::vector<Name> names;
  std::vector<ObjectPath> below;
  for (const auto& [name, shown] : found->names) {
    names.push_back({name, shown.members});
    if (TakeFolderOf(name, *found)) below.push_back(name);
  }
  for (const std::string& folder : found->folders) {
    std::optional<ObjectPath> name = DirectoryOf(directory, folder);
    if (name) below.push_back(std::move(*name));
  }
  *found = {};
  Status done = co_await VisitNames(walk, std::move(names));
  for (ObjectPath& name : below) {
    if (!done) co_return done;
    done = co_await VisitFolder(walk, std::move(name));
  }
  co_return done;
}

}  // namespace

Task<Status> VisitAllNames(NameWalk work) {
  Walk walk{.work = std::move(work)};
  const Engine& engine = walk.work.engine;
  const Result<ObjectPath> root = ObjectPath::Parse("/");
  Status done = co_await VisitFolder(walk, *root);
  if (done && engine.descriptor().layout == Layout::kXrdec)
    done = co_await VisitFolder(walk, root->Registered());
  for (int tries = 1; done && !walk.failed.empty(); ++tries) {
    if (tries == kTriesMax) co_return walk.last_failure;
    co_await Pause(walk.work.engine, kTryPause);
    done = co_await VisitNames(walk, std::exchange(walk.failed, {}));
  }
  if (done) done = engine.MembersInForce();
  co_return done;
}

Task<Result<NameInfo>> LookUpWithAttributes(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUp(engine, std::move(path));
  if (!info || !info->accepted.Live()) co_return std::move(info);
  const bool any = std::any_of(info->listings.begin(), info->listings.end(), [](const auto& home) {
    return std::any_of(home.second.begin(), home.second.end(),
                       [](const State& state) { return state.kind == StateKind::kAttributes; });
  });
  if (!any) co_return std::move(info);
  const auto read = co_await ReadAttributes(engine, *info);
  if (!read && read.code() != Code::kConflict) co_return read.error();
  co_return std::move(info);
}

}  // namespace xec
