// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/disk_clocks.hh"

#include <algorithm>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr uint64_t kMillisPerSecond = 1000;
// Year 10000: what no gateway's clock says, and formats still can.
constexpr DiskTime kDiskTimeMax = 253'402'300'799'999;

}  // namespace

DiskTime ShownReadings::Newest() const {
  return times.empty() ? 0 : *std::max_element(times.begin(), times.end());
}

DiskTime ShownReadings::Settled(std::chrono::milliseconds settled) const {
  const DiskTime newest = Newest();
  const auto age = static_cast<DiskTime>(settled.count());
  DiskTime found = 0;
  for (const DiskTime time : times) {
    if (newest - time >= age) found = std::max(found, time);
  }
  return found;
}

DiskTime DiskClocks::Latest(const std::string& member) const {
  MutexLock lock(mutex_);
  const auto known = latest_.find(member);
  return known == latest_.end() ? 0 : known->second;
}

DiskTime DiskClocks::LatestOfAll() const {
  MutexLock lock(mutex_);
  DiskTime latest = 0;
  for (const auto& [member, time] : latest_) latest = std::max(latest, time);
  return latest;
}

void DiskClocks::Raise(const std::string& member, DiskTime settled) {
  MutexLock lock(mutex_);
  DiskTime& known = latest_[member];
  known = std::max(known, settled);
}

std::string FormatDiskTime(DiskTime time) { return fmt::format("{}", time); }

std::optional<DiskTime> ParseDiskTime(std::string_view entry) {
  const std::optional<uint64_t> time = ParseUint(entry);
  // One spelling for each time.
  if (!time || *time == 0 || *time > kDiskTimeMax || FormatDiskTime(*time) != entry) return std::nullopt;
  return time;
}

ShownReadings ReadingsIn(const std::vector<Entry>& entries) {
  ShownReadings readings;
  for (const Entry& entry : entries) {
    if (const auto time = ParseDiskTime(entry.name)) readings.times.push_back(*time);
  }
  return readings;
}

std::string DescribeDiskTime(DiskTime time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<time_t>(time / kMillisPerSecond)));
}

}  // namespace xec
