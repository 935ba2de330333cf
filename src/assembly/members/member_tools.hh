// SPDX-License-Identifier: LGPL-3.0-or-later
// What changes of the members have in common.
#pragma once

#include "api/server_changes.hh"
#include "assembly/configuration/configuration.hh"
#include "assembly/sites/sites.hh"
#include "commit/disk/disk_clock.hh"
#include "server/decorators/completion_gate.hh"
#include "store/change_list.hh"

namespace xec {

// What changes of the members work with. All outlive what goes on in the engine's scope.
struct MemberTools {
  Engine& engine;
  Engine& beneath;  // the same members, also those whose disks went back in time
  DiskClocksPtr clocks;
  const Configuration& configuration;
  std::shared_ptr<CompletionGate> gate;  // of directories
  std::function<ListInUse()> now = {};
};

// Of one look at a place, or one small change there.
CallContext LookCall(const MemberTools& tools);

// By its id or address. Error: kInvalidArgument.
Result<MemberIndex> FindMember(const MemberTools& tools, const std::string& word);

// Error: kConflict, without the member more would be in maintenance, or away as far as this process knows,
// than may be.
Status NeedEnoughLeft(const Engine& engine, const std::string& id);

bool ShowsMember(const SiteView& view, const StoreDescriptor& store, const Member& member);

// What is at an address.
Task<Result<SiteView>> LookAtPlace(MemberTools tools, std::string address);

// Error: what stands in the way of giving the place the identity of the member. False: it has that already.
Result<bool> MustBeGiven(const SiteView& place, const StoreDescriptor& store, const Member& member);

// The descriptor, and the identity last: from then on everybody takes the place for the member.
Task<Status> GiveIdentity(MemberTools tools, SiteView place, StoreDescriptor stored, std::string member_id);

}  // namespace xec
