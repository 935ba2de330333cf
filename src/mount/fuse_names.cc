// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <span>
#include <sys/stat.h>

#include "base/log.hh"
#include "mount/errno_of.hh"
#include "mount/fuse_mount.hh"

namespace xec {
namespace {

LogLevel LevelOf(Code code) {
  switch (code) {
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kIsDirectory:
    case Code::kNotDirectory:
    case Code::kNotEmpty:
    case Code::kUnsupported:
    case Code::kInvalidArgument: return LogLevel::kDebug;  // answers rather than failures
    case Code::kDataLoss:
    case Code::kCorruption:
    case Code::kUnreadable:
    case Code::kInternal: return LogLevel::kError;
    default: return LogLevel::kWarning;
  }
}

}  // namespace

Result<NodePtr> FuseMount::NodeOf(fuse_ino_t id) const {
  NodePtr node = nodes_.Find(id);
  if (!node) return Fail(Code::kNotCurrent, "the kernel asks for a node that it has forgotten");
  return node;
}

void FuseMount::Refuse(fuse_req_t request, const char* what, std::string_view path, const Error& error) {
  Log(LevelOf(error.code), "mount", "{} {}: {}", what, path, error.ToString());
  fuse_reply_err(request, MountErrnoOf(error.code));
}

void FuseMount::RefuseKnown(fuse_req_t request, const char* what, const Node& node, const Error& error) {
  if (error.code == Code::kNotFound) {
    fuse_reply_err(request, ESTALE);
  } else {
    Refuse(request, what, PathForLog(node), error);
  }
}

void FuseMount::Answer(fuse_req_t request, const char* what, std::string_view path, const Status& status) {
  if (status) {
    fuse_reply_err(request, 0);
  } else {
    Refuse(request, what, path, status.error());
  }
}

std::string FuseMount::PathForLog(const Node& node) const {
  const Result<std::string> path = nodes_.PathOf(node);
  return path ? *path : "a file without a name";
}

fuse_entry_param FuseMount::Found(const NodePtr& directory, const std::string& name, TreeEntry entry) {
  const NodePtr node = nodes_.LookedUp(directory, name, KindOf(entry));
  return EntryOf(*node, node->file.Seen(std::move(entry)));
}

bool FuseMount::TooLong(std::string_view name, const Result<std::string>& path) const {
  return name.size() > kNameBytesMax || (path && path->size() > tree_.path_bytes_max());
}

void FuseMount::Lookup(fuse_req_t request, fuse_ino_t directory, const char* name) {
  const Result<NodePtr> above = NodeOf(directory);
  if (!above) return Refuse(request, "look up", name, above.error());
  const Result<std::string> path = nodes_.PathOf(**above, name);
  if (TooLong(name, path)) {
    fuse_reply_err(request, ENAMETOOLONG);
    return;
  }
  const Result<TreeEntry> entry = path ? tree_.Stat(*path) : Result<TreeEntry>(path.error());
  if (!entry && entry.code() == Code::kNotFound && options_.missing_names_s > 0) {
    fuse_entry_param missing = {};
    missing.entry_timeout = options_.missing_names_s;
    fuse_reply_entry(request, &missing);
    return;
  }
  if (!entry) return Refuse(request, "look up", path ? *path : name, entry.error());
  const fuse_entry_param found = Found(*above, name, *entry);
  // An answer that the kernel does not want any more counts as no look-up.
  if (fuse_reply_entry(request, &found) != 0) Forget(found.ino, 1);
}

void FuseMount::MakeDirectory(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode) {
  const Result<NodePtr> above = NodeOf(directory);
  if (!above) return Refuse(request, "make directory", name, above.error());
  const Result<std::string> path = nodes_.PathOf(**above, name);
  Status made = path ? tree_.MakeDirectory(*path) : Status(path.error());
  if (made && (mode & ALLPERMS) != options_.directory_mode)
    made = tree_.SetSettings(*path, Settings::OfMode(mode));
  Result<TreeEntry> now = made ? tree_.Stat(*path) : Result<TreeEntry>(made.error());
  if (!now) return Refuse(request, "make directory", path ? *path : name, now.error());
  const fuse_entry_param found = Found(*above, name, *now);
  if (fuse_reply_entry(request, &found) != 0) Forget(found.ino, 1);
}

void FuseMount::MakeNode(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode) {
  if (!S_ISREG(mode)) {
    fuse_reply_err(request, EPERM);
    return;
  }
  const Result<NodePtr> above = NodeOf(directory);
  if (!above) return Refuse(request, "make", name, above.error());
  const Result<std::string> path = nodes_.PathOf(**above, name);
  bool created = false;
  const Result<TreeEntry> entry =
      path ? CreateOrFind(*path, mode, true, created) : Result<TreeEntry>(path.error());
  if (!entry) return Refuse(request, "make", path ? *path : name, entry.error());
  nodes_.Removed(**above, name);
  const fuse_entry_param found = Found(*above, name, *entry);
  if (fuse_reply_entry(request, &found) != 0) Forget(found.ino, 1);
}

void FuseMount::MakeLink(fuse_req_t request, fuse_ino_t directory, const char* name, const char* target) {
  const Result<NodePtr> above = NodeOf(directory);
  if (!above) return Refuse(request, "make link", name, above.error());
  const Result<std::string> path = nodes_.PathOf(**above, name);
  const Result<TreeEntry> made = path ? tree_.MakeLink(*path, target) : Result<TreeEntry>(path.error());
  if (!made && made.code() == Code::kUnsupported) {
    fuse_reply_err(request, EPERM);  // what symlink(2) says then
    return;
  }
  if (!made) return Refuse(request, "make link", path ? *path : name, made.error());
  const fuse_entry_param found = Found(*above, name, *made);
  if (fuse_reply_entry(request, &found) != 0) Forget(found.ino, 1);
}

void FuseMount::ReadLink(fuse_req_t request, fuse_ino_t id) {
  const Result<NodePtr> node = NodeOf(id);
  const Result<std::string> path = node ? nodes_.PathOf(**node) : Result<std::string>(node.error());
  if (!path) return Refuse(request, "read link", "", path.error());
  std::string target(PATH_MAX, '\0');
  const auto reader = tree_.OpenReader(*path);
  const Result<uint64_t> got = reader ? (*reader)->Read(0, std::as_writable_bytes(std::span(target)))
                                      : Result<uint64_t>(reader.error());
  if (!got) return Refuse(request, "read link", *path, got.error());
  if (*got == PATH_MAX) {
    fuse_reply_err(request, ENAMETOOLONG);
    return;
  }
  fuse_reply_readlink(request, target.c_str());
}

Status FuseMount::RemoveFile(const NodePtr& directory, const std::string& name) {
  XEC_ASSIGN_OR_RETURN(const std::string path, nodes_.PathOf(*directory, name));
  const NodePtr node = nodes_.Known(*directory, name);
  std::optional<AloneTurn> turn;
  if (node && !node->directory()) turn.emplace(node->file.turns());
  if (node && node->file.in_use()) node->file.KeepForUsers();
  const Status removed = tree_.Remove(path);
  if (!removed && removed.code() != Code::kNotFound) return removed;
  nodes_.Removed(*directory, name);
  if (turn) node->file.LostName();
  return removed;
}

void FuseMount::Unlink(fuse_req_t request, fuse_ino_t directory, const char* name) {
  const Result<NodePtr> above = NodeOf(directory);
  Answer(request, "remove", name, above ? RemoveFile(*above, name) : Status(above.error()));
}

void FuseMount::RemoveDirectory(fuse_req_t request, fuse_ino_t directory, const char* name) {
  const Result<NodePtr> above = NodeOf(directory);
  if (!above) return Refuse(request, "remove directory", name, above.error());
  const Result<std::string> path = nodes_.PathOf(**above, name);
  const Status removed = path ? tree_.RemoveDirectory(*path) : Status(path.error());
  if (removed || removed.code() == Code::kNotFound) nodes_.Removed(**above, name);
  Answer(request, "remove directory", path ? *path : name, removed);
}

Status FuseMount::RenameNode(const NodePtr& from_directory, const std::string& from,
                             const NodePtr& to_directory, const std::string& to, bool replace) {
  std::vector<NodePtr> moved = nodes_.InUse(*from_directory, from);
  const NodePtr source = nodes_.Known(*from_directory, from), target = nodes_.Known(*to_directory, to);
  // A file may be opened at this moment.
  if (source && !source->directory()) moved = {source};
  std::vector<NodePtr> taken = moved;
  if (target && !target->directory()) taken.push_back(target);
  std::sort(taken.begin(), taken.end(), [](const NodePtr& a, const NodePtr& b) { return a->id < b->id; });
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  std::vector<std::unique_ptr<AloneTurn>> turns;
  for (const NodePtr& node : taken) turns.push_back(std::make_unique<AloneTurn>(node->file.turns()));
  // None may wait for memory that another one has: nobody else can make that one rest meanwhile.
  if (taken.size() > 1) {
    for (const NodePtr& node : taken) (void)node->file.RestAlone();
  }
  for (const NodePtr& node : moved) XEC_TRY(node->file.CommitAlone());
  const bool target_lives = target && target->file.in_use();
  if (target_lives) target->file.KeepForUsers();
  XEC_ASSIGN_OR_RETURN(const std::string from_path, nodes_.PathOf(*from_directory, from));
  XEC_ASSIGN_OR_RETURN(const std::string to_path, nodes_.PathOf(*to_directory, to));
  XEC_TRY(tree_.Rename(from_path, to_path, replace));
  nodes_.Renamed(*from_directory, from, to_directory, to);
  if (target_lives) target->file.LostName();
  for (const NodePtr& node : moved) node->file.Renamed();
  return OkStatus();
}

void FuseMount::Rename(fuse_req_t request, fuse_ino_t from_directory, const char* from,
                       fuse_ino_t to_directory, const char* to, unsigned flags) {
  if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0) {
    fuse_reply_err(request, EINVAL);
    return;
  }
  const Result<NodePtr> source = NodeOf(from_directory), target = NodeOf(to_directory);
  Status renamed = source ? OkStatus() : Status(source.error());
  if (renamed && !target) renamed = target.error();
  if (renamed) renamed = RenameNode(*source, from, *target, to, (flags & RENAME_NOREPLACE) == 0);
  Answer(request, "rename", from, renamed);
}

}  // namespace xec
