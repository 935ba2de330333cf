// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/given_up_files.hh"

#include <algorithm>

namespace xec {

void GivenUpFiles::Add(MemberIndex server, std::string path, std::string promoted) {
  MutexLock lock(mutex_);
  if (files_.size() >= kFilesMax) {
    const auto older = [](const auto& a, const auto& b) { return a.second.order < b.second.order; };
    files_.erase(std::min_element(files_.begin(), files_.end(), older));
  }
  const auto [file, added] =
      files_.try_emplace({server, std::move(path)}, File{.order = next_++, .promoted = std::move(promoted)});
  // It may have been missed before the last request that makes it was sent.
  if (!added && file->second.missed_since) {
    file->second.missed_since.reset();
    file->second.from = TimePoint::min();
  }
}

std::set<MemberIndex> GivenUpFiles::Servers(TimePoint now) const {
  std::set<MemberIndex> servers;
  MutexLock lock(mutex_);
  for (const auto& [key, file] : files_) {
    const auto paused = paused_.find(key.first);
    const bool may = paused == paused_.end() || paused->second <= now;
    if (may && !file.taken && file.from <= now) servers.insert(key.first);
  }
  return servers;
}

std::optional<GivenUpFiles::Taken> GivenUpFiles::Take(MemberIndex server, TimePoint now) {
  MutexLock lock(mutex_);
  // Those that failed before come after the others.
  auto best = files_.end();
  for (auto next = files_.lower_bound({server, {}}); next != files_.end(); ++next) {
    const auto& [key, file] = *next;
    if (key.first != server) break;
    if (file.taken || file.from > now) continue;
    if (best == files_.end() || file.from < best->second.from) best = next;
  }
  if (best != files_.end()) {
    best->second.taken = true;
    return Taken{best->first.second, best->second.promoted};
  }
  return std::nullopt;
}

bool GivenUpFiles::Ended(MemberIndex server, const std::string& path, const Status& done, TimePoint now) {
  const bool missing = !done && done.code() == Code::kNotFound;
  MutexLock lock(mutex_);
  const auto known = files_.find({server, path});
  if (known != files_.end()) {
    File& file = known->second;
    file.taken = false;
    if (missing && !file.missed_since) file.missed_since = now;
    if (done || (missing && now >= *file.missed_since + kLateCreation)) {
      files_.erase(known);
    } else if (missing) {
      const Duration missed_for = now - *file.missed_since;
      file.from = *file.missed_since + std::min(2 * missed_for + kMissedPause, kLateCreation);
    }
  }
  if (done || missing) return true;
  if (known != files_.end()) known->second.from = now + kPause;
  paused_[server] = now + kPause;
  return false;
}

std::vector<GivenUpFiles::Waiting> GivenUpFiles::TakeAll() {
  std::vector<Waiting> waiting;
  MutexLock lock(mutex_);
  for (auto& [key, file] : files_) {
    if (!file.taken) waiting.push_back({key.first, {key.second, std::move(file.promoted)}});
  }
  std::erase_if(files_, [](const auto& entry) { return !entry.second.taken; });
  return waiting;
}

size_t GivenUpFiles::size() const {
  MutexLock lock(mutex_);
  return files_.size();
}

}  // namespace xec
