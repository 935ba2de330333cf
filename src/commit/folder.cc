// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/folder.hh"

#include <map>

#include "commit/access.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

using Listing = Result<std::vector<Entry>>;

// The name kept in the object directory of a shortened name; nullopt when it cannot be read here.
Task<std::optional<std::string>> LongNameOn(Engine& engine, MemberIndex member,
                                            std::string object_directory) {
  Listing listed = co_await ListOrEmpty(engine, member, object_directory);
  if (!listed) co_return std::nullopt;
  std::vector<std::string> entries;
  for (const Entry& entry : *listed) entries.push_back(entry.name);
  Result<std::string> name = ReadLongName(entries);
  if (!name) co_return std::nullopt;
  co_return std::move(*name);
}

}  // namespace

size_t SilentServersMax(const Engine& engine) {
  const size_t homes = std::min<size_t>(2 * engine.descriptor().tolerance + 1, engine.server_count());
  return Quorum(homes) - 1;
}

Task<FolderUnion> ListFolder(Engine& engine, ObjectPath directory, Duration least) {
  FolderUnion result;
  const std::string folder = directory.Folder();
  std::map<std::string, std::vector<MemberIndex>> long_names;  // who shows them
  ServerGather<Listing> gather(engine, RequestKind::kMetadata, least);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, ListOrEmpty(engine, member, folder));
  const size_t needed = engine.server_count() - SilentServersMax(engine);
  while (gather.pending() > 0 && (result.servers_heard < needed || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    const MemberIndex member = event.member;
    ++result.servers_heard;
    for (const Entry& entry : **event.value) {
      if (!entry.directory) continue;
      FolderEntryName parsed = ParseFolderEntry(entry.name);
      if (parsed.kind == FolderEntryName::kObject) {
        Result<ObjectPath> name = directory.Child(parsed.component);
        if (name) result.names.insert(std::move(*name));
      } else if (parsed.kind == FolderEntryName::kLongObject) {
        long_names[entry.name].push_back(member);
      } else if (!(directory.IsRoot() && "/" + entry.name == kReservedDirectory)) {
        result.folders.insert(entry.name);
      }
    }
  }
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  for (const auto& [entry, members] : long_names) {
    std::optional<ObjectPath> found;
    const std::string object_directory = prefix + entry;
    const bool told = co_await AskInTurn<std::optional<std::string>>(
        engine, members, [&](MemberIndex member) { return LongNameOn(engine, member, object_directory); },
        [&](MemberIndex, const std::optional<std::string>& component) {
          if (!component) return false;
          Result<ObjectPath> name = directory.Child(*component);
          if (name) found = std::move(*name);
          return found.has_value();
        });
    if (told) {
      result.names.insert(std::move(*found));
    } else {
      result.nameless.insert(object_directory);
    }
  }
  co_return std::move(result);
}

Task<void> RemoveEmptyFolder(Engine& engine, ObjectPath directory) {
  const std::string folder = directory.Folder();
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, RemoveDirectory(engine.MetadataCall(), engine.server(member), folder));
  while (gather.timely() > 0) co_await gather.Next();
}

}  // namespace xec
