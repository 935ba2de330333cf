// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "mount/fuse_mount.hh"

namespace xec {
namespace {

constexpr uint64_t kBlockBytes = 4096;   // of which df counts
constexpr uint64_t kStatBlockBytes = 512;  // of which stat counts
constexpr int64_t kNanosInSecond = 1'000'000'000;
constexpr mode_t kLinkMode = 0777;  // of every symbolic link
constexpr std::string_view kUserPrefix = "user.";
// Of attributes that are the tree's own. The names are those of XrootdFS.
constexpr std::string_view kOwnPrefix = "xrootdfs.";
// Of those of the mount itself, which its directory has; and among the names of users those that are a
// store's own, which no tree shows.
constexpr std::string_view kControlPrefix = "xec.";

// The name by which the tree knows it; "" for what is kept nowhere.
std::string_view OfUser(std::string_view name) {
  return name.starts_with(kUserPrefix) ? name.substr(kUserPrefix.size()) : std::string_view();
}

mode_t TypeOf(const TreeEntry& entry) {
  switch (KindOf(entry)) {
    case NodeKind::kFile: return S_IFREG;
    case NodeKind::kDirectory: return S_IFDIR;
    case NodeKind::kLink: return S_IFLNK;
  }
  return 0;
}

Settings SettingsOf(const struct stat& wanted, int which) {
  Settings settings;
  if ((which & FUSE_SET_ATTR_MODE) != 0) settings = Settings::OfMode(wanted.st_mode);
  if ((which & FUSE_SET_ATTR_MTIME) != 0) {
    timespec time = wanted.st_mtim;
    if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) clock_gettime(CLOCK_REALTIME, &time);
    settings.mtime_ns = time.tv_sec * kNanosInSecond + time.tv_nsec;
  }
  return settings;
}

timespec TimeOf(int64_t ns) {
  // Of a time before 1970 the part of a second counts up all the same.
  const int64_t part_ns = (ns % kNanosInSecond + kNanosInSecond) % kNanosInSecond;
  return {.tv_sec = (ns - part_ns) / kNanosInSecond, .tv_nsec = part_ns};
}

}  // namespace

void ReplyAttribute(fuse_req_t request, std::string_view text, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request, text.size());
  } else if (size < text.size()) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, text.data(), text.size());
  }
}

Result<TreeEntry> FuseMount::Look(const Node& node) {
  const Result<std::string> path = nodes_.PathOf(node);
  Result<TreeEntry> entry = path ? tree_.Stat(*path) : Result<TreeEntry>(path.error());
  if (entry && KindOf(*entry) != node.kind) entry = Fail(Code::kNotFound, "{} is another thing now", *path);
  if (node.directory()) {
    // One that was removed is still somebody's working directory.
    if (!path) return TreeEntry{.directory = true};
    return entry;
  }
  if (entry) return node.file.Seen(*entry);
  if (entry.code() != Code::kNotFound && !node.file.changed()) return entry;
  const std::optional<TreeEntry> kept = node.file.SeenWithoutName();
  return kept ? *kept : entry;
}

mode_t FuseMount::ModeOf(const TreeEntry& entry) const {
  if (entry.link) return kLinkMode;
  return entry.mode.value_or(entry.directory ? options_.directory_mode : options_.file_mode);
}

struct stat FuseMount::StatOf(uint64_t shown_id, const TreeEntry& entry) const {
  struct stat out = {};
  out.st_ino = shown_id;
  out.st_mode = TypeOf(entry) | ModeOf(entry);
  out.st_nlink = 1;
  out.st_uid = options_.uid;
  out.st_gid = options_.gid;
  out.st_size = static_cast<off_t>(entry.size);
  out.st_blksize = static_cast<blksize_t>(kBlockBytes);
  out.st_blocks = static_cast<blkcnt_t>((entry.size + kStatBlockBytes - 1) / kStatBlockBytes);
  out.st_mtim = TimeOf(entry.mtime_ns);
  out.st_atim = out.st_mtim;
  out.st_ctim = TimeOf(entry.ctime_ns.value_or(entry.mtime_ns));
  return out;
}

struct stat FuseMount::StatOf(const Node& node, const TreeEntry& entry) const {
  struct stat out = StatOf(node.shown_id, entry);
  if (!nodes_.PathOf(node)) out.st_nlink = 0;
  return out;
}

