// SPDX-License-Identifier: LGPL-3.0-or-later
// The union of a folder over all servers: what listing a directory and cleaning start from.
#pragma once

#include <map>
#include <set>

#include "commit/engine/access.hh"

namespace xec {

// A name that has an object directory.
struct ShownName {
  std::vector<MemberIndex> members;  // on these servers
  uint64_t times = 0;  // a hash of the times of their last changes and of the servers that show them
};

struct FolderUnion {
  using Name = std::pair<const ObjectPath, ShownName>;
  int64_t asked_ms = 0;  // of the wall clock: all below was told after that
  std::map<ObjectPath, ShownName> names;
  std::set<std::string> folders;   // physical sub-folders by their name on disk
  // Object directories, by their path on disk, of shortened names that no server tells now.
  std::set<std::string> nameless;
  // Empty files where object directories should be, by their path on disk (server/stray_file.hh).
  std::set<std::string> files;
  // Servers that told all they have. A server that shows a shortened name that nobody tells, and could not be
  // asked for it, is none of them.
  std::set<MemberIndex> heard;
};

// A hash of a name and of all that `found`, which has it, shows of it: which servers have an object directory
// of it, when these changed last, and which servers have told the folder. `seed`: a client that chooses names
// does not know it.
uint64_t ShownAs(uint64_t seed, const FolderUnion& found, const ObjectPath& path, const ShownName& shown);

// Lists the folder of the directory on all servers in parallel, without waiting for those that are late, and
// twice as late as these, once all but SilentServersMax were heard. Long names are read from their entries.
// `least`: as of ServerGather.
Task<FolderUnion> ListFolder(Engine& engine, ObjectPath directory, Duration least = {});

// What one server has in the folder of the directory; waits for it to its deadline. Error: what it said.
Task<Result<FolderUnion>> ListFolderOn(Engine& engine, MemberIndex member, ObjectPath directory);

// Has the name a physical folder of its own among those of `found`? It is taken out of them.
bool TakeFolderOf(const ObjectPath& name, FolderUnion& found);
// The directory below `parent` whose names have that physical folder; that of a shortened name under its
// name on disk, as the names below have it. nullopt: the folder is none of the store's.
std::optional<ObjectPath> DirectoryOf(const ObjectPath& parent, const std::string& folder);

// Removes the physical folder of the directory on all servers in parallel, where nothing is in it; a creation
// that finds it gone makes it anew. Servers that refuse or do not answer keep it for the next cleaner.
Task<void> RemoveEmptyFolder(Engine& engine, ObjectPath directory);

}  // namespace xec
