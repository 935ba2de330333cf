// SPDX-License-Identifier: LGPL-3.0-or-later
// NodeTable: the names that the kernel knows, each as a node whose id stands for it in the kernel's requests.
// A node is forgotten when the kernel says so: how many there are is the kernel's bound.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mount/mounted_file.hh"

namespace xec {

class NodeTable;

// A name that the kernel knows, and the ids of its node and of the directory's.
struct KnownName {
  uint64_t id = 0, directory = 0;
  std::string name;
};

enum class NodeKind { kFile, kDirectory, kLink };
NodeKind KindOf(const TreeEntry& entry);

// Its place among the others is the table's.
class Node {
 public:
  Node(uint64_t node_id, uint64_t shown, NodeKind of_kind, MountedTree& tree, const NodeTable& table);

  const uint64_t id;
  const uint64_t shown_id;  // that programs see: of the path at which it was met first
  const NodeKind kind;
  MountedFile file;  // of a file; of a link never open

  bool directory() const { return kind == NodeKind::kDirectory; }

 private:
  friend class NodeTable;
  std::shared_ptr<Node> parent_;  // null: of the root, and of one that has lost its name
  std::string name_;
  uint64_t lookups_ = 0;
};
using NodePtr = std::shared_ptr<Node>;

// Thread-safe; does not block. `tree` outlives it, and it outlives its nodes.
class NodeTable {
 public:
  static constexpr uint64_t kRootId = 1;

  explicit NodeTable(MountedTree& tree);

  // Null: the kernel has forgotten it.
  NodePtr Find(uint64_t id) const;
  // The one of this name in the directory, if the kernel knows it. Null: it does not.
  NodePtr Known(const Node& directory, const std::string& name) const;
  // The one of this name in the directory, new or known, once more looked up by the kernel. One of another
  // kind that had the name has lost it.
  NodePtr LookedUp(const NodePtr& directory, const std::string& name, NodeKind kind);
  void Forget(uint64_t id, uint64_t lookups);

  // Error: kNotFound, it has lost its name or one of the directories above it has.
  Result<std::string> PathOf(const Node& node) const;
  Result<std::string> PathOf(const Node& directory, const std::string& name) const;

  // What programs see as the id of a name that is listed. No two that are known have the same: programs take
  // them for one file.
  uint64_t ShownIdOf(const Node& directory, const std::string& name) const;

  // The name is gone from the tree.
  void Removed(const Node& directory, const std::string& name);
  void Renamed(const Node& from_directory, const std::string& from, const NodePtr& to_directory,
               const std::string& to);

  // All files in use that have this name or are below it, in the order of their ids.
  std::vector<NodePtr> InUse(const Node& directory, const std::string& name) const;
  // All files in use.
  std::vector<NodePtr> InUse() const;

  // All that have a name.
  std::vector<KnownName> Names() const;

  size_t size() const;

 private:
  using Place = std::pair<uint64_t, std::string>;  // directory and name

  NodePtr Make(uint64_t shown_id, NodeKind kind) XEC_REQUIRES(mutex_);
  uint64_t FreeShownId(std::string path) const XEC_REQUIRES(mutex_);
  Result<std::string> Path(const Node& node) const XEC_REQUIRES(mutex_);
  void LoseName(const Place& place) XEC_REQUIRES(mutex_);

  MountedTree& tree_;
  mutable Mutex mutex_;
  uint64_t last_id_ XEC_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, NodePtr> nodes_ XEC_GUARDED_BY(mutex_);
  std::map<Place, Node*> places_ XEC_GUARDED_BY(mutex_);  // of nodes_
  std::unordered_set<uint64_t> shown_ids_ XEC_GUARDED_BY(mutex_);  // of nodes_
};

}  // namespace xec
