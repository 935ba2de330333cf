// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/parent_cache.hh"

namespace xec {

bool ParentCache::Knows(const std::string& directory, TimePoint now) {
  std::lock_guard lock(mutex_);
  const auto found = until_.find(directory);
  return found != until_.end() && now < found->second;
}

void ParentCache::Learn(const std::string& directory, TimePoint now) {
  std::lock_guard lock(mutex_);
  // Rare and cheap to fill again, so no order of eviction is kept.
  if (until_.size() >= kEntriesMax) until_.clear();
  until_[directory] = now + kLifetime;
}

void ParentCache::Forget(const std::string& directory) {
  std::lock_guard lock(mutex_);
  until_.erase(directory);
}

void ParentCache::Clear() {
  std::lock_guard lock(mutex_);
  until_.clear();
}

}  // namespace xec
