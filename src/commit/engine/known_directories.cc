// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/known_directories.hh"

namespace xec {

void KnownDirectories::Learn(const ObjectPath& directory, const Version& version, TimePoint asked) {
  MutexLock lock(mutex_);
  // This is rare, and filling it again is cheap, so no order of eviction is kept.
  if (seen_.size() >= kEntriesMax) seen_.clear();
  Seen& seen = seen_[directory];
  if (seen.asked <= asked) seen = {version, asked};
}

std::optional<Version> KnownDirectories::Known(const ObjectPath& directory, TimePoint now,
                                               Duration no_longer_ago) const {
  MutexLock lock(mutex_);
  const auto found = seen_.find(directory);
  if (found == seen_.end() || now - found->second.asked > no_longer_ago) return std::nullopt;
  return found->second.version;
}

void KnownDirectories::Forget(const ObjectPath& directory) {
  MutexLock lock(mutex_);
  seen_.erase(directory);
}

void KnownDirectories::Clear() {
  MutexLock lock(mutex_);
  seen_.clear();
}

}  // namespace xec
