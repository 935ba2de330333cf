// SPDX-License-Identifier: LGPL-3.0-or-later
// The disk below a LocalServer of the conformance suite. The server runs in this process, so its calls of
// fsync are seen (those of the C library are replaced). After a power cut a directory has the names that it
// had when it was synced last, as far as the files are still anywhere; what was removed does not come back.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <sys/types.h>

#include "server/conformance_disk.hh"

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
  void TakeAllForDurable();
  void LoseBelow(const std::filesystem::path& directory);

  const std::filesystem::path root_;
  std::mutex mutex_;
  using Names = std::map<std::string, ino_t>;
  std::map<ino_t, Names> durable_;  // by directory; guarded by mutex_
};

}  // namespace xec
