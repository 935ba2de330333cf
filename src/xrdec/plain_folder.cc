// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/plain_folder.hh"

#include <algorithm>
#include <set>

#include "base/failpoint.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/server_gather.hh"
#include "runtime/unique_function.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

// Names looked up at once by one listing; each asks the homes, and all servers if the register does not know
// it.
constexpr size_t kLookUpsInFlightMax = 32;

struct PlainUnion {
  std::set<ObjectPath> files;    // names that are files on some server
  std::set<ObjectPath> folders;  // names that are folders on some server
  size_t silent = 0;
  bool exists = false;  // some server has the folder
  bool file = false;    // some server has a file there
};

size_t SilentMax(const Engine& engine) { return engine.descriptor().tolerance; }

Task<PlainUnion> ListPlain(Engine& engine, ObjectPath path) {
  PlainUnion found;
  ServerGather<Result<std::vector<Entry>>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, List(engine.MetadataCall(), engine.server(member), path.PlainPath()));
  found.silent = engine.server_count();
  while (gather.pending() > 0 && (found.silent > SilentMax(engine) || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    const Result<std::vector<Entry>>& listed = *event.value;
    const bool heard = listed || listed.code() == Code::kNotDirectory || listed.code() == Code::kNotFound;
    if (heard) --found.silent;
    if (!listed) {
      if (listed.code() == Code::kNotDirectory) found.file = true;
      continue;
    }
    found.exists = true;
    for (const Entry& entry : *listed) {
      // What no object can be called is none of ours, the reserved area among it.
      Result<ObjectPath> name = path.Child(entry.name);
      if (name) (entry.directory ? found.folders : found.files).insert(std::move(*name));
    }
  }
  co_return std::move(found);
}

Error CannotTellContents(const Engine& engine, const ObjectPath& path, size_t silent) {
  return Fail(Code::kNoQuorum, "cannot tell what {} contains: {} of {} data servers do not answer; retry",
              path.text(), silent, engine.server_count());
}

// The folder on all servers, if it is a directory.
Task<Result<PlainUnion>> ListDirectoryPlain(Engine& engine, ObjectPath path) {
  PlainUnion found = co_await ListPlain(engine, path);
  if (found.silent > SilentMax(engine)) co_return CannotTellContents(engine, path, found.silent);
  if (found.exists || path.IsRoot()) co_return std::move(found);
  Result<XrdecName> name = co_await LookUpXrdec(engine, path, XrdecWidth::kExistence);
  if (!name) co_return name.error();
  if (name->kind == XrdecName::kObject || name->kind == XrdecName::kUnfinished)
    co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
  co_return Fail(Code::kNotFound, "the directory {} does not exist", path.text());
}

// Without decision: the names that may be objects.
Task<Result<std::set<ObjectPath>>> NamesToLookUp(Engine& engine, ObjectPath path, PlainUnion found) {
  FolderUnion entries = co_await ListFolder(engine, path.Registered());
  const size_t silent = engine.server_count() - entries.heard.size();
  if (silent > engine.SilentServersMax()) co_return CannotTellContents(engine, path, silent);
  std::set<ObjectPath> names = std::move(found.files);
  for (const auto& [entry, shown] : entries.names) {
    Result<ObjectPath> name = path.Child(entry.Last());
    if (name) names.insert(std::move(*name));
  }
  co_return std::move(names);
}

Task<Result<std::vector<ListedName>>> LookUpAll(Engine& engine, std::set<ObjectPath> names) {
  std::vector<ListedName> live;
  Gather<Result<XrdecName>> gather(engine.scope(), engine.executor());
  auto next = names.begin();
  while (next != names.end() || gather.pending() > 0) {
    while (next != names.end() && gather.pending() < kLookUpsInFlightMax) {
      gather.Start(0, LookUpXrdec(engine, *next, XrdecWidth::kExistence));
      ++next;
    }
    const auto event = co_await gather.Next();
    const Result<XrdecName>& name = *event.value;
    if (!name) co_return name.error();
    if (name->kind != XrdecName::kObject) continue;
    ListedName listed{.name = std::string(name->path.Last()),
                      .size = name->size,
                      .mtime_ms = name->version.WallMillis(),
                      .version = name->version};
    live.push_back(std::move(listed));
  }
  co_return std::move(live);
}

