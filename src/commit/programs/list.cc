// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory: the union of its folders, every name decided by its own homes.
#include <algorithm>
#include <iterator>
#include <span>

#include "base/mutant.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/names.hh"
#include "commit/programs/list_page.hh"
#include "protocol/changed_settings.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// One listing looks at so many names together, and looks up so many of these one by one at once.
constexpr size_t kNamesAtOnceMax = 256;
constexpr size_t kLookUpsInFlightMax = 64;

// The patience with homes that a listing passed over, for all the names of one question.
constexpr Duration kManyPassedOverPatience = std::chrono::milliseconds(500);

// Asks about all names together; `looks` are those of `paths`. Names without an answer are left to a LookUp.
Task<std::vector<Look>> Ask(Engine& engine, NamesByServer wanted, std::vector<ObjectPath> paths,
                            std::vector<Look> looks, Duration most = Duration::max()) {
  StatesByName heard = co_await ListManyStates(engine, std::move(wanted), {}, most);
  for (size_t i = 0; i < paths.size(); ++i) {
    for (auto& [home, states] : heard[paths[i]]) looks[i].Heard(home, std::move(states).value_or(States{}));
  }
  co_return std::move(looks);
}

// Asks a quorum of homes of every name, as LookAt and AskPassedOver do.
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
void Add(const Engine& engine, const ObjectPath& path, Accepted accepted,
         const std::map<MemberIndex, States>& listings, DirectoryContents& contents) {
  if (accepted.Live()) {
    const std::optional<Settings> changed =
        ChangedSettings(listings, accepted.version, engine.HomeQuorum(path));
    Settings& settings = accepted.given.settings;
    if (changed) settings = settings.With(*changed);
    contents.names.push_back(ListedName{.name = std::string(path.Last()),
                                        .directory = accepted.kind == Accepted::kDirectory,
                                        .size = accepted.size,
                                        .mtime_ms = MtimeMs(accepted),
                                        .version = accepted.version,
                                        .settings = settings,
                                        .settings_known = changed.has_value()});
    return;
  }
  for (State& seal : MakingUnderWay(listings, accepted))
    contents.under_way.push_back(Making{path, std::move(seal)});
}

// Adds what `known` knows to live at the name. False: that takes a look. `ask`: may `known` be asked?
bool AddResting(const NamesAtRest::View& known, uint64_t seed, const FolderUnion& found,
                const FolderUnion::Name& name, std::vector<ListedName>& names) {
  const std::optional<RestingName> lives = known.Lives(ShownAs(seed, found, name.first, name.second));
  if (!lives) return false;
  if (lives->kind != RestingName::kRemoved)
    names.push_back(ListedName{.name = std::string(name.first.Last()),
                               .directory = lives->kind == RestingName::kDirectory,
                               .size = lives->size,
                               .mtime_ms = lives->mtime_ms(),
                               .version = lives->version,
                               .settings = lives->settings,
                               .settings_known = true});  // else it would not be at rest
  return true;
}

// The folders that belong to none of the directories which live.
std::vector<ObjectPath> FoldersOfNone(const ObjectPath& path, FolderUnion found,
                                      const std::vector<ListedName>& names) {
  for (const ListedName& name : names) {
    const Result<ObjectPath> below = path.Child(name.name);
    if (below && name.directory) TakeFolderOf(*below, found);
  }
  std::vector<ObjectPath> gone;
  for (const std::string& folder : found.folders) {
    std::optional<ObjectPath> directory = DirectoryOf(path, folder);
    if (directory) gone.push_back(std::move(*directory));
  }
  return gone;
}

