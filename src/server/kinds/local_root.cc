// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/local_root.hh"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace xec {

std::string ErrnoWords(int error) { return std::generic_category().message(error); }

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

Code CodeOfErrno(int error) {
  switch (error) {
    case ENOENT: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EISDIR: return Code::kIsDirectory;
    case ENOTDIR: return Code::kNotDirectory;
    case ENOTEMPTY: return Code::kNotEmpty;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return Code::kNoSpace;
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP: return Code::kInvalidArgument;
    case EOPNOTSUPP:
    case EXDEV: return Code::kUnsupported;
    case EBADF:
    case EFAULT: return Code::kInternal;
    default: return Code::kUnavailable;
  }
}

Error ErrnoError(int error, std::string_view verb, std::string_view path, std::string_view server) {
  return Fail(CodeOfErrno(error), "{} {} on {}: {}", verb, path, server, ErrnoWords(error));
}

LocalRoot::LocalRoot(std::string path, std::optional<LocalIdentity> identity)
    : path_(std::move(path)), identity_(std::move(identity)) {}

Result<std::shared_ptr<UniqueFd>> LocalRoot::Open() {
  MutexLock lock(mutex_);
  struct stat now = {};
  if (stat(path_.c_str(), &now) != 0) {
    const int error = errno;
    root_.reset();
    return Fail(Code::kUnavailable, "root directory {} cannot be used: {}", path_, ErrnoWords(error));
  }
  if (root_ && now.st_dev == device_ && now.st_ino == inode_) return root_;

  root_.reset();
  auto root = std::make_shared<UniqueFd>(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!*root)
    return Fail(Code::kUnavailable, "root directory {} cannot be opened: {}", path_, ErrnoWords(errno));
  XEC_TRY(CheckIdentity(root->get()));
  struct stat opened = {};
  if (fstat(root->get(), &opened) != 0) {
    return Fail(Code::kUnavailable, "root directory {} cannot be used: {}", path_, ErrnoWords(errno));
  }
  root_ = root;
  device_ = opened.st_dev;
  inode_ = opened.st_ino;
  return root;
}

Status LocalRoot::CheckIdentity(int root) const {
  if (!identity_) return OkStatus();
  const UniqueFd file(openat(root, Relative(identity_->path), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return Fail(Code::kUnavailable, "root directory {} has no readable {} ({}): it is not the expected one",
                path_, identity_->path, ErrnoWords(errno));
  }
  std::array<char, kIdentityBytesMax + 1> bytes;
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = pread(file.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return Fail(Code::kUnavailable, "cannot read {} of {}: {}", identity_->path, path_, ErrnoWords(errno));
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  if (std::string_view(bytes.data(), got) != identity_->content) {
    return Fail(Code::kUnavailable, "root directory {} belongs to somebody else: its {} differs", path_,
                identity_->path);
  }
  return OkStatus();
}

Error LocalRoot::Missing(const std::shared_ptr<UniqueFd>& used, std::string_view verb,
                         std::string_view path) {
  const Result<std::shared_ptr<UniqueFd>> now = Open();
  if (!now) return now.error();
  if (*now != used) {
    return Fail(Code::kUnavailable, "root directory {} was replaced during {} {}", path_, verb, path);
  }
  if (const Status same = CheckIdentity(used->get()); !same) return same.error();
  return ErrnoError(ENOENT, verb, path, path_);
}

}  // namespace xec
