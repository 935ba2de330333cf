// SPDX-License-Identifier: LGPL-3.0-or-later
#include "space/space_ledger.hh"

#include <algorithm>
#include <utility>

#include "base/units.hh"
#include "protocol/object_path.hh"

namespace xec {
namespace {

std::vector<SpaceGroup> WithWholeStore(std::vector<SpaceGroup> groups) {
  if (GroupOf(groups, "/") == nullptr) groups.push_back({std::string(kWholeStoreGroup), "/", {}});
  return groups;
}

std::string Normal(std::string_view path) {
  const Result<ObjectPath> parsed = ObjectPath::Parse(path);
  return parsed ? parsed->text() : "/";
}

// Clients may announce anything.
constexpr uint64_t kNothingIsLarger = uint64_t{1} << 60;

bool IsSameCount(const SpaceCount& one, const std::optional<SpaceCount>& other) {
  return other && one.began_ms == other->began_ms && one.ended_ms == other->ended_ms;
}

uint64_t Positive(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(0, bytes)); }

}  // namespace

SpaceLedger::SpaceLedger(std::vector<SpaceGroup> groups, std::string id)
    : groups_(WithWholeStore(std::move(groups))) {
  own_.id = std::move(id);
}

const SpaceGroup& SpaceLedger::Of(std::string_view path) const { return *GroupOf(groups_, Normal(path)); }

bool SpaceLedger::Crosses(std::string_view from, std::string_view to) const {
  if (&Of(from) != &Of(to)) return true;
  const auto below = [&](std::string_view path) {
    const std::string above = Normal(path) + "/";
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](const SpaceGroup& group) { return group.prefix.starts_with(above); });
  };
  return below(from) || below(to);
}

void SpaceLedger::Add(const SpaceGroup& group, Usage change) {
  const MutexLock lock(mutex_);
  own_.sums[group.prefix] += change;
}

Usage SpaceLedger::TakenBy(std::string_view path, const ObjectGone& gone) {
  const size_t one = std::hash<std::string>()(Normal(path) + "\n" + gone.version.ToString());
  const MutexLock lock(mutex_);
  if (!gone_.insert(one).second) return {};
  gone_order_.push_back(one);
  if (gone_order_.size() > kSpaceGoneMax) {
    gone_.erase(gone_order_.front());
    gone_order_.pop_front();
  }
  return {-static_cast<int64_t>(gone.size), -1};
}

void SpaceLedger::NoteMoved(int64_t now_ms) {
  const MutexLock lock(mutex_);
  own_.moved_ms = std::max(own_.moved_ms, now_ms);
}

void SpaceLedger::GoOnWith(SpaceTold before) {
  const MutexLock lock(mutex_);
  own_.id = std::move(before.id);
  for (const auto& [prefix, sum] : before.sums) own_.sums[prefix] += sum;
  own_.moved_ms = std::max(own_.moved_ms, before.moved_ms);
  TakeLater(before.count);
  heard_.erase(own_.id);
  Sum();
}

void SpaceLedger::TakeLater(const std::optional<SpaceCount>& count) {
  const bool counts = count && CountsGroups(*count, groups_);
  if (!counts || (own_.count && own_.count->ended_ms >= count->ended_ms)) return;
  own_.count = count;
  not_in_count_.clear();
}

void SpaceLedger::Hear(std::vector<SpaceTold> told, TimePoint now) {
  const MutexLock lock(mutex_);
  heard_at_ = now;
  for (const SpaceTold& of : told) TakeLater(of.count);
  for (SpaceTold& of : told) {
    if (of.id == own_.id) continue;
    if (of.count && IsSameCount(*of.count, own_.count) && of.count->sums.contains(of.id))
      not_in_count_.try_emplace(of.id, of.count->sums.at(of.id));
    of.count.reset();
    SpaceTold& known = heard_[of.id];
    if (known.told_ms <= of.told_ms) known = std::move(of);
  }
  while (heard_.size() > kSpaceSumsMax) {
    heard_.erase(std::min_element(heard_.begin(), heard_.end(), [](const auto& a, const auto& b) {
      return a.second.told_ms < b.second.told_ms;
    }));
  }
  Sum();
}

void SpaceLedger::TakeCount(SpaceCount count) {
  const MutexLock lock(mutex_);
  own_.count = std::move(count);
  not_in_count_.clear();
  Sum();
}