// What there is at the names.
Task<Result<DirectoryContents>> LookAtAll(Engine& engine, std::vector<ObjectPath> paths) {
  DirectoryContents contents;
  const std::vector<Look> looks = co_await LookAtMany(engine, paths);
  std::vector<ObjectPath> unsettled;
  for (size_t i = 0; i < paths.size(); ++i) {
    std::optional<Accepted> accepted = SettledBy(looks[i]);
    if (accepted) {
      Add(engine, paths[i], std::move(*accepted), looks[i].listings(), contents);
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
    Add(engine, info->path, info->accepted, info->listings, contents);
  }
  co_return std::move(contents);
}

template <typename T>
void Append(std::vector<T>& to, std::vector<T> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

// What there is at the names of the folder, in any order.
Task<Result<DirectoryContents>> LookAtNames(Engine& engine, const FolderLook& look,
                                            std::span<const FolderUnion::Name* const> names,
                                            const NamesAtRest* rests) {
  // A name may have changed without a sign on a home that is not heard.
  const bool ask = rests != nullptr && look.found.heard.size() == engine.server_count();
  const NamesAtRest::View known = ask ? rests->Now(engine.executor().Now()) : NamesAtRest::View();
  DirectoryContents contents;
  std::vector<ObjectPath> paths;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool rested = ask && AddResting(known, rests->seed(), look.found, *names[i], contents.names);
    if (!rested) paths.push_back(names[i]->first);
    const bool last = i + 1 == names.size();
    if (paths.empty() || (paths.size() < kNamesAtOnceMax && !last)) continue;
    Result<DirectoryContents> more = co_await LookAtAll(engine, std::exchange(paths, {}));
    if (!more) co_return more.error();
    Append(contents.names, std::move(more->names));
    Append(contents.under_way, std::move(more->under_way));
  }
  co_return std::move(contents);
}

void SortByName(std::vector<ListedName>& names) {
  std::sort(names.begin(), names.end(),
            [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
}

Task<Result<FolderLookPtr>> LookAtFolder(Engine& engine, ObjectPath path) {
  FolderUnion found = co_await ListFolder(engine, path);
  const size_t silent = engine.server_count() - found.heard.size();
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (silent > engine.SilentServersMax() + (MutantActive(Mutant::kListWithTooFew) ? 1 : 0)) {
    co_return Fail(Code::kNoQuorum,
                   "cannot tell what {} contains: {} of {} data servers do not answer; retry", path.text(),
                   silent, engine.server_count());
  }
  co_return std::make_shared<FolderLook>(std::move(found), engine.executor().Now());
}

Task<Result<DirectoryContents>> Contents(Engine& engine, ObjectPath path, const NamesAtRest* rests) {
  Result<FolderLookPtr> look = co_await LookAtFolder(engine, path);
  if (!look) co_return look.error();
  Result<DirectoryContents> contents = co_await LookAtNames(engine, **look, (*look)->order, rests);
  if (!contents) co_return contents.error();
  SortByName(contents->names);
  for (const auto& [below, shown] : (*look)->found.names)
    contents->shown_on.emplace(below.Last(), shown.members);
  contents->gone = FoldersOfNone(path, std::move((*look)->found), contents->names);
  co_return std::move(contents);
}

Task<Status> NeedDirectory(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return OkStatus();
  Result<NameInfo> info = co_await LookUpLive(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory) co_return OkStatus();
  co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
}

// The names of the look that a listing has still to tell.
std::span<const FolderUnion::Name* const> Above(const FolderLook& look, const ListOptions& options) {
  const auto first = std::partition_point(look.order.begin(), look.order.end(), [&](const auto* name) {
    return name->first.Last() <= options.after || name->first.Last() < options.prefix;
  });
  const auto last = std::partition_point(first, look.order.end(), [&](const auto* name) {
    return name->first.Last().starts_with(options.prefix);
  });
  return {first, last};
}

}  // namespace

Task<Result<std::vector<ListedName>>> ListDirectory(Engine& engine, ObjectPath path,
                                                    const NamesAtRest* rests) {
  const Status directory = co_await NeedDirectory(engine, path);
  if (!directory) co_return directory.error();
  Result<DirectoryContents> contents = co_await Contents(engine, std::move(path), rests);
  if (!contents) co_return contents.error();
  co_return std::move(contents->names);
}

Task<Result<NamesPage>> ListDirectoryPage(Engine& engine, ObjectPath path, ListOptions options,
                                          const NamesAtRest* rests, ListCursors& cursors) {
  FolderLookPtr look = cursors.Find(path, options.after, engine.executor().Now());
  if (!look) {
    const Status directory = co_await NeedDirectory(engine, path);
    if (!directory) co_return directory.error();
    Result<FolderLookPtr> looked = co_await LookAtFolder(engine, path);
    if (!looked) co_return looked.error();
    look = std::move(*looked);
  }
  std::vector<ListedName> names;
  auto left = Above(*look, options);
  // Most names of a folder live.
  while (!left.empty() && names.size() < options.limit) {
    const size_t next = std::min(left.size(), options.limit - names.size());
    Result<DirectoryContents> more = co_await LookAtNames(engine, *look, left.first(next), rests);
    if (!more) co_return more.error();
    Append(names, std::move(more->names));
    left = left.subspan(next);
  }
  SortByName(names);
  NamesPage page{std::move(names), !left.empty()};
  if (page.more && !page.names.empty())
    cursors.Keep(std::move(path), page.names.back().name, std::move(look), engine.executor().Now());
  co_return std::move(page);
}

Task<Result<DirectoryContents>> LookInto(Engine& engine, ObjectPath path) {
  return Contents(engine, std::move(path), nullptr);
}

}  // namespace xec
