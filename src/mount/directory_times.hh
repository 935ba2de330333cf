// SPDX-License-Identifier: LGPL-3.0-or-later
// DirectoryTimes: when the entries of directories were changed here. Nothing else keeps that: a new name
// would be a write to all servers that know of its directory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/mutex.hh"

namespace xec {

// Thread-safe; does not block. The oldest changes of more than kDirectoriesMax directories are forgotten.
class DirectoryTimes {
 public:
  static constexpr size_t kDirectoriesMax = 10'000;

  explicit DirectoryTimes(size_t directories_max = kDirectoriesMax) : directories_max_(directories_max) {}

  void Changed(const std::string& directory, int64_t now_ns) {
    const MutexLock lock(mutex_);
    Erase(directory);
    changes_.push_front({directory, now_ns});
    places_[directory] = changes_.begin();
    if (changes_.size() <= directories_max_) return;
    places_.erase(changes_.back().directory);
    changes_.pop_back();
  }

  // Another time was set, or the name is of another directory now.
  void Forget(const std::string& directory) {
    const MutexLock lock(mutex_);
    Erase(directory);
  }

  // `mtime_ns`: that the tree tells.
  int64_t TimeOf(const std::string& directory, int64_t mtime_ns) const {
    const MutexLock lock(mutex_);
    const auto found = places_.find(directory);
    return found == places_.end() ? mtime_ns : std::max(mtime_ns, found->second->at_ns);
  }

 private:
  struct Change {
    std::string directory;
    int64_t at_ns;
  };

  void Erase(const std::string& directory) XEC_REQUIRES(mutex_) {
    const auto found = places_.find(directory);
    if (found == places_.end()) return;
    changes_.erase(found->second);
    places_.erase(found);
  }

  const size_t directories_max_;
  mutable Mutex mutex_;
  std::list<Change> changes_ XEC_GUARDED_BY(mutex_);  // the last one first
  std::unordered_map<std::string, std::list<Change>::iterator> places_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
