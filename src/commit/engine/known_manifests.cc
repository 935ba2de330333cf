// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/known_manifests.hh"

namespace xec {

KnownManifests::ManifestPtr KnownManifests::Find(const std::string& version, TimePoint now) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(version);
  return found != entries_.end() && now < found->second.until ? found->second.manifest : nullptr;
}

void KnownManifests::Keep(const std::string& version, ManifestPtr manifest, TimePoint now) {
  MutexLock lock(mutex_);
  if (entries_.size() >= kEntriesMax)
    std::erase_if(entries_, [now](const auto& known) { return known.second.until <= now; });
  // Filling it again is cheap, so no order of eviction is kept.
  if (entries_.size() >= kEntriesMax) entries_.clear();
  entries_[version] = Entry{std::move(manifest), now + kLifetime};
}

}  // namespace xec
