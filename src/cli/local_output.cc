// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/local_output.hh"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.hh"
#include "base/text.hh"
#include "cli/owner.hh"
#include "cli/terminal.hh"
#include "server/local_root.hh"

namespace xec {
namespace {

bool IsDirectory(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
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
  const size_t slash = output.target_.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : output.target_.substr(0, slash + 1);
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
      temporary_(std::exchange(other.temporary_, "")) {}

LocalOutput::~LocalOutput() {
  if (temporary_.empty()) return;
  RemoveOnInterrupt("");
  const AsCaller caller;
  if (fd_ >= 0) close(fd_);
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
  const AsCaller caller;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Fail(CodeOfErrno(errno), "cannot write {}: {}", target_, ErrnoWords(errno));
  }
  RemoveOnInterrupt("");
  temporary_.clear();
  return OkStatus();
}

}  // namespace xec
