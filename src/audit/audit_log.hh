// SPDX-License-Identifier: LGPL-3.0-or-later
// The file of the audit log.
#pragma once

#include <functional>
#include <string>

#include "audit/audit_record.hh"
#include "base/mutex.hh"
#include "base/result.hh"

namespace xec {

// A file that would be longer becomes FILE.1, which was there FILE.2, and so on.
inline constexpr uint64_t kAuditFileBytesMax = 64ull << 20;
// FILE and those, at most; older ones are removed.
inline constexpr int kAuditFilesMax = 10;

// Any thread. Other processes may write to the same file, and somebody else may rotate it.
class AuditLog {
 public:
  struct Options {
    std::string process;                  // in each line, "" for none
    std::function<int64_t()> wall_ms;     // milliseconds since 1970
    uint64_t bytes_max = kAuditFileBytesMax;
  };

  // The file is opened with the first line: a command that changes nothing needs no right to write there.
  AuditLog(std::string path, Options options) : path_(std::move(path)), options_(std::move(options)) {}
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // At once. Fails if the file cannot be opened to append to it.
  Status Open();

  // Appends a line. Waits for the disk's cache, not for the disk.
  void Write(const AuditRecord& record, const Caller* caller);

 private:
  Status OpenFile() XEC_REQUIRES(mutex_);
  // Whether `path_` is still the file that is open.
  bool IsCurrent() XEC_REQUIRES(mutex_);
  void Rotate() XEC_REQUIRES(mutex_);
  Status Append(const std::string& line) XEC_REQUIRES(mutex_);
  // The beginning of a line that did not fit, unless another process has written behind it.
  void TakeBack(off_t bytes) XEC_REQUIRES(mutex_);

  const std::string path_;
  const Options options_;
  Mutex mutex_{LockRank::kLeaf};
  int file_ XEC_GUARDED_BY(mutex_) = -1;
  uint64_t lost_ XEC_GUARDED_BY(mutex_) = 0;  // lines, since one was written
};

}  // namespace xec
