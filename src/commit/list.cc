// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory: the union of its folders, every name decided by its own homes.
#include <algorithm>

#include "base/mutant.hh"
#include "commit/folder.hh"
#include "commit/names.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Names looked at together by one listing, and of these how many are looked up one by one at once.
constexpr size_t kNamesAtOnceMax = 256;
constexpr size_t kLookUpsInFlightMax = 64;

// For those that a listing passed over, with all the names of one question.
constexpr Duration kManyPassedOverPatience = std::chrono::milliseconds(500);

// Asks about all names together; `looks` are those of `paths`. What is not answered is left to a LookUp.
Task<std::vector<Look>> Ask(Engine& engine, NamesByServer wanted, std::vector<ObjectPath> paths,
                            std::vector<Look> looks, Duration most = Duration::max()) {
  StatesByName heard = co_await ListManyStates(engine, std::move(wanted), {}, most);
  for (size_t i = 0; i < paths.size(); ++i) {
    for (auto& [home, states] : heard[paths[i]]) looks[i].Heard(home, std::move(states).value_or(States{}));
  }
  co_return std::move(looks);
}

// A quorum of homes of every name, as LookAt and AskPassedOver ask them.
Task<std::vector<Look>> LookAtMany(Engine& engine, std::vector<ObjectPath> paths) {
  std::vector<Look> looks;
  NamesByServer wanted;
  for (const ObjectPath& path : paths) {
    looks.emplace_back(engine.Homes(path));
    const std::vector<MemberIndex> order = engine.ByHealth(looks.back().homes());
    for (size_t i = 0; i < looks.back().quorum() && i < order.size(); ++i) wanted[order[i]].push_back(path);
  }
  looks = co_await Ask(engine, std::move(wanted), paths, std::move(looks));
  NamesByServer passed_over;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (looks[i].Decided() || !looks[i].HasQuorum()) continue;
    for (const MemberIndex home : PassedOver(engine, looks[i])) passed_over[home].push_back(paths[i]);
  }
  if (!passed_over.empty())
    looks = co_await Ask(engine, std::move(passed_over), std::move(paths), std::move(looks),
                         kManyPassedOverPatience);
  co_return std::move(looks);
}

// What the look says by itself, without anything to roll forward or to finish; nullopt: that takes a LookUp.
std::optional<Accepted> SettledBy(const Look& look) {
  const bool finished = MutantActive(Mutant::kListHalfRenamed) || MovesIn(look.listings()).empty();
  const bool decided = look.Decided() || (look.HasQuorum() && MutantActive(Mutant::kListUndecided));
  if (!decided || !finished) return std::nullopt;
  return look.highest();
}

// `listings`: on which what is accepted was decided.
void Add(const ObjectPath& path, const Accepted& accepted, const std::map<MemberIndex, States>& listings,
         DirectoryContents& contents) {
  if (accepted.Live()) {
    contents.names.push_back(ListedName{std::string(path.Last()), accepted.kind == Accepted::kDirectory,
                                        accepted.size, accepted.version.WallMillis()});
    return;
  }
  for (State& seal : MakingUnderWay(listings, accepted))
    contents.under_way.push_back(Making{path, std::move(seal)});
}

// Adds what lives at names that `rests` knows. The others of the folder.
std::vector<ObjectPath> AddResting(const Engine& engine, const FolderUnion& found, const NamesAtRest* rests,
                                   std::vector<ListedName>& names) {
  // A home that is not heard may have changed without a sign.
  const bool ask = rests != nullptr && found.heard.size() == engine.server_count();
  const NamesAtRest::View known = ask ? rests->Now(engine.executor().Now()) : NamesAtRest::View();
  std::vector<ObjectPath> others;
  for (const auto& [path, shown] : found.names) {
    std::optional<RestingName> lives;
    if (ask) lives = known.Lives(ShownAs(rests->seed(), found, path, shown));
    if (!lives) others.push_back(path);
    if (lives && lives->kind != RestingName::kRemoved)
      names.push_back(ListedName{std::string(path.Last()), lives->kind == RestingName::kDirectory,
                                 lives->size, lives->mtime_ms});
  }
  return others;
}

// The folders that belong to none of the directories which live.
void AddGone(const ObjectPath& path, FolderUnion& found, DirectoryContents& contents) {
  for (const ListedName& name : contents.names) {
    const Result<ObjectPath> below = path.Child(name.name);
    if (below && name.directory) TakeFolderOf(*below, found);
  }
  for (const std::string& folder : found.folders) {
    std::optional<ObjectPath> gone = DirectoryOf(path, folder);
    if (gone) contents.gone.push_back(std::move(*gone));
  }
}

// Adds what there is at the names.
Task<Status> AddAll(Engine& engine, std::vector<ObjectPath> paths, DirectoryContents* contents) {
  const std::vector<Look> looks = co_await LookAtMany(engine, paths);
  std::vector<ObjectPath> unsettled;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::optional<Accepted> accepted = SettledBy(looks[i]);
    if (accepted) {
      Add(paths[i], *accepted, looks[i].listings(), *contents);
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
    Add(info->path, info->accepted, info->listings, *contents);
  }
  co_return OkStatus();
}

Task<Result<DirectoryContents>> Contents(Engine& engine, ObjectPath path, const NamesAtRest* rests) {
  FolderUnion found = co_await ListFolder(engine, path);
  const size_t silent = engine.server_count() - found.heard.size();
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (silent > SilentServersMax(engine) + (MutantActive(Mutant::kListWithTooFew) ? 1 : 0)) {
    co_return Fail(Code::kNoQuorum,
                   "cannot tell what {} contains: {} of {} data servers do not answer; retry", path.text(),
                   silent, engine.server_count());
  }
  DirectoryContents contents;
  std::vector<ObjectPath> unknown = AddResting(engine, found, rests, contents.names);
  auto next = unknown.begin();
  while (next != unknown.end()) {
    std::vector<ObjectPath> paths;
    for (; next != unknown.end() && paths.size() < kNamesAtOnceMax; ++next) paths.push_back(std::move(*next));
    const Status added = co_await AddAll(engine, std::move(paths), &contents);
    if (!added) co_return added.error();
  }
  std::sort(contents.names.begin(), contents.names.end(),
            [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
  AddGone(path, found, contents);
  co_return std::move(contents);
}

}  // namespace

Task<Result<std::vector<ListedName>>> ListDirectory(Engine& engine, ObjectPath path,
                                                    const NamesAtRest* rests) {
  if (!path.IsRoot()) {
    Result<NameInfo> info = co_await LookUpLive(engine, path);
    if (!info) co_return info.error();
    if (info->accepted.kind != Accepted::kDirectory)
      co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  }
  Result<DirectoryContents> contents = co_await Contents(engine, std::move(path), rests);
  if (!contents) co_return contents.error();
  co_return std::move(contents->names);
}

Task<Result<DirectoryContents>> LookInto(Engine& engine, ObjectPath path) {
  return Contents(engine, std::move(path), nullptr);
}

}  // namespace xec