fuse_entry_param FuseMount::EntryOf(const Node& node, const TreeEntry& entry, bool attributes_hold) const {
  fuse_entry_param out = {};
  out.ino = node.id;
  out.attr = StatOf(node.shown_id, entry);
  out.attr_timeout = attributes_hold ? options_.attributes_s : 0;
  out.entry_timeout = options_.names_s;
  return out;
}

void FuseMount::GetAttributes(fuse_req_t request, fuse_ino_t id) {
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "stat", "", node.error());
  const Result<TreeEntry> entry = Look(**node);
  if (!entry) return RefuseKnown(request, "stat", **node, entry.error());
  const struct stat told = StatOf(**node, *entry);
  fuse_reply_attr(request, &told, options_.attributes_s);
}

Status FuseMount::SetOwner(const struct stat& wanted, int which) const {
  const bool same = ((which & FUSE_SET_ATTR_UID) == 0 || wanted.st_uid == options_.uid) &&
                    ((which & FUSE_SET_ATTR_GID) == 0 || wanted.st_gid == options_.gid);
  if (same) return OkStatus();
  return Fail(Code::kPermissionDenied, "all of a mount has one owner, which -o uid=N,gid=N sets");
}

Result<std::map<std::string, std::string>> FuseMount::AttributesOf(const Node& node) const {
  if (!node.directory()) {
    if (auto kept = node.file.AttributesWithoutName()) return std::move(*kept);
  }
  XEC_ASSIGN_OR_RETURN(const std::string path, nodes_.PathOf(node));
  return tree_.Attributes(path);
}

Status FuseMount::SetAttributeOf(Node& node, const std::string& name, std::optional<std::string> value) {
  if (!node.directory()) {
    XEC_ASSIGN_OR_RETURN(const bool kept, node.file.SetAttributeWithoutName(name, value));
    if (kept) return OkStatus();
    // An attribute is of a version, and the one that is to come would not have it.
    XEC_TRY(node.file.Commit());
  }
  XEC_ASSIGN_OR_RETURN(const std::string path, nodes_.PathOf(node));
  return tree_.SetAttribute(path, name, std::move(value));
}

Status FuseMount::SetSettings(Node& node, Settings wanted) {
  // Programs that copy files set the mode that is there, of each.
  if (wanted.mode && (node.directory() || !node.file.changed())) {
    XEC_ASSIGN_OR_RETURN(const TreeEntry entry, Look(node));
    if (*wanted.mode == ModeOf(entry)) wanted.mode.reset();
  }
  if (!wanted.Any()) return OkStatus();
  if (!node.directory()) return node.file.SetSettings(wanted);
  XEC_ASSIGN_OR_RETURN(const std::string path, nodes_.PathOf(node));
  return tree_.SetSettings(path, wanted);
}

void FuseMount::SetAttributes(fuse_req_t request, fuse_ino_t id, const struct stat* wanted, int which) {
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "change", "", node.error());
  Status done = SetOwner(*wanted, which);
  if (!done) {
    fuse_reply_err(request, EPERM);
    return;
  }
  if ((which & FUSE_SET_ATTR_SIZE) != 0)
    done = (*node)->file.Truncate(static_cast<uint64_t>(wanted->st_size));
  if (done) done = SetSettings(**node, SettingsOf(*wanted, which));
  const Result<TreeEntry> entry = done ? Look(**node) : Result<TreeEntry>(done.error());
  if (!entry) return RefuseKnown(request, "change", **node, entry.error());
  const struct stat told = StatOf(**node, *entry);
  fuse_reply_attr(request, &told, options_.attributes_s);
}

void FuseMount::StatFilesystem(fuse_req_t request) {
  const Result<TreeSpace> space = tree_.Space();
  if (!space) return Refuse(request, "ask for the space of", "/", space.error());
  struct statvfs out = {};
  out.f_bsize = kBlockBytes;
  out.f_frsize = kBlockBytes;
  out.f_blocks = space->total_bytes / kBlockBytes;
  out.f_bfree = space->free_bytes / kBlockBytes;
  out.f_bavail = out.f_bfree;
  out.f_namemax = kNameBytesMax;
  fuse_reply_statfs(request, &out);
}

