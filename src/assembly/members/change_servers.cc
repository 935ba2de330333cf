// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/members/change_servers.hh"

#include <algorithm>

#include "assembly/servers/server_kinds.hh"
#include "commit/members/ask_for_descriptors.hh"
#include "placement/list_changes.hh"

namespace xec {
namespace {

Task<Result<std::string>> AddServer(MemberTools tools, ChangeOptions options) {
  const ListInUse list = tools.now();
  const Result<std::string> address = KindOf(options.place).normalize(options.place);
  if (!address) co_return address.error();
  const bool local = KindOf(*address).local;
  if (KindOf(list.stored.members.front().address).local != local) {
    co_return Fail(Code::kInvalidArgument, "{} is a {}, and the store lies on others: {}", *address,
                   KindOf(*address).noun, list.stored.members.front().address);
  }
  Result<SiteView> place = co_await LookAtPlace(tools, *address);
  if (!place) co_return place.error();
  const auto& members = list.stored.members;
  // An earlier call may have been interrupted.
  const auto begun = std::find_if(members.begin(), members.end(), [&](const Member& member) {
    return member.role == MemberRole::kJoining && member.address == *address;
  });
  StoreDescriptor next = list.stored;
  Member joins;
  if (begun != members.end()) {
    joins = *begun;
  } else {
    const std::string own(WithoutScheme(*address));
    Result<StoreDescriptor> joining =
        Joining(list.stored, *address, options.host.empty() ? own : options.host);
    if (!joining) co_return joining.error();
    next = std::move(*joining);
    joins = next.members.back();
  }
  const Result<bool> to_give = MustBeGiven(*place, list.stored, joins);
  if (!to_give) co_return to_give.error();
  if (options.dry_run) co_return joins.id;
  if (begun == members.end()) {
    const Status begins = co_await BeginChange(tools.now, next);
    if (!begins) co_return begins.error();
  }
  if (*to_give) {
    const Status given = co_await GiveIdentity(tools, std::move(*place), next, joins.id);
    if (!given) co_return given.error();
  }
  co_return joins.id;
}

Result<StoreDescriptor> NextList(const Engine& engine, const StoreDescriptor& stored,
                                 const ChangeOptions& options, const std::string& id) {
  switch (options.kind) {
    case ChangeOptions::kAdd: break;
    case ChangeOptions::kMaintain: {
      const bool begins = options.time > std::chrono::seconds::zero();
      if (options.time > kMaintenanceMax)
        return Fail(Code::kInvalidArgument, "a maintenance takes 30 days at most");
      if (begins && !options.forced) {
        const Status enough = NeedEnoughLeft(engine, id);
        if (!enough) return Fail(enough.code(), "{}; --force does it", enough.error().message);
      }
      return Maintained(stored, id,
                        begins ? NowSeconds(engine) + static_cast<uint64_t>(options.time.count()) : 0);
    }
    case ChangeOptions::kLabel: return Labelled(stored, id, options.host);
    case ChangeOptions::kDrain: {
      const auto horizon =
          std::chrono::duration_cast<std::chrono::seconds>(engine.options().tombstone_horizon);
      return Leaving(stored, id, NowSeconds(engine), static_cast<uint64_t>(horizon.count()));
    }
    case ChangeOptions::kEmpty: return Emptied(stored, id);
    case ChangeOptions::kRemove: return Removed(stored, id);
    case ChangeOptions::kUndo: return Undone(stored);
  }
  return Fail(Code::kInternal, "no such change");
}

}  // namespace

Task<Result<std::string>> ChangeServers(MemberTools tools, ChangeOptions options) {
  if (tools.engine.descriptor().layout == Layout::kXrdec)
    co_return Fail(Code::kUnsupported, "the data servers of a store of layout xrdec cannot be changed");
  if (options.kind == ChangeOptions::kAdd) co_return co_await AddServer(std::move(tools), std::move(options));
  std::string id;
  if (options.kind != ChangeOptions::kUndo) {
    const Result<MemberIndex> member = FindMember(tools, options.server);
    if (!member) co_return member.error();
    id = tools.engine.server_id(*member);
    // It goes on.
    const MemberRole role = tools.engine.descriptor().members[*member].role;
    const bool drains = role == MemberRole::kLeaving || role == MemberRole::kEmptying;
    if (options.kind == ChangeOptions::kDrain && drains) co_return id;
    // A gateway has said so.
    if (options.kind == ChangeOptions::kEmpty && role == MemberRole::kEmptied) co_return id;
  }
  const ListInUse list = tools.now();
  // Those that do not answer are known then.
  if (options.kind == ChangeOptions::kMaintain)
    (void)co_await AskForDescriptors(list.engine, list.engine.server_count());
  const Result<StoreDescriptor> next = NextList(list.engine, list.stored, options, id);
  if (!next) co_return next.error();
  if (options.dry_run) co_return id;
  const Status begun = co_await BeginChange(tools.now, *next);
  if (!begun) co_return begun.error();
  co_return id;
}

}  // namespace xec
