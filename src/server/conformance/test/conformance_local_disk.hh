// SPDX-License-Identifier: LGPL-3.0-or-later
// The disk below a LocalServer of the conformance suite. The server runs in this process, so its calls of
// fsync are seen (those of the C library are replaced). After a power cut a directory has the names that it
// had when it was synced last, as far as the files are still anywhere; what was removed does not come back.
#pragma once

#include <filesystem>
#include <map>
#include <sys/types.h>

#include "base/mutex.hh"
#include "server/conformance/conformance_disk.hh"

namespace xec {

// One at a time in a process. What is below the root when it is made is on stable storage.
class LocalConformanceDisk final : public ConformanceDisk {
 public:
  explicit LocalConformanceDisk(std::string root);
  ~LocalConformanceDisk() override;

  void TakeAway(bool mount_point) override;
  void BringBack() override;
  void CutPower() override;

  // fsync was called on this file.
  void NoteSynced(int file);

 private:
  void TakeAllForDurable() XEC_REQUIRES(mutex_);
  void LoseBelow(const std::filesystem::path& directory) XEC_REQUIRES(mutex_);

  const std::filesystem::path root_;
  Mutex mutex_;
  using Names = std::map<std::string, ino_t>;
  std::map<ino_t, Names> durable_ XEC_GUARDED_BY(mutex_);  // by directory
};

}  // namespace xec