void FuseMount::GetOwn(fuse_req_t request, fuse_ino_t id, const char* name, size_t size) {
  const Result<NodePtr> node = NodeOf(id);
  const Result<std::string> path = node ? nodes_.PathOf(**node) : Result<std::string>(node.error());
  const Result<std::string> value =
      path ? tree_.OwnAttribute(*path, name) : Result<std::string>(path.error());
  if (value) return ReplyAttribute(request, *value, size);
  if (path && value.code() == Code::kNotFound) {
    fuse_reply_err(request, ENODATA);
  } else {
    Refuse(request, "get an attribute of", path ? *path : "", value.error());
  }
}

void FuseMount::SetOwn(fuse_req_t request, const char* name, std::string_view value) {
  if (fuse_req_ctx(request)->uid != 0) {
    fuse_reply_err(request, EPERM);
    return;
  }
  const Status set = tree_.SetOwnAttribute(name, std::string(value));
  if (!set && set.code() == Code::kNotFound) {
    fuse_reply_err(request, EOPNOTSUPP);
  } else {
    Answer(request, "set an attribute of", "/", set);
  }
}

void FuseMount::GetExtended(fuse_req_t request, fuse_ino_t id, const char* name, size_t size) {
  const std::string_view of_user = OfUser(name);
  if (std::string_view(name).starts_with(kOwnPrefix)) return GetOwn(request, id, name, size);
  if (id == FUSE_ROOT_ID && std::string_view(name).starts_with(kControlPrefix))
    return GetControl(request, name, size);
  // The kernel asks for some of its own with every write. Programs that list files ask for others once only
  // if they hear that there never are any.
  if (of_user.empty()) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "get an attribute of", "", node.error());
  const auto all = AttributesOf(**node);
  if (!all) return Refuse(request, "get an attribute of", PathForLog(**node), all.error());
  const auto found = all->find(std::string(of_user));
  if (found == all->end()) {
    fuse_reply_err(request, ENODATA);
  } else {
    ReplyAttribute(request, found->second, size);
  }
}

void FuseMount::ListExtended(fuse_req_t request, fuse_ino_t id, size_t size) {
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "list attributes of", "", node.error());
  const auto all = AttributesOf(**node);
  if (!all) return Refuse(request, "list attributes of", PathForLog(**node), all.error());
  std::string names;
  for (const auto& [name, value] : *all) {
    names += kUserPrefix;
    names += name;
    names += '\0';
  }
  ReplyAttribute(request, names, size);
}

void FuseMount::SetExtended(fuse_req_t request, fuse_ino_t id, const char* name, std::string_view value,
                            int flags) {
  const std::string_view of_user = OfUser(name);
  if (std::string_view(name).starts_with(kOwnPrefix)) return SetOwn(request, name, value);
  if (of_user.empty() || of_user.starts_with(kControlPrefix)) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "set an attribute of", "", node.error());
  if (flags != 0) {
    const auto all = AttributesOf(**node);
    if (!all) return Refuse(request, "set an attribute of", PathForLog(**node), all.error());
    const bool there = all->contains(std::string(of_user));
    if (there == ((flags & XATTR_CREATE) != 0)) {
      fuse_reply_err(request, there ? EEXIST : ENODATA);
      return;
    }
  }
  const Status set = SetAttributeOf(**node, std::string(of_user), std::string(value));
  if (!set && set.code() == Code::kInvalidArgument) {
    fuse_reply_err(request, ENOSPC);  // they are too many, or too large together
    return;
  }
  Answer(request, "set an attribute of", PathForLog(**node), set);
}

void FuseMount::RemoveExtended(fuse_req_t request, fuse_ino_t id, const char* name) {
  const std::string of_user(OfUser(name));
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "remove an attribute of", "", node.error());
  const auto all = AttributesOf(**node);
  if (!all) return Refuse(request, "remove an attribute of", PathForLog(**node), all.error());
  if (!all->contains(of_user)) {
    fuse_reply_err(request, ENODATA);
    return;
  }
  Answer(request, "remove an attribute of", PathForLog(**node),
         SetAttributeOf(**node, of_user, std::nullopt));
}

}  // namespace xec
