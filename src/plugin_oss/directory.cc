// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/directory.hh"

#include <algorithm>
#include <cstring>

#include "plugin_oss/opaque.hh"
#include "runtime/sync_wait.hh"

namespace xec {

int Directory::Opendir(const char* path, XrdOucEnv& env) {
  return Guarded("list", [&] {
    // All of it, as XRootD takes an error of Readdir for the end of the list.
    Result<std::vector<ListedName>> names = SyncWait(ListAll(gateway_.store(), path));
    if (!names) return Failed({"list", path, client_}, names.error());
    names_ = std::move(*names);
    path_ = path;
    tell_as_ = TellAsOf(OpaqueOf(&env));
    next_ = 0;
    open_ = true;
    return 0;
  });
}

int Directory::Readdir(char* buffer, int length) {
  if (!open_) return -EBADF;
  if (next_ == names_.size()) {
    *buffer = '\0';
    return 0;
  }
  const ListedName& name = names_[next_];
  // XRootD has room for names of 254 bytes, so a name of 255 is cut as stock xrootd cuts it.
  const size_t size = std::min(name.name.size(), static_cast<size_t>(length) - 1);
  std::memcpy(buffer, name.name.data(), size);
  buffer[size] = '\0';
  if (stat_ != nullptr) {
    ObjectInfo info;
    info.directory = name.directory;
    info.size = name.size;
    info.mtime_ms = name.mtime_ms;
    info.version = name.version;
    info.settings = name.settings;
    FillStat(gateway_, path_ + "/" + name.name, info, stat_, tell_as_);
    if (tell_as_ == TellAs::kMount && !name.settings_known) stat_->st_dev = stat_->st_ino = 0;
  }
  ++next_;
  return 0;
}

int Directory::StatRet(struct stat* out) {
  if (!open_) return -EBADF;
  stat_ = out;
  return 0;
}

int Directory::Close(long long*) {
  if (!open_) return -EBADF;
  open_ = false;
  names_.clear();
  return 0;
}

}  // namespace xec
