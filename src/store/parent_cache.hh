// SPDX-License-Identifier: LGPL-3.0-or-later
// Directories that were seen to exist a moment ago, so that writing many objects into one directory does not
// look it up each time. Only "exists" is kept, for a short time. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "runtime/executor.hh"

namespace xec {

class ParentCache {
 public:
  static constexpr size_t kEntriesMax = 10000;
  static constexpr Duration kLifetime = std::chrono::seconds(10);

  bool Knows(const std::string& directory, TimePoint now);
  void Learn(const std::string& directory, TimePoint now);
  void Forget(const std::string& directory);
  void Clear();

 private:
  std::mutex mutex_;
  std::map<std::string, TimePoint> until_;  // guarded by mutex_
};

}  // namespace xec
