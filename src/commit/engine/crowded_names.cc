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
  auto first = names_.end();
  for (auto it = names_.begin(); it != names_.end();) {
    const Seen& seen = it->second;
    const bool due = seen.taken == TimePoint::min() || now - seen.taken >= pause;
    if (due && !seen.crowded) {
      it = names_.erase(it);
      continue;
    }
    if (due && (first == names_.end() || seen.taken < first->second.taken)) first = it;
    ++it;
  }
  if (first == names_.end()) return std::nullopt;
  first->second = {.crowded = false, .taken = now};
  return first->first;
}

}  // namespace xec
