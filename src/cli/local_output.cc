// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/local_output.hh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.hh"
#include "base/text.hh"
#include "cli/owner.hh"
#include "cli/terminal.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// The file at the end of symbolic links: they stay, what they lead to is replaced.
Result<std::string> FollowLinks(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  char* const real = realpath(path.c_str(), nullptr);
  if (!real) return Fail(CodeOfErrno(errno), "cannot write {}, a symbolic link: {}", path, ErrnoWords(errno));
  std::string result = real;
  std::free(real);
  return result;
}

}  // namespace

Result<LocalOutput> LocalOutput::Open(const std::string& target, const std::string& name_in_directory) {
  const AsCaller caller;
  LocalOutput output;
  if (target == "-") {
    output.fd_ = STDOUT_FILENO;
    output.target_ = target;
    return output;
  }
  output.target_ =
      IsDirectory(target) ? target + (target.ends_with('/') ? "" : "/") + name_in_directory : target;
  if (IsDirectory(output.target_)) return Fail(Code::kIsDirectory, "{} is a directory", output.target_);
  struct stat status = {};
  if (stat(output.target_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    output.fd_ = open(output.target_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (output.fd_ < 0)
      return Fail(CodeOfErrno(errno), "cannot write {}: {}", output.target_, ErrnoWords(errno));
    return output;
  }
  XEC_ASSIGN_OR_RETURN(output.file_, FollowLinks(output.target_));
  const size_t slash = output.file_.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : output.file_.substr(0, slash + 1);
  output.temporary_ = fmt::format("{}.xec-{}.part", folder, Hex(SystemSeed(), 16));
  output.fd_ = open(output.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (output.fd_ < 0) {
    const int error = errno;
    output.temporary_.clear();
    return Fail(CodeOfErrno(error), "cannot write {}: {}", output.target_, ErrnoWords(error));
  }
  RemoveOnInterrupt(output.temporary_);
  return output;
}

LocalOutput::LocalOutput(LocalOutput&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      target_(std::move(other.target_)),
      file_(std::move(other.file_)),
      temporary_(std::exchange(other.temporary_, "")) {}

LocalOutput::~LocalOutput() {
  if (fd_ >= 0 && !standard_output()) close(fd_);
  if (temporary_.empty()) return;
  RemoveOnInterrupt("");
  const AsCaller caller;
  unlink(temporary_.c_str());
}

Status LocalOutput::Write(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fail(CodeOfErrno(errno), "cannot write {}: {}", target_, ErrnoWords(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return OkStatus();
}

Status LocalOutput::Finish() {
  if (standard_output()) return OkStatus();
  // Delayed errors of the file system show up here.
  if (close(std::exchange(fd_, -1)) != 0)
    return Fail(CodeOfErrno(errno), "cannot write {}: {}", target_, ErrnoWords(errno));
  if (temporary_.empty()) return OkStatus();
  const AsCaller caller;
  if (rename(temporary_.c_str(), file_.c_str()) != 0) {
    return Fail(CodeOfErrno(errno), "cannot write {}: {}", target_, ErrnoWords(errno));
  }
  RemoveOnInterrupt("");
  temporary_.clear();
  return OkStatus();
}

}  // namespace xec
