// SPDX-License-Identifier: LGPL-3.0-or-later
// A file of the operator that is read again when it changes, so that nobody restarts a gateway for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>

#include "base/log.hh"
#include "base/mutex.hh"
#include "base/result.hh"

namespace xec {

// The whole text of a file, with its state in `read`.
Result<std::string> ReadFollowed(const std::string& path, struct stat* read);

// Whether the file is another one, or has changed.
bool HasChanged(const std::string& path, const struct stat& read);

// What `parse` makes of the file's text. A file that becomes unreadable or wrong is told once, and what it
// said before stays. Any thread.
template <typename Value>
class FollowedFile {
 public:
  using Parse = Result<Value> (*)(std::string_view text);

  // For Open only: it has not been read.
  FollowedFile(std::string path, Parse parse) : path_(std::move(path)), parse_(parse) {}

  // Fails if the file cannot be read or is wrong.
  static Result<std::unique_ptr<FollowedFile>> Open(std::string path, Parse parse) {
    auto file = std::make_unique<FollowedFile>(std::move(path), parse);
    MutexLock lock(file->mutex_);
    XEC_TRY(file->Read());
    return file;
  }

  std::shared_ptr<const Value> Current() {
    std::string complaint;
    std::shared_ptr<const Value> value;
    {
      MutexLock lock(mutex_);
      if (HasChanged(path_, read_)) {
        const Status read = Read();
        if (!read && !told_) complaint = read.error().message;
        told_ = !read;
      }
      value = value_;
    }
    if (!complaint.empty()) Log(LogLevel::kError, "access", "{}; what it said before stays", complaint);
    return value;
  }

 private:
  Status Read() XEC_REQUIRES(mutex_) {
    XEC_ASSIGN_OR_RETURN(const std::string text, ReadFollowed(path_, &read_));
    Result<Value> value = parse_(text);
    if (!value) return Fail(value.error().code, "{}: {}", path_, value.error().message);
    value_ = std::make_shared<const Value>(std::move(*value));
    return OkStatus();
  }

  const std::string path_;
  const Parse parse_;
  Mutex mutex_{LockRank::kLeaf};
  struct stat read_ XEC_GUARDED_BY(mutex_) = {};
  bool told_ XEC_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Value> value_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
