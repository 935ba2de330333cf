// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/member_list.hh"

#include <algorithm>

#include "base/mutant.hh"
#include "placement/homes.hh"

namespace xec {
namespace {

Error ChangedError(const StoreDescriptor& known, DescriptorSays says, const Result<StoreDescriptor>& shown) {
  if (says == DescriptorSays::kOther) {
    return Fail(
        Code::kNoQuorum,
        "cannot tell: the data servers show two different store descriptors of epoch {}; the wrong one "
        "has to be replaced",
        known.epoch);
  }
  if (!shown) {
    return Fail(Code::kNoQuorum, "cannot tell: the store was changed by a newer XEC ({}); upgrade this one",
                shown.error().message);
  }
  return Fail(Code::kNoQuorum,
              "cannot tell: the data servers of the store were changed (epoch {}, this process knows {}); "
              "retry in some seconds",
              shown->epoch, known.epoch);
}

}  // namespace

DescriptorSays WhatItSays(const StoreDescriptor& known, const Result<StoreDescriptor>& shown) {
  if (!shown) return shown.code() == Code::kUnsupported ? DescriptorSays::kLater : DescriptorSays::kNothing;
  if (shown->store_id != known.store_id) return DescriptorSays::kNothing;
  if (shown->epoch > known.epoch + 1) return DescriptorSays::kLater;
  if (shown->epoch > known.epoch) return DescriptorSays::kNext;
  if (shown->epoch == known.epoch && !(*shown == known)) return DescriptorSays::kOther;
  return DescriptorSays::kNoNewer;
}

Result<StoreDescriptor> ChooseList(std::span<const StoreDescriptor> shown, std::optional<size_t> all) {
  if (shown.empty()) return Fail(Code::kNoQuorum, "no data server shows the store descriptor");
  const auto older = [](const StoreDescriptor& a, const StoreDescriptor& b) { return a.epoch < b.epoch; };
  const StoreDescriptor& newest = *std::max_element(shown.begin(), shown.end(), older);
  const StoreDescriptor* before = nullptr;
  size_t show_newest = 0;
  for (const StoreDescriptor& one : shown) {
    if (one.epoch == newest.epoch) ++show_newest;
    if (one.epoch + 1 == newest.epoch) before = &one;
  }
  const auto needed = [&](const StoreDescriptor& list) {
    return std::min(Quorum(list.members.size()), all.value_or(SIZE_MAX));
  };
  if (show_newest >= needed(newest)) return newest;
  if (before != nullptr && shown.size() - show_newest >= needed(*before)) return *before;
  if (shown.size() < needed(newest))
    return Fail(Code::kNoQuorum, "only {} of the {} data servers of the store answer", shown.size(),
                newest.members.size());
  return Fail(Code::kNoQuorum,
              "the data servers are being changed: {} of {} show the list of epoch {}, others older ones, "
              "neither is a majority; retry",
              show_newest, newest.members.size(), newest.epoch);
}

void MemberList::Watch(StoreDescriptor known, Rules rules, TimePoint asked) {
  MutexLock lock(mutex_);
  known_ = std::move(known);
  rules_ = rules;
  confirmed_ = asked;
  until_ = asked + rules.lease;
}

size_t MemberList::NeededOf(const StoreDescriptor& later) const {
  const bool majority = rules_.needed >= Quorum(known_.members.size());
  return majority ? Quorum(later.members.size()) : rules_.needed;
}

MemberList::Round MemberList::Heard(TimePoint asked, std::span<const Result<StoreDescriptor>> shown) {
  MutexLock lock(mutex_);
  size_t confirm = 0;
  bool over = false;
  std::optional<Error> changed;
  const StoreDescriptor* newest = nullptr;
  for (const Result<StoreDescriptor>& one : shown) {
    const DescriptorSays says = WhatItSays(known_, one);
    if (says == DescriptorSays::kNothing) continue;
    if (says == DescriptorSays::kNoNewer) {
      ++confirm;
      continue;
    }
    if (says != DescriptorSays::kNext) over = true;
    if (says != DescriptorSays::kNext || !changed) changed = ChangedError(known_, says, one);
    const bool newer = one && says != DescriptorSays::kOther;
    if (newer && (newest == nullptr || newest->epoch < one->epoch)) newest = &*one;
  }
  if (over) until_ = TimePoint::min();
  const auto show_newest = static_cast<size_t>(std::count_if(
      shown.begin(), shown.end(), [&](const auto& one) { return newest && one && *one == *newest; }));
  if (newest != nullptr && show_newest >= NeededOf(*newest)) {
    changed_ = std::move(changed);
    return {Round::kFollowed, *newest};
  }
  const auto later = newest == nullptr ? std::nullopt : std::optional(*newest);
  if (over) {
    changed_ = std::move(changed);
    return {Round::kChanged, later};
  }
  if (confirm < rules_.needed) return {Round::kTooFew, later};
  changed_.reset();
  confirmed_ = asked;
  until_ = asked + rules_.lease;
  return {Round::kConfirmed};
}

DescriptorSays MemberList::Says(const Result<StoreDescriptor>& shown) const {
  MutexLock lock(mutex_);
  return WhatItSays(known_, shown);
}

Status MemberList::InForce(TimePoint now) const {
  if (const MemberList* const next = next_.load(std::memory_order_acquire)) return next->InForce(now);
  if (now < until_.load(std::memory_order_relaxed) || MutantActive(Mutant::kListForEver)) return OkStatus();
  MutexLock lock(mutex_);
  if (changed_) return *changed_;
  return Fail(
      Code::kNoQuorum,
      "cannot tell: for {} s fewer than {} of the {} data servers have shown the store descriptor, so the "
      "members may have been changed; retry",
      std::chrono::duration_cast<std::chrono::seconds>(now - confirmed_).count(), rules_.needed,
      known_.members.size());
}

}  // namespace xec
