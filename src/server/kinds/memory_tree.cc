// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/memory_tree.hh"

#include <algorithm>

#include "base/text.hh"
#include "server/path.hh"

namespace xec {
namespace {

constexpr size_t kNameBytesMax = 255;  // as every file system below a real server

Error NotFound(std::string_view path) { return Fail(Code::kNotFound, "{} does not exist", path); }
Error NotDirectory(std::string_view path) { return Fail(Code::kNotDirectory, "{} is a file", path); }

std::vector<std::string_view> Parts(std::string_view path) {
  return path == "/" ? std::vector<std::string_view>{} : Split(path.substr(1), '/');
}

void CollectFiles(const MemoryNodePtr& node, const std::string& path,
                  std::map<std::string, MemoryNodePtr>& into) {
  if (!node->directory) into.emplace(path, node);
  for (const auto& [name, child] : node->children) CollectFiles(child, path + "/" + name, into);
}

}  // namespace

MemoryNodePtr MemoryTree::NewDirectory(int64_t now_s) {
  auto node = std::make_shared<MemoryNode>();
  node->directory = true;
  node->mtime_s = now_s;
  return node;
}

MemoryNodePtr MemoryTree::CopyNode(const MemoryNode& node) {
  auto copy = std::make_shared<MemoryNode>(node);
  for (auto& [name, child] : copy->children) child = CopyNode(*child);
  return copy;
}

MemoryTree MemoryTree::Copy() const {
  MemoryTree copy(capacity_);
  copy.used_ = used_;
  copy.root_ = CopyNode(*root_);
  return copy;
}

Result<MemoryNodePtr> MemoryTree::Find(std::string_view path) const {
  MemoryNodePtr node = root_;
  for (const std::string_view part : Parts(path)) {
    if (!node->directory) return NotDirectory(path);
    const auto child = node->children.find(part);
    if (child == node->children.end()) return NotFound(path);
    node = child->second;
  }
  return node;
}

Result<MemoryNodePtr> MemoryTree::MakeParents(std::string_view path, int64_t now_s) {
  MemoryNodePtr node = root_;
  std::vector<std::string_view> parts = Parts(path);
  for (const std::string_view part : parts) {
    if (part.size() > kNameBytesMax) return Fail(Code::kInvalidArgument, "a name in {} is too long", path);
  }
  parts.pop_back();
  for (const std::string_view part : parts) {
    const auto child = node->children.find(part);
    if (child == node->children.end()) {
      MemoryNodePtr made = NewDirectory(now_s);
      node->children.emplace(part, made);
      node->mtime_s = now_s;
      node = made;
    } else if (!child->second->directory) {
      return NotDirectory(path);
    } else {
      node = child->second;
    }
  }
  return node;
}

Result<MemoryNodePtr> MemoryTree::OpenForRead(std::string_view path) const {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  if (node->directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
  return node;
}

Result<MemoryNodePtr> MemoryTree::Create(std::string_view path, int64_t now_s) {
  if (path == "/") return Fail(Code::kAlreadyExists, "/ exists");
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr parent, MakeParents(path, now_s));
  auto node = std::make_shared<MemoryNode>();
  node->mtime_s = now_s;
  if (!parent->children.emplace(LastPart(path), node).second) {
    return Fail(Code::kAlreadyExists, "{} exists", path);
  }
  parent->mtime_s = now_s;
  return node;
}

Result<std::vector<Entry>> MemoryTree::List(std::string_view path) const {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  if (!node->directory) return NotDirectory(path);
  std::vector<Entry> entries;
  for (const auto& [name, child] : node->children) {
    entries.push_back({name, child->directory, child->content.size(), child->mtime_s});
  }
  return entries;
}

Status MemoryTree::Rename(const std::string& from, const std::string& to, int64_t now_s) {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(from));
  if (from == "/" || to.starts_with(from + "/")) {
    return Fail(Code::kInvalidArgument, "{} cannot be renamed to {}", from, to);
  }
  if (Result<MemoryNodePtr> there = Find(to)) return Fail(Code::kAlreadyExists, "{} exists", to);
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr target, MakeParents(to, now_s));
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr source, Find(ParentPath(from)));
  if (!node->directory) node->name_synced = true;
  source->children.erase(source->children.find(LastPart(from)));
  target->children.emplace(LastPart(to), node);
  source->mtime_s = now_s;
  target->mtime_s = now_s;
  return OkStatus();
}

