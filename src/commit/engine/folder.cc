// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/folder.hh"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/mutant.hh"
#include "base/random.hh"
#include "base/text.hh"
#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

// Where a file system keeps what its checker finds; empty as a rule, and often nobody's to read.
constexpr std::string_view kFileSystemFolder = "lost+found";
// One listing reads so many at once.
constexpr size_t kLongNamesInFlightMax = 64;

using Listing = Result<std::vector<Entry>>;

using LongNames = std::map<std::string, ShownName>;  // by entry

// The name kept in the object directory of a shortened name; nullopt when its parts are not all there. Error:
// what the server said.
Task<Result<std::optional<std::string>>> LongNameOn(Engine& engine, MemberIndex member,
                                                    std::string object_directory) {
  Listing listed = co_await ListOrEmpty(engine, member, std::move(object_directory));
  if (!listed) co_return listed.error();
  std::vector<std::string> entries;
  for (const Entry& entry : *listed) entries.push_back(entry.name);
  std::optional<std::string> told;
  Result<std::string> name = ReadLongName(entries);
  if (name) told = std::move(*name);
  co_return std::move(told);
}

struct LongName {
  std::string object_directory;
  std::optional<ObjectPath> name;
  ShownName shown;
  std::set<MemberIndex> silent;  // if nobody tells it: servers that could not be asked
};

Task<LongName> TellLongName(Engine& engine, ObjectPath directory, std::string object_directory,
                            ShownName shown) {
  LongName found;
  found.object_directory = std::move(object_directory);
  found.silent.insert(shown.members.begin(), shown.members.end());
  found.shown = shown;
  const bool told = co_await AskInTurn<Result<std::optional<std::string>>>(
      engine, std::move(shown.members),
      [&](MemberIndex member) { return LongNameOn(engine, member, found.object_directory); },
      [&](MemberIndex member, const Result<std::optional<std::string>>& component) {
        if (component) found.silent.erase(member);
        if (!component || !*component) return false;
        Result<ObjectPath> name = directory.Child(**component);
        if (name) found.name = std::move(*name);
        return found.name.has_value();
      });
  if (told) found.silent.clear();
  co_return std::move(found);
}

Task<void> TellLongNames(Engine& engine, ObjectPath directory, LongNames shown, FolderUnion& result) {
  const std::string folder = directory.Folder();
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  std::set<MemberIndex> silent;
  Gather<LongName> gather(engine.scope(), engine.executor());
  auto next = shown.begin();
  while (next != shown.end() || gather.pending() > 0) {
    for (; next != shown.end() && gather.pending() < kLongNamesInFlightMax; ++next)
      gather.Start(0, TellLongName(engine, directory, prefix + next->first, next->second));
    auto event = co_await gather.Next();
    LongName& found = *event.value;
    silent.merge(found.silent);
    // A name that is kept in an object directory that is not its own says nothing.
    if (found.name && found.name->ObjectDirectory() != found.object_directory) continue;
    if (found.name) {
      result.names[std::move(*found.name)] = std::move(found.shown);
    } else {
      result.nameless.insert(std::move(found.object_directory));
    }
  }
  for (const MemberIndex member : silent) result.heard.erase(member);
}

void AddTo(ShownName& shown, MemberIndex member, const Entry& entry) {
  shown.members.push_back(member);
  // The sum does not depend on the order in which the servers answer.
  shown.times += Mix64(Mix64(member) + static_cast<uint64_t>(entry.mtime_s));
}

