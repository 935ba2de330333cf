// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/remote_file.hh"

#include <utility>

namespace xec {

bool IsLost(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kUnknown;
}

RemoteFile::RemoteFile(std::shared_ptr<OpenFile> open, Again again)
    : again_(std::move(again)),
      open_(std::move(open)),
      identity_(open_->told().identity),
      used_(open_->Now()) {}

Result<std::shared_ptr<OpenFile>> RemoteFile::Use() {
  std::string expected;
  {
    MutexLock lock(mutex_);
    while (opening_) opened_.Wait(mutex_);
    if (open_) {
      used_ = open_->Now();
      return open_;
    }
    opening_ = true;
    expected = identity_;
  }
  Result<std::shared_ptr<OpenFile>> opened = again_();
  if (opened && !expected.empty() && (*opened)->told().identity != expected)
    opened =
        Fail(Code::kNotCurrent, "{} is another file now than the one that was opened", (*opened)->path());
  const MutexLock lock(mutex_);
  opening_ = false;
  opened_.NotifyAll();
  if (!opened) return opened;
  open_ = *opened;
  used_ = open_->Now();
  return opened;
}

void RemoteFile::Lost(const std::shared_ptr<OpenFile>& open) {
  std::shared_ptr<OpenFile> gone;
  const MutexLock lock(mutex_);
  if (open_ == open) gone = std::exchange(open_, nullptr);
}

std::shared_ptr<OpenFile> RemoteFile::Take(std::string identity) {
  const MutexLock lock(mutex_);
  identity_ = std::move(identity);
  return std::exchange(open_, nullptr);
}

void RemoteFile::CloseIfIdleSince(TimePoint time) {
  std::shared_ptr<OpenFile> idle;
  const MutexLock lock(mutex_);
  if (open_ && used_ < time) idle = std::exchange(open_, nullptr);
}

}  // namespace xec
