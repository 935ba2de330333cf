// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair_queue.hh"

#include <algorithm>

namespace xec {
namespace {

// A path contains no NUL.
std::string KeyOf(const ObjectPath& path, const Version& version) {
  return path.text() + '\0' + version.ToString();
}

}  // namespace

bool RepairQueue::MakeRoom(TimePoint now) {
  if (entries_.size() < kObjectsMax) return true;
  std::erase_if(entries_, [&](const auto& known) {
    return known.second.state == Entry::kResting && known.second.until <= now;
  });
  return entries_.size() < kObjectsMax;
}

void RepairQueue::Report(const ObjectPath& path, const Version& version, std::string problem, TimePoint now) {
  std::string key = KeyOf(path, version);
  MutexLock lock(mutex_);
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    const bool rested = known->second.state == Entry::kResting && known->second.until <= now;
    if (!rested) return;
    entries_.erase(known);
  }
  if (!MakeRoom(now)) {
    ++counts_.dropped;
    return;
  }
  ++counts_.reported;
  Entry entry{DamagedObject{path, version, std::move(problem)}};
  entry.until = now;
  entry.order = next_++;
  entries_.emplace(std::move(key), std::move(entry));
}

std::optional<DamagedObject> RepairQueue::Take(TimePoint now) {
  MutexLock lock(mutex_);
  Entry* first = nullptr;
  for (auto& [key, entry] : entries_) {
    if (entry.state != Entry::kWaiting || entry.until > now) continue;
    if (first == nullptr || entry.order < first->order) first = &entry;
  }
  if (first == nullptr) return std::nullopt;
  first->state = Entry::kTaken;
  return first->object;
}

bool RepairQueue::Finish(const DamagedObject& object, End end, TimePoint now) {
  MutexLock lock(mutex_);
  const auto known = entries_.find(KeyOf(object.path, object.version));
  if (known == entries_.end()) return true;
  Entry& entry = known->second;
  if (end == End::kRepaired) {
    entries_.erase(known);
    return true;
  }
  if (end == End::kFailed && ++entry.failures < kAttemptsMax) {
    Duration pause = kFirstPause;
    for (int i = 1; i < entry.failures; ++i) pause *= kPauseGrowth;
    entry.state = Entry::kWaiting;
    entry.until = now + pause;
    entry.order = next_++;
    return true;
  }
  entry.state = Entry::kResting;
  entry.until = now + kRestTime;
  if (end == End::kFailed) ++counts_.given_up;
  return end != End::kFailed;
}

RepairQueue::Counts RepairQueue::counts() const {
  MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.waiting = static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& known) {
    return known.second.state == Entry::kWaiting;
  }));
  return counts;
}

}  // namespace xec
