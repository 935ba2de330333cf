// SPDX-License-Identifier: LGPL-3.0-or-later
// MemoryTree: the file system inside a MemoryServer, without threads or time. Each function is one atomic
// effect with the answers of the DataServer contract. Not thread-safe: MemoryServer locks.
//
// It knows what is on stable storage: contents are so when they were synced, names (renames, directories,
// removals) at once, as with a local server that syncs directories. The name under which a file was created
// is when the file is synced or renamed: journals keep the order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.hh"
#include "server/data_server.hh"

namespace xec {

// Reads of the byte at `offset` fail with `code`.
struct BadSector {
  uint64_t offset = 0;
  Code code = Code::kUnreadable;
};

struct MemoryNode {
  bool directory = false;
  std::string content;
  std::optional<BadSector> bad_sector;
  bool synced = false;  // `content` is on stable storage as it is
  bool name_synced = false;  // the file's name is, whatever becomes of its content
  std::string synced_content;  // what is on stable storage when !synced; empty if it never was
  int64_t mtime_s = 0;  // of a directory: when an entry of it came or went last
  bool linked = true;  // has a name; false once removed, while handles may still read it
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::shared_ptr<MemoryNode>, std::less<>> children;
};

using MemoryNodePtr = std::shared_ptr<MemoryNode>;

class MemoryTree {
 public:
  explicit MemoryTree(uint64_t capacity_bytes) : capacity_(capacity_bytes), root_(NewDirectory(0)) {}

  // A deep copy: nothing is shared, so that open files of one tree do not change the other.
  MemoryTree Copy() const;

  Result<MemoryNodePtr> OpenForRead(std::string_view path) const;
  Result<MemoryNodePtr> Create(std::string_view path, int64_t now_s);
  Result<std::vector<Entry>> List(std::string_view path) const;
  Status Rename(const std::string& from, const std::string& to, int64_t now_s);
  Status Remove(std::string_view path, int64_t now_s);
  Status MakeDirectory(std::string_view path, int64_t now_s);
  Status RemoveDirectory(std::string_view path, int64_t now_s);
  Status SetAttributes(std::string_view path, const Attributes& attributes);
  Result<Attributes> GetAttributes(std::string_view path, std::string_view prefix) const;
  Status Write(MemoryNode& file, uint64_t offset, ByteSpan bytes, int64_t now_s);
  static void Sync(MemoryNode& file);
  // Changes a file's bytes on stable storage, whatever the capacity.
  void Replace(MemoryNode& file, const std::function<void(std::string&)>& change);

  // What a power cut leaves: each file with unsynced content at random keeps it, loses its end, goes back
  // to what was synced last, or (neither synced nor renamed) loses its name.
  void LoseUnsynced(Random& random);

  // All files by path, for oracles and tests.
  std::map<std::string, MemoryNodePtr> Files() const;

  uint64_t used_bytes() const { return used_; }
  uint64_t capacity_bytes() const { return capacity_; }
  void set_capacity(uint64_t bytes) { capacity_ = bytes; }

 private:
  static MemoryNodePtr NewDirectory(int64_t now_s);
  static MemoryNodePtr CopyNode(const MemoryNode& node);
  // Error: kNotFound, or kNotDirectory when a part before the last is a file.
  Result<MemoryNodePtr> Find(std::string_view path) const;
  Result<MemoryNodePtr> MakeParents(std::string_view path, int64_t now_s);
  void LoseUnsyncedBelow(MemoryNode& directory, Random& random);

  uint64_t capacity_;
  uint64_t used_ = 0;  // bytes of all contents that have a name
  MemoryNodePtr root_;
};

}  // namespace xec
