// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/list_changes.hh"

#include <algorithm>

#include "base/text.hh"

namespace xec {
namespace {

// Keeps an id from being given twice where the numbers go.
constexpr std::string_view kIdPrefix = "s";

Result<Member*> Find(StoreDescriptor& list, std::string_view id) {
  for (Member& member : list.members) {
    if (member.id == id) return &member;
  }
  return Fail(Code::kInvalidArgument, "{} is no member of the store", id);
}

size_t CountFull(const StoreDescriptor& list) {
  return static_cast<size_t>(
      std::count_if(list.members.begin(), list.members.end(),
                    [](const Member& member) { return member.role == MemberRole::kFull; }));
}

StoreDescriptor Next(const StoreDescriptor& list) {
  StoreDescriptor next = list;
  ++next.epoch;
  return next;
}

}  // namespace

Status NeedSettled(const StoreDescriptor& list) {
  for (const Member& member : list.members) {
    if (member.role == MemberRole::kJoining || member.role == MemberRole::kLeaving) {
      return Fail(Code::kConflict, "{} is {} the store: one change at a time (xec server list)", member.id,
                  MemberRoleName(member.role));
    }
  }
  if (!list.unswept) return OkStatus();
  return Fail(
      Code::kConflict,
      "the last change of the data servers is not complete: what they had to forget is being removed");
}

bool KeepsHomes(const StoreDescriptor& before, const StoreDescriptor& next) {
  const auto same = [](const Member& a, const Member& b) {
    const bool empty = IsBeingEmptied(a.role) && IsBeingEmptied(b.role);
    return a.id == b.id && a.address == b.address && (a.role == b.role || empty);
  };
  return next.store_id == before.store_id && next.epoch == before.epoch + 1 &&
         next.tolerance == before.tolerance && next.unswept == before.unswept &&
         next.lease_s == before.lease_s &&
         std::equal(before.members.begin(), before.members.end(), next.members.begin(), next.members.end(),
                    same);
}

std::string NewMemberId(const StoreDescriptor& list) {
  uint64_t highest = 0;
  for (const Member& member : list.members) {
    if (!member.id.starts_with(kIdPrefix)) continue;
    highest = std::max(highest, ParseUint(std::string_view(member.id).substr(kIdPrefix.size())).value_or(0));
  }
  return fmt::format("{}{:02}", kIdPrefix, highest + 1);
}

Result<StoreDescriptor> Joining(const StoreDescriptor& list, std::string address, std::string host) {
  XEC_TRY(NeedSettled(list));
  if (list.members.size() >= kMembersOfStoreMax)
    return Fail(Code::kInvalidArgument, "a store has {} members at most", kMembersOfStoreMax);
  StoreDescriptor next = Next(list);
  next.members.push_back({.id = NewMemberId(list),
                          .address = std::move(address),
                          .host = std::move(host),
                          .role = MemberRole::kJoining});
  XEC_TRY(ValidateDescriptor(next));
  return next;
}

Result<StoreDescriptor> Leaving(const StoreDescriptor& list, std::string_view id, uint64_t now_s,
                                uint64_t after_s) {
  XEC_TRY(NeedSettled(list));
  if (list.changed_s > 0 && now_s < list.changed_s + after_s) {
    return Fail(Code::kConflict,
                "the data servers were changed a moment ago; one may leave in {} s (the tombstone horizon)",
                list.changed_s + after_s - now_s);
  }
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  if (member->role != MemberRole::kFull)
    return Fail(Code::kInvalidArgument, "{} is no home of names any more: it is {}", id,
                MemberRoleName(member->role));
  const size_t homes = 2 * list.tolerance + 1;
  const size_t left = CountFull(list) - 1;
  if (left < homes) {
    return Fail(
        Code::kInvalidArgument,
        "without {} the store would have {} data servers; names need {} to survive the loss of any {}", id,
        left, homes, list.tolerance);
  }
  member->role = MemberRole::kLeaving;
  XEC_TRY(ValidateDescriptor(next));
  return next;
}

StoreDescriptor AfterChange(const StoreDescriptor& list) {
  StoreDescriptor next = Next(list);
  for (Member& member : next.members) {
    if (member.role == MemberRole::kJoining) member.role = MemberRole::kFull;
    if (member.role == MemberRole::kLeaving) member.role = MemberRole::kEmptying;
  }
  next.unswept = true;
  return next;
}

StoreDescriptor AfterSweep(const StoreDescriptor& list, uint64_t now_s) {
  StoreDescriptor next = Next(list);
  next.changed_s = now_s;
  next.unswept = false;
  return next;
}

Result<StoreDescriptor> Undone(const StoreDescriptor& list) {
  if (!list.IsChanging())
    return Fail(Code::kInvalidArgument, "no change of the data servers is under way that could be undone");
  StoreDescriptor next = Next(list);
  for (Member& member : next.members) {
    if (member.role == MemberRole::kJoining) {
      member.role = MemberRole::kEmptying;
    } else if (member.role == MemberRole::kLeaving) {
      member.role = MemberRole::kFull;
    }
  }
  next.unswept = true;
  return next;
}

Result<StoreDescriptor> Emptied(const StoreDescriptor& list, std::string_view id) {
  XEC_TRY(NeedSettled(list));
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  if (member->role != MemberRole::kEmptying)
    return Fail(Code::kInvalidArgument, "{} is not being emptied", id);
  member->role = MemberRole::kEmptied;
  return next;
}

Result<StoreDescriptor> Removed(const StoreDescriptor& list, std::string_view id) {
  XEC_TRY(NeedSettled(list));
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  if (member->role != MemberRole::kEmptied)
    return Fail(Code::kInvalidArgument, "{} is in use: xec server drain {} first", id, id);
  std::erase_if(next.members, [&](const Member& one) { return one.id == id; });
  return next;
}

Result<StoreDescriptor> Moved(const StoreDescriptor& list, std::string_view id, std::string address,
                              uint64_t now_s) {
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  member->address = std::move(address);
  next.changed_s = now_s;
  return next;
}

Result<StoreDescriptor> Labelled(const StoreDescriptor& list, std::string_view id, std::string host) {
  XEC_TRY(NeedSettled(list));
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  member->host = std::move(host);
  return next;
}

Result<StoreDescriptor> Maintained(const StoreDescriptor& list, std::string_view id, uint64_t until_s) {
  XEC_TRY(NeedSettled(list));
  StoreDescriptor next = Next(list);
  XEC_ASSIGN_OR_RETURN(Member* const member, Find(next, id));
  member->maintenance_until_s = until_s;
  return next;
}

}  // namespace xec
