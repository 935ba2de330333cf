// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/member_list.hh"

#include <algorithm>

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
              "cannot tell: the store was changed (epoch {}, this process knows {}); restart this process",
              shown->epoch, known.epoch);
}

}  // namespace

DescriptorSays WhatItSays(const StoreDescriptor& known, const Result<StoreDescriptor>& shown) {
  if (!shown) return shown.code() == Code::kUnsupported ? DescriptorSays::kNewer : DescriptorSays::kNothing;
  if (shown->store_id != known.store_id) return DescriptorSays::kNothing;
  if (shown->epoch > known.epoch) return DescriptorSays::kNewer;
  if (shown->epoch == known.epoch && !(*shown == known)) return DescriptorSays::kOther;
  return DescriptorSays::kNoNewer;
}

void MemberList::Watch(StoreDescriptor known, Rules rules, TimePoint asked) {
  MutexLock lock(mutex_);
  known_ = std::move(known);
  rules_ = rules;
  confirmed_ = asked;
  until_ = asked + rules.lease;
}

MemberList::Round MemberList::Heard(TimePoint asked, std::span<const Result<StoreDescriptor>> shown) {
  MutexLock lock(mutex_);
  size_t confirm = 0;
  std::optional<Error> changed;
  for (const Result<StoreDescriptor>& one : shown) {
    const DescriptorSays says = WhatItSays(known_, one);
    if (says == DescriptorSays::kNoNewer) ++confirm;
    if (says == DescriptorSays::kNewer || says == DescriptorSays::kOther)
      changed = ChangedError(known_, says, one);
  }
  if (changed) {
    changed_ = std::move(changed);
    until_ = TimePoint::min();
    return Round::kChanged;
  }
  if (confirm < rules_.needed) return Round::kTooFew;
  changed_.reset();
  confirmed_ = asked;
  until_ = asked + rules_.lease;
  return Round::kConfirmed;
}

DescriptorSays MemberList::Says(const Result<StoreDescriptor>& shown) const {
  MutexLock lock(mutex_);
  return WhatItSays(known_, shown);
}

Status MemberList::InForce(TimePoint now) const {
  if (now < until_.load(std::memory_order_relaxed)) return OkStatus();
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
