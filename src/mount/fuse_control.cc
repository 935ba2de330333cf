// SPDX-License-Identifier: LGPL-3.0-or-later
#include <cerrno>
#include <unistd.h>

#include "base/log.hh"
#include "mount/fuse_mount.hh"

namespace xec {

bool FuseMount::MayControl(fuse_req_t request) const {
  const uid_t uid = fuse_req_ctx(request)->uid;
  return uid == 0 || uid == getuid();
}

std::string FuseMount::StatusText() const {
  MountStatus status = {.identity = identity_, .since_ms = since_ms_, .threads = options_.threads};
  // This one is none of them.
  status.requests = requests_.load() - 1;
  for (const NodePtr& node : nodes_.InUse()) {
    ++status.open_files;
    const Result<std::string> path = nodes_.PathOf(*node);
    if (path && node->file.changed()) status.changed.push_back({*path, node->file.Seen({}).size});
  }
  status.tree = tree_.State();
  return FormatMountStatus(status);
}

void FuseMount::GetControl(fuse_req_t request, std::string_view name, size_t size) {
  if (!MayControl(request)) {
    fuse_reply_err(request, EPERM);
  } else if (name != kStatusAttribute && name != kFlushAttribute) {
    fuse_reply_err(request, ENODATA);
  } else if (size == 0) {
    // Only to be told the size nobody asks for anything to be done.
    fuse_reply_xattr(request, kAttributeBytesMax);
  } else if (name == kFlushAttribute) {
    {
      const MutexLock lock(mutex_);
      want_flush_.push_back({request, size});
    }
    flusher_();
  } else {
    ReplyAttribute(request, StatusText(), size);
  }
}

MountFlushed FuseMount::FlushAll() {
  MountFlushed flushed;
  for (const NodePtr& node : nodes_.InUse()) {
    const Result<std::string> path = nodes_.PathOf(*node);
    if (!path || !node->file.changed()) continue;
    const Status committed = node->file.Commit();
    if (committed) {
      ++flushed.committed;
    } else {
      Log(LogLevel::kWarning, "mount", "{} is not committed: {}", *path, committed.error().ToString());
      flushed.failed.push_back({*path, committed.error()});
    }
  }
  tree_.ForgetNames();
  for (const KnownName& known : nodes_.Names()) {
    fuse_lowlevel_notify_inval_inode(session_, known.id, -1, 0);
    fuse_lowlevel_notify_inval_entry(session_, known.directory, known.name.c_str(), known.name.size());
  }
  return flushed;
}

void FuseMount::FlushForThoseWhoAsked() {
  std::vector<WantsFlush> asked;
  {
    const MutexLock lock(mutex_);
    asked.swap(want_flush_);
  }
  if (asked.empty()) return;
  const std::string told = FormatMountFlushed(FlushAll());
  for (const WantsFlush& one : asked) ReplyAttribute(one.request, told, one.size);
}

}  // namespace xec
