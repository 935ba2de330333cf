// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/crowded_names.hh"

namespace xec {

void CrowdedNames::Saw(const ObjectPath& name, size_t entries) {
  if (entries <= kEntriesMax) return;
  MutexLock lock(mutex_);
  const auto found = names_.find(name);
  if (found != names_.end()) {
    found->second.crowded = true;
  } else if (names_.size() < kNamesMax) {
    names_.emplace(name, Seen{});
  }
}

std::optional<ObjectPath> CrowdedNames::Take(TimePoint now, Duration pause) {
  MutexLock lock(mutex_);
  for (auto it = names_.begin(); it != names_.end();) {
    Seen& seen = it->second;
    const bool due = seen.taken == TimePoint::min() || now - seen.taken >= pause;
    if (due && seen.crowded) {
      seen = {.crowded = false, .taken = now};
      return it->first;
    }
    it = due ? names_.erase(it) : std::next(it);
  }
  return std::nullopt;
}

}  // namespace xec
