// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "base/log.hh"
#include "mount/errno_of.hh"
#include "mount/fuse_mount.hh"
#include "runtime/buffer.hh"

namespace xec {
namespace {

OpenHow HowOf(int flags) {
  const int access = flags & O_ACCMODE;
  const bool writes = access != O_RDONLY;
  return {.reads = access != O_WRONLY, .writes = writes, .truncate = writes && (flags & O_TRUNC) != 0};
}

}  // namespace

Result<TreeEntry> FuseMount::CreateOrFind(const std::string& path, mode_t mode, bool exclusive,
                                          bool& created) {
  Result<TreeEntry> entry = tree_.CreateFile(path, mode & ALLPERMS);
  created = entry.has_value();
  if (!entry && entry.code() == Code::kAlreadyExists && !exclusive) entry = tree_.Stat(path);
  if (entry && entry->directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
  // The kernel, which follows links, looks the name up again.
  if (entry && entry->link) return Fail(Code::kNotCurrent, "{} is a link since", path);
  return entry;
}

void FuseMount::OpenFile(const NodePtr& node, bool same_pages, OpenHow how, fuse_file_info* file) {
  auto handle = std::make_unique<FileHandle>();
  handle->node = node;
  handle->how = how;
  file->fh = reinterpret_cast<uint64_t>(handle.release());
  file->keep_cache = same_pages ? 1 : 0;
}

Result<fuse_entry_param> FuseMount::CreateFile(const NodePtr& directory, const std::string& name, mode_t mode,
                                               fuse_file_info* file) {
  XEC_ASSIGN_OR_RETURN(const std::string path, nodes_.PathOf(*directory, name));
  bool created = false;
  XEC_ASSIGN_OR_RETURN(TreeEntry entry, CreateOrFind(path, mode, (file->flags & O_EXCL) != 0, created));
  const std::string version = entry.version;
  // What had the name before has been removed by another mount.
  if (created) nodes_.Removed(*directory, name);
  const NodePtr node = nodes_.LookedUp(directory, name, KindOf(entry));
  const OpenHow how = HowOf(file->flags);
  bool same_pages = false;
  if (created) {
    node->file.OpenCreated(how, version);
  } else {
    const Result<bool> opened = node->file.Open(how);
    if (!opened) {
      Forget(node->id, 1);
      return opened.error();
    }
    same_pages = *opened;
    entry = node->file.Seen(std::move(entry));
  }
  OpenFile(node, same_pages, how, file);
  return EntryOf(*node, entry);
}

void FuseMount::Create(fuse_req_t request, fuse_ino_t directory, const char* name, mode_t mode,
                       fuse_file_info* file) {
  const Result<NodePtr> above = NodeOf(directory);
  Result<fuse_entry_param> created =
      above ? CreateFile(*above, name, mode, file) : Result<fuse_entry_param>(above.error());
  if (!created) return Refuse(request, "create", name, created.error());
  if (fuse_reply_create(request, &*created, file) == 0) return;
  // Nobody will close it.
  const std::unique_ptr<FileHandle> handle(reinterpret_cast<FileHandle*>(file->fh));
  (void)handle->node->file.Close(handle->how);
  Forget(handle->node->id, 1);
}

void FuseMount::Open(fuse_req_t request, fuse_ino_t id, fuse_file_info* file) {
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "open", "", node.error());
  const OpenHow how = HowOf(file->flags);
  const Result<bool> same_pages = (*node)->file.Open(how);
  if (!same_pages) return RefuseKnown(request, "open", **node, same_pages.error());
  // Another version has another size and time than what the kernel was told.
  if (!*same_pages && session_ != nullptr) fuse_lowlevel_notify_inval_inode(session_, id, -1, 0);
  OpenFile(*node, *same_pages, how, file);
  if (fuse_reply_open(request, file) == 0) return;
  const std::unique_ptr<FileHandle> handle(reinterpret_cast<FileHandle*>(file->fh));
  (void)(*node)->file.Close(how);
}

void FuseMount::Read(fuse_req_t request, size_t size, off_t offset, fuse_file_info* file) {
  const auto& handle = *reinterpret_cast<const FileHandle*>(file->fh);
  const auto buffer = Buffer::Allocate(size);
  const Result<uint64_t> got =
      handle.node->file.Read(static_cast<uint64_t>(offset), buffer->span().first(size));
  if (!got) return Refuse(request, "read", PathForLog(*handle.node), got.error());
  fuse_reply_buf(request, reinterpret_cast<const char*>(buffer->data()), *got);
}

void FuseMount::Write(fuse_req_t request, const char* bytes, size_t size, off_t offset,
                      fuse_file_info* file) {
  const auto& handle = *reinterpret_cast<const FileHandle*>(file->fh);
  // The kernel's idea of the end may be older than the file. Pages of a map have their places.
  const bool appends = (file->flags & O_APPEND) != 0 && file->writepage == 0;
  std::optional<uint64_t> at;
  if (!appends) at = static_cast<uint64_t>(offset);
  const Status written =
      handle.node->file.Write(at, ByteSpan(reinterpret_cast<const std::byte*>(bytes), size));
  if (!written) return Refuse(request, "write", PathForLog(*handle.node), written.error());
  fuse_reply_write(request, size);
}

void FuseMount::Flush(fuse_req_t request, fuse_file_info* file, const char* what) {
  const auto& handle = *reinterpret_cast<const FileHandle*>(file->fh);
  const Status committed = handle.how.writes ? handle.node->file.Commit() : OkStatus();
  Answer(request, what, PathForLog(*handle.node), committed);
}

void FuseMount::Release(fuse_req_t request, fuse_file_info* file) {
  const std::unique_ptr<FileHandle> handle(reinterpret_cast<FileHandle*>(file->fh));
  const Status closed = handle->node->file.Close(handle->how);
  if (!closed) {
    Log(LogLevel::kError, "mount", "the last changes of {} are lost: {}", PathForLog(*handle->node),
        closed.error().ToString());
  }
  fuse_reply_err(request, 0);
}

bool FuseMount::Tend() {
  const std::vector<NodePtr> files = nodes_.InUse();
  for (const NodePtr& node : files) node->file.Tend(std::chrono::steady_clock::now());
  const TreeLine line = tree_.Line();
  const TreeLine before = std::exchange(line_, line);
  const bool stands = before.waiting > 0 && before.waited == line.waited;
  if (stands) MakeRoom(files, line.waiting);
  return line.waiting > 0;
}

void FuseMount::CommitIdle() {
  for (const NodePtr& node : nodes_.InUse()) node->file.CommitIfIdle(std::chrono::steady_clock::now());
}

// Uploads that go on may do so for hours. The small ones lose least: what is longer than a stripe is written
// twice.
void FuseMount::MakeRoom(const std::vector<NodePtr>& files, size_t uploads) {
  std::vector<std::pair<uint64_t, MountedFile*>> changed;
  for (const NodePtr& node : files) {
    if (node->file.changed()) changed.emplace_back(node->file.Seen({}).size, &node->file);
  }
  std::sort(changed.begin(), changed.end());
  for (const auto& [size, file] : changed) {
    if (uploads == 0) return;
    if (file->GiveMemoryBack()) --uploads;
  }
}

void FuseMount::CommitAll() {
  for (const NodePtr& node : nodes_.InUse()) {
    const Result<std::string> path = nodes_.PathOf(*node);
    if (!path || !node->file.changed()) continue;
    const uint64_t bytes = node->file.Seen({}).size;
    const Status committed = node->file.Commit();
    if (committed) {
      Log(LogLevel::kWarning, "mount", "{} was open for writing: the {} bytes that it had are stored", *path,
          bytes);
    } else {
      Log(LogLevel::kError, "mount", "{} was open for writing: its changes are lost: {}", *path,
          committed.error().ToString());
    }
  }
}

}  // namespace xec