Status MemoryTree::Remove(std::string_view path, int64_t now_s) {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  if (node->directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr parent, Find(ParentPath(path)));
  parent->children.erase(parent->children.find(LastPart(path)));
  parent->mtime_s = now_s;
  node->linked = false;
  used_ -= node->content.size();
  return OkStatus();
}

Status MemoryTree::MakeDirectory(std::string_view path, int64_t now_s) {
  if (path == "/") return OkStatus();
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr parent, MakeParents(path, now_s));
  const auto there = parent->children.find(LastPart(path));
  if (there == parent->children.end()) {
    parent->children.emplace(LastPart(path), NewDirectory(now_s));
    parent->mtime_s = now_s;
  } else if (!there->second->directory) {
    return Fail(Code::kAlreadyExists, "{} exists and is a file", path);
  }
  return OkStatus();
}

Status MemoryTree::RemoveDirectory(std::string_view path, int64_t now_s) {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  if (!node->directory) return NotDirectory(path);
  if (!node->children.empty()) return Fail(Code::kNotEmpty, "{} is not empty", path);
  if (path == "/") return Fail(Code::kInvalidArgument, "/ cannot be removed");
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr parent, Find(ParentPath(path)));
  parent->children.erase(parent->children.find(LastPart(path)));
  parent->mtime_s = now_s;
  return OkStatus();
}

Status MemoryTree::SetAttributes(std::string_view path, const Attributes& attributes) {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  for (const auto& [name, value] : attributes) node->attributes[name] = value;
  return OkStatus();
}

Result<Attributes> MemoryTree::GetAttributes(std::string_view path, std::string_view prefix) const {
  XEC_ASSIGN_OR_RETURN(const MemoryNodePtr node, Find(path));
  Attributes attributes;
  for (const auto& [name, value] : node->attributes) {
    if (name.starts_with(prefix)) attributes.emplace_back(name, value);
  }
  return attributes;
}

Status MemoryTree::Write(MemoryNode& file, uint64_t offset, ByteSpan bytes, int64_t now_s) {
  const uint64_t end = std::max<uint64_t>(file.content.size(), offset + bytes.size());
  const uint64_t growth = end - file.content.size();
  if (file.linked) {
    if (growth > capacity_ - std::min(capacity_, used_)) return Fail(Code::kNoSpace, "no space left");
    used_ += growth;
  }
  file.content.resize(end);
  if (!bytes.empty()) std::memcpy(file.content.data() + offset, bytes.data(), bytes.size());
  if (file.synced) file.synced_content = file.content.substr(0, end - growth);
  file.synced = false;
  file.mtime_s = now_s;
  return OkStatus();
}

void MemoryTree::Sync(MemoryNode& file) {
  file.synced = true;
  file.name_synced = true;
  file.synced_content.clear();
}

void MemoryTree::Replace(MemoryNode& file, const std::function<void(std::string&)>& change) {
  used_ -= file.content.size();
  change(file.content);
  used_ += file.content.size();
  Sync(file);
}

void MemoryTree::LoseUnsyncedBelow(MemoryNode& directory, Random& random) {
  for (auto entry = directory.children.begin(); entry != directory.children.end();) {
    MemoryNode& node = *entry->second;
    if (node.directory) {
      LoseUnsyncedBelow(node, random);
    } else if (!node.synced) {
      const uint64_t fate = random.Below(4);
      used_ -= node.content.size();
      if (fate == 0 && !node.name_synced) {
        entry = directory.children.erase(entry);
        continue;
      }
      if (fate == 0 || fate == 1) node.content = node.synced_content;
      if (fate == 2) node.content.resize(random.Below(node.content.size() + 1));
      used_ += node.content.size();
      Sync(node);
    }
    ++entry;
  }
}

void MemoryTree::LoseUnsynced(Random& random) { LoseUnsyncedBelow(*root_, random); }

std::map<std::string, MemoryNodePtr> MemoryTree::Files() const {
  std::map<std::string, MemoryNodePtr> files;
  CollectFiles(root_, "", files);
  return files;
}

}  // namespace xec
