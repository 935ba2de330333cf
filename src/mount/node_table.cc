// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/node_table.hh"

#include <algorithm>
#include <functional>

namespace xec {
namespace {

std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? directory + name : directory + "/" + name;
}

uint64_t ShownId(const std::string& path) { return std::hash<std::string>()(path) | 2; }

}  // namespace

NodeKind KindOf(const TreeEntry& entry) {
  if (entry.directory) return NodeKind::kDirectory;
  return entry.link ? NodeKind::kLink : NodeKind::kFile;
}

Node::Node(uint64_t node_id, uint64_t shown, NodeKind of_kind, MountedTree& tree, const NodeTable& table)
    : id(node_id),
      shown_id(shown),
      kind(of_kind),
      file(tree, [this, &table] { return table.PathOf(*this); }) {}

NodeTable::NodeTable(MountedTree& tree) : tree_(tree) {
  const MutexLock lock(mutex_);
  Make(kRootId, NodeKind::kDirectory)->lookups_ = 1;
}

NodePtr NodeTable::Make(uint64_t shown_id, NodeKind kind) {
  const uint64_t id = ++last_id_;
  auto made = std::make_shared<Node>(id, shown_id, kind, tree_, *this);
  nodes_[id] = made;
  shown_ids_.insert(shown_id);
  return made;
}

// One that had this path and was renamed keeps the id.
uint64_t NodeTable::FreeShownId(std::string path) const {
  while (shown_ids_.contains(ShownId(path))) path += '/';
  return ShownId(path);
}

NodePtr NodeTable::Find(uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second;
}

NodePtr NodeTable::Known(const Node& directory, const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = places_.find({directory.id, name});
  return found == places_.end() ? nullptr : nodes_.at(found->second->id);
}

NodePtr NodeTable::LookedUp(const NodePtr& directory, const std::string& name, NodeKind kind) {
  const MutexLock lock(mutex_);
  const Place place(directory->id, name);
  const auto found = places_.find(place);
  if (found != places_.end() && found->second->kind == kind) {
    NodePtr known = nodes_.at(found->second->id);
    ++known->lookups_;
    return known;
  }
  LoseName(place);
  const Result<std::string> above = Path(*directory);
  NodePtr made = Make(FreeShownId(above ? Join(*above, name) : name), kind);
  made->parent_ = directory;
  made->name_ = name;
  made->lookups_ = 1;
  places_[place] = made.get();
  return made;
}

void NodeTable::Forget(uint64_t id, uint64_t lookups) {
  NodePtr last;  // goes without the lock
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootId) return;
  Node& node = *found->second;
  node.lookups_ -= std::min(lookups, node.lookups_);
  if (node.lookups_ > 0) return;
  if (node.parent_) {
    const auto place = places_.find({node.parent_->id, node.name_});
    if (place != places_.end() && place->second == &node) places_.erase(place);
  }
  shown_ids_.erase(node.shown_id);
  last = std::move(found->second);
  nodes_.erase(found);
}

Result<std::string> NodeTable::Path(const Node& node) const {
  std::vector<const std::string*> parts;
  const Node* at = &node;
  for (; at->id != kRootId; at = at->parent_.get()) {
    if (!at->parent_) return Fail(Code::kNotFound, "{} has no name any more", at->name_);
    parts.push_back(&at->name_);
  }
  std::string path = parts.empty() ? "/" : "";
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) path += "/" + **part;
  return path;
}

Result<std::string> NodeTable::PathOf(const Node& node) const {
  const MutexLock lock(mutex_);
  return Path(node);
}

Result<std::string> NodeTable::PathOf(const Node& directory, const std::string& name) const {
  const MutexLock lock(mutex_);
  XEC_ASSIGN_OR_RETURN(const std::string above, Path(directory));
  return Join(above, name);
}

uint64_t NodeTable::ShownIdOf(const Node& directory, const std::string& name) const {
  if (const NodePtr known = Known(directory, name)) return known->shown_id;
  const Result<std::string> path = PathOf(directory, name);
  const MutexLock lock(mutex_);
  return FreeShownId(path ? *path : name);
}

void NodeTable::LoseName(const Place& place) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  found->second->parent_ = nullptr;
  places_.erase(found);
}

void NodeTable::Removed(const Node& directory, const std::string& name) {
  const MutexLock lock(mutex_);
  LoseName({directory.id, name});
}

void NodeTable::Renamed(const Node& from_directory, const std::string& from, const NodePtr& to_directory,
                        const std::string& to) {
  const MutexLock lock(mutex_);
  const Place target(to_directory->id, to);
  const auto found = places_.find({from_directory.id, from});
  if (found == places_.end()) {
    LoseName(target);
    return;
  }
  Node* const node = found->second;
  places_.erase(found);
  LoseName(target);
  node->parent_ = to_directory;
  node->name_ = to;
  places_[target] = node;
}

std::vector<NodePtr> NodeTable::InUse(const Node& directory, const std::string& name) const {
  const NodePtr named = Known(directory, name);
  if (!named) return {};
  if (!named->directory()) {
    if (named->file.in_use()) return {named};
    return {};
  }
  std::vector<NodePtr> all = InUse();
  const MutexLock lock(mutex_);
  std::erase_if(all, [&](const NodePtr& node) {
    const Node* at = node.get();
    while (at != nullptr && at != named.get()) at = at->parent_.get();
    return at == nullptr;
  });
  return all;
}

std::vector<NodePtr> NodeTable::InUse() const {
  std::vector<NodePtr> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, node] : nodes_)
      if (!node->directory()) all.push_back(node);
  }
  std::erase_if(all, [](const NodePtr& node) { return !node->file.in_use(); });
  std::sort(all.begin(), all.end(), [](const NodePtr& a, const NodePtr& b) { return a->id < b->id; });
  return all;
}

std::vector<KnownName> NodeTable::Names() const {
  std::vector<KnownName> all;
  const MutexLock lock(mutex_);
  for (const auto& [place, node] : places_)
    all.push_back({.id = node->id, .directory = place.first, .name = place.second});
  return all;
}

size_t NodeTable::size() const {
  const MutexLock lock(mutex_);
  return nodes_.size();
}

}  // namespace xec
