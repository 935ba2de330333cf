// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/known_space.hh"

#include <algorithm>

#include <fmt/format.h>

namespace xec {

void KnownSpace::Expect(TimePoint now) {
  MutexLock lock(mutex_);
  if (!first_until_) first_until_ = now + kFirstWait;
}

bool KnownSpace::IsAwaited(TimePoint now) const {
  MutexLock lock(mutex_);
  return first_until_ && now < *first_until_ && disks_.empty();
}

void KnownSpace::Note(std::map<std::string, Space> heard, TimePoint now) {
  MutexLock lock(mutex_);
  if (!first_until_) first_until_ = now;
  for (const auto& [id, space] : heard) {
    const std::string& system = space.filesystem;
    disk_of_[id] = system.empty() ? "of " + id : system;
    disks_[disk_of_[id]] = Disk{.total = space.total_bytes, .free = space.free_bytes, .at = now};
  }
  // What is old is of members that are gone, or silent for long.
  for (auto member = disk_of_.begin(); member != disk_of_.end();) {
    const bool old = now - disks_.at(member->second).at > kKnownFor;
    member = old ? disk_of_.erase(member) : std::next(member);
  }
  for (auto& [name, disk] : disks_) disk.members = 0;
  for (const auto& [id, name] : disk_of_) ++disks_.at(name).members;
  std::erase_if(disks_, [](const auto& disk) { return disk.second.members == 0; });
}

void KnownSpace::NoteWritten(const std::string& id, uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto name = disk_of_.find(id);
  if (name == disk_of_.end()) return;
  Disk& disk = disks_.at(name->second);
  disk.free -= std::min(disk.free, bytes);
}

void KnownSpace::NoteFull(const std::string& id) {
  MutexLock lock(mutex_);
  const auto name = disk_of_.find(id);
  if (name != disk_of_.end()) disks_.at(name->second).free = 0;
}

const KnownSpace::Disk* KnownSpace::DiskOf(const std::string& id) const {
  const auto name = disk_of_.find(id);
  return name == disk_of_.end() ? nullptr : &disks_.at(name->second);
}

KnownSpace::Room KnownSpace::RoomOf(const StoreDescriptor& descriptor, TimePoint now) const {
  const size_t count = descriptor.members.size();
  Room room;
  room.full.resize(count, false);
  std::vector<std::optional<double>> known(count);
  double sum = 0;
  size_t heard = 0;
  {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < count; ++i) {
      const Disk* const disk = DiskOf(descriptor.members[i].id);
      if (disk == nullptr || now - disk->at > kKnownFor) continue;
      const uint64_t reserve = reserve_.Of(disk->total);
      room.full[i] = disk->free < reserve;
      if (room.full[i]) ++room.full_count;
      known[i] = static_cast<double>(disk->free - std::min(disk->free, reserve)) /
                 static_cast<double>(disk->members);
      sum += *known[i];
      ++heard;
    }
  }
  if (sum == 0) return room;
  for (const std::optional<double>& weight : known)
    room.weights.push_back(weight.value_or(sum / static_cast<double>(heard)));
  return room;
}

std::string KnownSpace::WhyFull(const std::string& id) const {
  MutexLock lock(mutex_);
  const Disk* const disk = DiskOf(id);
  if (disk == nullptr) return "its space is not known";
  return fmt::format("{} are free, and {} are its reserve", FormatSize(disk->free),
                     FormatSize(reserve_.Of(disk->total)));
}

bool KnownSpace::IsTight() const {
  MutexLock lock(mutex_);
  return std::any_of(disks_.begin(), disks_.end(),
                     [&](const auto& disk) { return disk.second.free < 2 * reserve_.Of(disk.second.total); });
}

}  // namespace xec