void AddEntries(const ObjectPath& directory, MemberIndex member, const std::vector<Entry>& entries,
                FolderUnion& result, LongNames& long_names) {
  result.heard.insert(member);
  const std::string prefix = directory.IsRoot() ? "/" : directory.Folder() + "/";
  for (const Entry& entry : entries) {
    FolderEntryName parsed = ParseFolderEntry(entry.name);
    if (!entry.directory) {
      if (parsed.kind != FolderEntryName::kOther && entry.size == 0) result.files.insert(prefix + entry.name);
    } else if (parsed.kind == FolderEntryName::kObject) {
      Result<ObjectPath> name = directory.Child(parsed.component);
      if (name) AddTo(result.names[std::move(*name)], member, entry);
    } else if (parsed.kind == FolderEntryName::kLongObject) {
      AddTo(long_names[entry.name], member, entry);
    } else if (!(directory.IsRoot() && "/" + entry.name == kReservedDirectory)) {
      result.folders.insert(entry.name);
    }
  }
}

}  // namespace

Task<FolderUnion> ListFolder(Engine& engine, ObjectPath directory, Duration least) {
  FolderUnion result;
  result.asked_ms = engine.executor().WallNow();
  const std::string folder = directory.Folder();
  LongNames long_names;
  ServerGather<Listing> gather(engine, RequestKind::kMetadata, least);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, ListOrEmpty(engine, member, folder));
  const size_t needed = engine.server_count() - engine.SilentServersMax();
  const TimePoint began = engine.executor().Now();
  TimePoint until = TimePoint::max();
  const auto go_on = [&] {
    return result.heard.size() < needed || gather.timely() > 0 || engine.executor().Now() < until;
  };
  while (gather.pending() > 0 && go_on()) {
    // A server that is not late is waited for in any case.
    const TimePoint at_most = gather.timely() > 0 ? TimePoint::max() : until;
    auto event = co_await gather.Next(at_most);
    if (!event.value || !*event.value) continue;
    const MemberIndex member = event.member;
    AddEntries(directory, member, **event.value, result, long_names);
    // A large folder takes all servers long.
    const TimePoint now = engine.executor().Now();
    if (result.heard.size() == needed) until = now + (now - began);
  }
  co_await TellLongNames(engine, directory, std::move(long_names), result);
  co_return std::move(result);
}

Task<Result<FolderUnion>> ListFolderOn(Engine& engine, MemberIndex member, ObjectPath directory) {
  FolderUnion result;
  result.asked_ms = engine.executor().WallNow();
  LongNames long_names;
  const Listing listed = co_await ListOrEmpty(engine, member, directory.Folder());
  if (!listed) co_return listed.error();
  AddEntries(directory, member, *listed, result, long_names);
  co_await TellLongNames(engine, directory, std::move(long_names), result);
  if (!result.heard.contains(member))
    co_return Fail(Code::kUnavailable, "{} does not tell all names in {}", engine.server_id(member),
                   directory.text());
  co_return std::move(result);
}

uint64_t ShownAs(uint64_t seed, const FolderUnion& found, const ObjectPath& path, const ShownName& shown) {
  uint64_t hash = Mix64(seed);
  for (const MemberIndex member : found.heard) hash = Mix64(hash ^ member);
  if (!MutantActive(Mutant::kListWhatWas)) hash = Mix64(hash ^ shown.times);
  const std::string& text = path.text();
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    hash = Mix64(hash ^ word);
  }
  return Mix64(hash ^ text.size());
}

bool TakeFolderOf(const ObjectPath& name, FolderUnion& found) {
  const std::string folder = name.Folder();
  return found.folders.erase(folder.substr(folder.rfind('/') + 1)) > 0;
}

std::optional<ObjectPath> DirectoryOf(const ObjectPath& parent, const std::string& folder) {
  if (parent.IsRoot() && folder == kFileSystemFolder) return std::nullopt;
  // A shortened folder does not tell the name itself.
  const auto component = folder.ends_with(kLongFolderSuffix) ? std::optional(folder) : PercentDecode(folder);
  if (!component) return std::nullopt;
  const Result<ObjectPath> name = parent.Child(*component);
  return name ? std::optional(*name) : std::nullopt;
}

Task<void> RemoveEmptyFolder(Engine& engine, ObjectPath directory) {
  const std::string folder = directory.Folder();
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, RemoveDirectory(engine.MetadataCall(), engine.server(member), folder));
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace xec