// Left-over archives in a directory that is going to be removed.
Task<void> RemoveLeftOver(Engine& engine, std::set<ObjectPath> files) {
  for (const ObjectPath& file : files) {
    Result<XrdecName> name = co_await LookUpXrdec(engine, file, XrdecWidth::kArchives);
    if (!name || name->kind == XrdecName::kObject) continue;
    std::vector<MemberIndex> left_over = LeftOver(name->found, name->registered.accepted);
    co_await RemoveArchives(engine, std::move(left_over), file, RemovedUpTo(name->registered.accepted));
  }
}

struct Problem {
  MemberIndex member;
  Error error;
};

struct AllAsked {
  size_t failed = 0;  // servers, silent ones among them
  std::vector<Problem> problems;
};

// Asks every server. Waits for those that are late while too many have not done it.
Task<AllAsked> AskAll(Engine& engine, UniqueFunction<Task<Status>(MemberIndex)> ask) {
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) gather.Start(member, ask(member));
  AllAsked asked;
  asked.failed = engine.server_count();
  while (gather.pending() > 0 && (asked.failed > SilentMax(engine) || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    if (*event.value) {
      --asked.failed;
      continue;
    }
    Problem problem{event.member, event.value->error()};
    asked.problems.push_back(std::move(problem));
  }
  co_return std::move(asked);
}

Task<Status> MakeFolder(Engine& engine, MemberIndex member, ObjectPath path) {
  Status made = co_await MakeDirectory(engine.MetadataCall(), engine.server(member), path.PlainPath());
  XEC_FAILPOINT("xrdec.folder_made");
  co_return std::move(made);
}

// Makes the folder and its parents on all servers.
Task<Status> MakeFolders(Engine& engine, ObjectPath path) {
  const AllAsked asked =
      co_await AskAll(engine, [&](MemberIndex member) { return MakeFolder(engine, member, path); });
  if (asked.failed <= SilentMax(engine)) co_return OkStatus();
  const Error problem = asked.problems.empty() ? Error{} : asked.problems.back().error;
  const bool refused = problem.code == Code::kPermissionDenied || problem.code == Code::kNotDirectory ||
                       problem.code == Code::kAlreadyExists || problem.code == Code::kNoSpace;
  co_return Fail(refused ? problem.code : Code::kNoQuorum,
                 "the directory {} could not be made on {} of {} data servers: {}", path.text(), asked.failed,
                 engine.server_count(), problem.message);
}

Task<Status> RemoveFolder(Engine& engine, MemberIndex member, ObjectPath path) {
  Status removed = co_await RemoveDirectory(engine.MetadataCall(), engine.server(member), path.PlainPath());
  XEC_FAILPOINT("xrdec.folder_removed");
  if (!removed && removed.code() == Code::kNotFound) co_return OkStatus();
  co_return std::move(removed);
}

// Removes the folder on all servers.
Task<Status> RemoveFolders(Engine& engine, ObjectPath path) {
  const AllAsked asked =
      co_await AskAll(engine, [&](MemberIndex member) { return RemoveFolder(engine, member, path); });
  size_t refused = 0;
  for (const Problem& problem : asked.problems) {
    // One such folder is enough for the directory to stay visible.
    if (problem.error.code == Code::kNotEmpty) {
      co_return Fail(Code::kNotEmpty, "{} is not empty on {}: files that are no objects lie there",
                     path.text(), engine.server_id(problem.member));
    }
    const Code code = problem.error.code;
    if (code == Code::kPermissionDenied || code == Code::kNotDirectory) ++refused;
  }
  if (asked.failed <= SilentMax(engine)) co_return OkStatus();
  const Error problem = asked.problems.empty() ? Error{} : asked.problems.back().error;
  co_return Fail(refused == asked.failed ? problem.code : Code::kUnknown,
                 "the directory {} could not be removed on {} of {} data servers: {}", path.text(),
                 asked.failed, engine.server_count(), problem.message);
}

}  // namespace

