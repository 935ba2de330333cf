// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/folder.hh"

#include "runtime/gather.hh"

namespace xec {
namespace {

using Listing = Result<std::vector<Entry>>;

Task<Listing> ListOn(Engine& engine, MemberIndex member, std::string folder) {
  Listing listed = co_await List(engine.MetadataCall(), engine.server(member), folder);
  if (!listed && listed.code() == Code::kNotFound) co_return std::vector<Entry>{};
  co_return std::move(listed);
}

// The name kept in the object directory of a shortened name; nullopt when it cannot be read here.
Task<std::optional<std::string>> LongNameOn(Engine& engine, MemberIndex member,
                                            std::string object_directory) {
  Listing listed = co_await ListOn(engine, member, object_directory);
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

Task<FolderUnion> ListFolder(Engine& engine, ObjectPath directory) {
  FolderUnion result;
  const std::string folder = directory.Folder();
  std::set<std::pair<std::string, MemberIndex>> long_names;
  Gather<Listing> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) {
    gather.Start(i, ListOn(engine, static_cast<MemberIndex>(i), folder));
  }
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    const auto member = static_cast<MemberIndex>(event.tag);
    if (!*event.value) {
      result.failed.push_back(member);
      continue;
    }
    ++result.servers_heard;
    for (const Entry& entry : **event.value) {
      if (!entry.directory) continue;
      FolderEntryName parsed = ParseFolderEntry(entry.name);
      if (parsed.kind == FolderEntryName::kObject) {
        Result<ObjectPath> name = directory.Child(parsed.component);
        if (name) result.names.insert(std::move(*name));
      } else if (parsed.kind == FolderEntryName::kLongObject) {
        long_names.emplace(entry.name, member);
      } else if (!(directory.IsRoot() && "/" + entry.name == kReservedDirectory)) {
        result.folders.insert(entry.name);
      }
    }
  }
  const std::string prefix = folder == "/" ? "/" : folder + "/";
  std::set<std::string> solved;
  for (const auto& [entry, member] : long_names) {
    if (solved.contains(entry)) continue;
    result.nameless.insert(prefix + entry);
    std::optional<std::string> component = co_await LongNameOn(engine, member, prefix + entry);
    if (!component) continue;
    Result<ObjectPath> name = directory.Child(*component);
    if (!name) continue;
    result.names.insert(std::move(*name));
    result.nameless.erase(prefix + entry);
    solved.insert(entry);
  }
  co_return std::move(result);
}

Task<void> RemoveEmptyFolder(Engine& engine, ObjectPath directory) {
  const std::string folder = directory.Folder();
  Gather<Status> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) {
    gather.Start(i,
                 RemoveDirectory(engine.MetadataCall(), engine.server(static_cast<MemberIndex>(i)), folder));
  }
  while (gather.pending() > 0) co_await gather.Next();
}

}  // namespace xec