void SpaceLedger::Sum() {
  beside_own_.clear();
  if (!own_.count) return;
  std::map<std::string, UsageByPrefix> sums;
  for (const auto& [id, told] : heard_) sums[id] = told.sums;
  not_in_count_.insert(sums.begin(), sums.end());
  not_in_count_.try_emplace(own_.id, own_.sums);
  SpaceCount count = *own_.count;
  count.sums.insert(not_in_count_.begin(), not_in_count_.end());
  sums[own_.id];
  beside_own_ = UsedSpace(count, sums);
}

SpaceTold SpaceLedger::Told() const {
  const MutexLock lock(mutex_);
  SpaceTold told = own_;
  // Nobody else knows it.
  if (told.count) told.count->sums.try_emplace(own_.id, not_in_count_.at(own_.id));
  return told;
}

std::map<std::string, UsageByPrefix> SpaceLedger::Sums(int64_t told_since_ms) const {
  const MutexLock lock(mutex_);
  std::map<std::string, UsageByPrefix> sums;
  for (const auto& [id, told] : heard_) {
    if (told.told_ms >= told_since_ms) sums[id] = told.sums;
  }
  sums[own_.id] = own_.sums;
  return sums;
}

std::optional<SpaceCount> SpaceLedger::count() const {
  const MutexLock lock(mutex_);
  return own_.count;
}

bool SpaceLedger::MovedSince(int64_t wall_ms) const {
  const MutexLock lock(mutex_);
  return own_.moved_ms >= wall_ms || std::any_of(heard_.begin(), heard_.end(), [&](const auto& told) {
           return told.second.moved_ms >= wall_ms;
         });
}

bool SpaceLedger::IsFirst(int64_t since_ms) const {
  const MutexLock lock(mutex_);
  const std::string own = own_.id;
  return std::none_of(heard_.begin(), heard_.end(),
                      [&](const auto& told) { return told.first < own && told.second.told_ms >= since_ms; });
}

TimePoint SpaceLedger::heard_at() const {
  const MutexLock lock(mutex_);
  return heard_at_;
}

Usage SpaceLedger::Used(const std::string& prefix) const {
  Usage used;
  if (const auto beside = beside_own_.find(prefix); beside != beside_own_.end()) used += beside->second;
  if (const auto own = own_.sums.find(prefix); own != own_.sums.end()) used += own->second;
  return {std::max<int64_t>(0, used.bytes), std::max<int64_t>(0, used.objects)};
}

GroupUse SpaceLedger::Use(const SpaceGroup& group) const {
  const MutexLock lock(mutex_);
  if (!own_.count) return {.group = group};
  return {.group = group, .used = Used(group.prefix), .counted_ms = own_.count->began_ms};
}

Status SpaceLedger::Claim(const SpaceGroup& group, uint64_t held, uint64_t bytes, uint64_t frees) {
  if (!group.quota_bytes) return OkStatus();
  const MutexLock lock(mutex_);
  uint64_t& claimed = claimed_[group.prefix];
  const uint64_t used = Positive(Used(group.prefix).bytes);
  const uint64_t most = own_.count ? *group.quota_bytes : kNothingIsLarger;
  const uint64_t others = used - std::min(used, frees) + claimed - held;
  // Also where nothing is added: others may have filled it since.
  const bool fits = others <= most && bytes <= most - others;
  if (!fits) {
    return Fail(
        Code::kOverQuota,
        "the group {} ({}) has a quota of {}, of which {} are used and {} are being uploaded: {} more "
        "do not fit",
        group.name, group.prefix, FormatSize(*group.quota_bytes), FormatSize(used), FormatSize(claimed),
        FormatSize(bytes - std::min(bytes, held)));
  }
  claimed = claimed - held + bytes;
  return OkStatus();
}

void SpaceLedger::Release(const SpaceGroup& group, uint64_t held, Usage change) {
  const MutexLock lock(mutex_);
  if (held > 0) claimed_[group.prefix] -= held;
  if (change != Usage()) own_.sums[group.prefix] += change;
}

Status SpaceClaim::GrowTo(uint64_t bytes, uint64_t replaces) {
  const uint64_t all = std::max(bytes, bytes_);
  const uint64_t both = std::min(all, replaces);
  XEC_TRY(ledger_.Claim(group_, held_, all - both, replaces - both));
  bytes_ = all;
  replaces_ = replaces;
  held_ = group_.quota_bytes ? all - both : 0;
  return OkStatus();
}

void SpaceClaim::Release(Usage change) {
  ledger_.Release(group_, std::exchange(held_, 0), change);
  bytes_ = replaces_ = 0;
}

}  // namespace xec
