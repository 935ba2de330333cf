// SPDX-License-Identifier: LGPL-3.0-or-later
#include "audit/audit_log.hh"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hh"

namespace xec {
namespace {

constexpr mode_t kFileMode = 0640;

Error CannotWrite(const std::string& path) {
  return Fail(Code::kInvalidArgument, "the audit log {} cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

AuditLog::~AuditLog() {
  if (file_ >= 0) close(file_);
}

Status AuditLog::Open() {
  MutexLock lock(mutex_);
  return OpenFile();
}

Status AuditLog::OpenFile() {
  if (file_ >= 0) close(file_);
  // Somebody may have put a pipe there: changes do not wait for who reads it.
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, kFileMode);
  if (file_ < 0) return CannotWrite(path_);
  return OkStatus();
}

bool AuditLog::IsCurrent() {
  struct stat named = {}, opened = {};
  return file_ >= 0 && stat(path_.c_str(), &named) == 0 && fstat(file_, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

void AuditLog::Rotate() {
  // Of processes that find the file too long, the one that gets the lock while it has its name renames it.
  // The others go on with what is there.
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) return;
  if (IsCurrent()) {
    for (int number = kAuditFilesMax - 1; number > 0; --number) {
      const std::string from = number == 1 ? path_ : fmt::format("{}.{}", path_, number - 1);
      std::rename(from.c_str(), fmt::format("{}.{}", path_, number).c_str());
    }
  }
  flock(file_, LOCK_UN);
}

Status AuditLog::Append(const std::string& line) {
  if (!IsCurrent()) XEC_TRY(OpenFile());
  struct stat state = {};
  if (fstat(file_, &state) != 0) return CannotWrite(path_);
  if (state.st_size > 0 && static_cast<uint64_t>(state.st_size) + line.size() > options_.bytes_max) {
    Rotate();
    XEC_TRY(OpenFile());
  }
  // One call, so that lines of several processes do not mix.
  const ssize_t written = write(file_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return OkStatus();
  if (written < 0) return CannotWrite(path_);
  TakeBack(written);
  errno = ENOSPC;
  return CannotWrite(path_);
}

void AuditLog::TakeBack(off_t bytes) {
  const off_t end = lseek(file_, 0, SEEK_CUR);
  struct stat state = {};
  if (end < bytes || fstat(file_, &state) != 0 || state.st_size != end) return;
  [[maybe_unused]] const int cut = ftruncate(file_, end - bytes);
}

void AuditLog::Write(const AuditRecord& record, const Caller* caller) {
  const std::string line = FormatAudit(record, caller, options_.wall_ms(), options_.process) + "\n";
  std::string complaint;
  {
    MutexLock lock(mutex_);
    const Status written = Append(line);
    if (!written && lost_++ == 0) {
      complaint = fmt::format("{}; changes are not told until it can", written.error().message);
    } else if (written && lost_ > 0) {
      complaint = fmt::format("the audit log {} is written again; {} lines were lost", path_, lost_);
      lost_ = 0;
    }
  }
  if (!complaint.empty()) Log(LogLevel::kError, "audit", "{}", complaint);
}

}  // namespace xec
