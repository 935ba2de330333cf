// SPDX-License-Identifier: LGPL-3.0-or-later
// LocalRoot: the root directory of a local server, and the proof that it is still the right one.
//
// A name that is missing below a root that was unmounted, renamed away or replaced proves nothing, so every
// operation on a path first compares the directory now at the root's path with the one held open, and after
// ENOENT does so again, then also reads the identity file (promise P6).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/mutex.hh"
#include "base/result.hh"

namespace xec {

// A file descriptor that closes itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The one table from errno to Code. A server's own trouble (EIO, ESTALE, out of handles) is kUnavailable:
// another server may still answer, and after a mutating request the outcome is open. A full disk or quota
// is kNoSpace; EACCES, EPERM and EROFS are kPermissionDenied; bad names (too long, loops) kInvalidArgument.
Code CodeOfErrno(int error);

// The system's words for an errno.
std::string ErrnoWords(int error);

// "create /a/b on /data/d01: No space left on device" with the code of the table.
Error ErrnoError(int error, std::string_view verb, std::string_view path, std::string_view server);

// A file below the root whose content says whose root it is.
struct LocalIdentity {
  std::string path;     // absolute within the root, e.g. "/.xec/server"
  std::string content;  // at most kIdentityBytesMax
};

constexpr size_t kIdentityBytesMax = 4096;

// Thread-safe. Blocking.
class LocalRoot {
 public:
  LocalRoot(std::string path, std::optional<LocalIdentity> identity);

  const std::string& path() const { return path_; }

  // The open root directory, opened (again) when it was not or when another directory is now at its path.
  // Error: kUnavailable when there is none, or when it has not the expected identity.
  Result<std::shared_ptr<UniqueFd>> Open();

  // The answer to ENOENT below `used`: kNotFound only if `used` is still the directory at the root's path
  // and has the expected identity; else kUnavailable.
  Error Missing(const std::shared_ptr<UniqueFd>& used, std::string_view verb, std::string_view path);

 private:
  Status CheckIdentity(int root) const;

  const std::string path_;
  const std::optional<LocalIdentity> identity_;
  Mutex mutex_;
  std::shared_ptr<UniqueFd> root_ XEC_GUARDED_BY(mutex_);
  dev_t device_ XEC_GUARDED_BY(mutex_) = 0;
  ino_t inode_ XEC_GUARDED_BY(mutex_) = 0;
};

// "a/b" for "/a/b", "." for "/": what openat and its kin want.
inline const char* Relative(const std::string& path) { return path.size() == 1 ? "." : path.c_str() + 1; }

}  // namespace xec
