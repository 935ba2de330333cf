// SPDX-License-Identifier: LGPL-3.0-or-later
// How one list of members follows another one (docs/protocol/members.md). Each answers the descriptor of the
// next epoch. Pure.
//
//   settled --Joining, Leaving--> changing --AfterChange--> unswept --AfterSweep--> settled
//                                    |---------Undone----------^
//
// Errors of all: kConflict (another change is under way), kInvalidArgument with the reason and the numbers.
#pragma once

#include "placement/store_descriptor.hh"

namespace xec {

// `address` and `host`: of the new member, whose id is NewMemberId.
Result<StoreDescriptor> Joining(const StoreDescriptor& list, std::string address, std::string host);
// Another server becomes home of its names. That may have been one before an earlier change, and what was
// sent then to tidy it must not arrive any more: not before `after_s` seconds after that change. `now_s`:
// since 1970.
Result<StoreDescriptor> Leaving(const StoreDescriptor& list, std::string_view member, uint64_t now_s,
                                uint64_t after_s);
// The one that joined is full, the one that left is to be emptied.
StoreDescriptor AfterChange(const StoreDescriptor& list);
StoreDescriptor AfterSweep(const StoreDescriptor& list, uint64_t now_s);
// The one that joins is to be emptied, the one that leaves is full again.
Result<StoreDescriptor> Undone(const StoreDescriptor& list);
// A member that is being emptied holds nothing that is needed any more.
Result<StoreDescriptor> Emptied(const StoreDescriptor& list, std::string_view member);
// Without a member that was emptied.
Result<StoreDescriptor> Removed(const StoreDescriptor& list, std::string_view member);
// A member that is at another place, at any time; nobody may leave for a while, as after Leaving. `now_s`:
// since 1970.
Result<StoreDescriptor> Moved(const StoreDescriptor& list, std::string_view member, std::string address,
                              uint64_t now_s);
// A member that fails together with others than before.
Result<StoreDescriptor> Labelled(const StoreDescriptor& list, std::string_view member, std::string host);
// A member that is in maintenance until that time; 0: not any more.
Result<StoreDescriptor> Maintained(const StoreDescriptor& list, std::string_view member, uint64_t until_s);

// Does `next`, the list after `before`, have the same members with the same names at the same addresses? What
// is different is where new archives go and which are to leave.
bool KeepsHomes(const StoreDescriptor& before, const StoreDescriptor& next);

// "s13": one above all there are. Ids of members that were removed are given again only if they were the
// highest.
std::string NewMemberId(const StoreDescriptor& list);

// Error: kConflict, in a sentence that says which change is under way.
Status NeedSettled(const StoreDescriptor& list);

}  // namespace xec