Task<Result<std::vector<ListedName>>> ListXrdec(Engine& engine, ObjectPath path) {
  Result<PlainUnion> found = co_await ListDirectoryPlain(engine, path);
  if (!found) co_return found.error();
  const std::set<ObjectPath> folders = found->folders;
  Result<std::set<ObjectPath>> names = co_await NamesToLookUp(engine, path, std::move(*found));
  if (!names) co_return names.error();
  Result<std::vector<ListedName>> listed = co_await LookUpAll(engine, std::move(*names));
  if (!listed) co_return listed.error();
  std::set<std::string> objects;
  for (const ListedName& name : *listed) objects.insert(name.name);
  for (const ObjectPath& folder : folders) {
    // An archive that a directory hides on another server still makes an object.
    if (objects.contains(std::string(folder.Last()))) continue;
    ListedName directory{.name = std::string(folder.Last()), .directory = true};
    listed->push_back(std::move(directory));
  }
  std::sort(listed->begin(), listed->end(),
            [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
  co_return std::move(listed);
}

Task<Status> NeedXrdecDirectory(Engine& engine, ObjectPath path, bool make) {
  if (path.IsRoot()) co_return OkStatus();
  Result<XrdecName> name = co_await LookUpXrdec(engine, path, XrdecWidth::kArchives);
  if (!name) co_return name.error();
  switch (name->kind) {
    case XrdecName::kDirectory: co_return OkStatus();
    case XrdecName::kObject:
    case XrdecName::kUnfinished: co_return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
    case XrdecName::kNothing: break;
  }
  if (!make) co_return Fail(Code::kNotFound, "the directory {} does not exist", path.text());
  Status parent = co_await NeedXrdecDirectory(engine, path.Parent(), true);
  if (!parent) co_return std::move(parent);
  const Status plain = CheckPlainName(path);
  if (!plain) co_return plain.error();
  co_return co_await MakeFolders(engine, path);
}

Task<Status> MakeXrdecDirectory(Engine& engine, ObjectPath path, bool parents) {
  if (path.IsRoot()) co_return Fail(Code::kAlreadyExists, "/ exists");
  const Status plain = CheckPlainName(path);
  if (!plain) co_return plain.error();
  Result<XrdecName> name = co_await LookUpXrdec(engine, path, XrdecWidth::kArchives);
  if (!name) co_return name.error();
  if (name->kind != XrdecName::kNothing) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
  Status parent = co_await NeedXrdecDirectory(engine, path.Parent(), parents);
  if (!parent) co_return std::move(parent);
  co_return co_await MakeFolders(engine, path);
}

Task<Status> RemoveXrdecDirectory(Engine& engine, ObjectPath path) {
  if (path.IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be removed");
  Result<PlainUnion> found = co_await ListDirectoryPlain(engine, path);
  if (!found) co_return found.error();
  const std::set<ObjectPath> files = found->files;
  const size_t folders = found->folders.size();
  Result<std::set<ObjectPath>> names = co_await NamesToLookUp(engine, path, std::move(*found));
  if (!names) co_return names.error();
  Result<std::vector<ListedName>> listed = co_await LookUpAll(engine, std::move(*names));
  if (!listed) co_return listed.error();
  const size_t live = listed->size() + folders;
  if (live > 0) co_return Fail(Code::kNotEmpty, "{} is not empty: names in it: {}", path.text(), live);
  co_await RemoveLeftOver(engine, files);
  co_return co_await RemoveFolders(engine, path);
}

}  // namespace xec
