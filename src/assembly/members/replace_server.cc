// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/members/replace_server.hh"

#include <algorithm>
#include <filesystem>

#include "assembly/servers/server_kinds.hh"
#include "assembly/sites/site_server.hh"
#include "assembly/sites/store_sites.hh"
#include "commit/engine/pause.hh"
#include "commit/members/descriptor_copies.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

// A directory that becomes a member is found within seconds by a process that has the store open.
constexpr Duration kBindPatience = 5 * kRetryInterval;

bool MayTakeAPlace(const SiteView& view) {
  return view.state == SiteView::kEmpty || (view.state == SiteView::kMissing && view.absent);
}

Error SayWith(const Member& member, size_t empty) {
  return Fail(
      Code::kInvalidArgument,
      "{} of the listed directories are empty or not there: say --with DIR, which one takes the place "
      "of {}",
      empty, member.id);
}

// The address of what is to take the place.
Result<std::string> ChooseAddress(const std::vector<SiteView>& views, const StoreDescriptor& store,
                                  const Member& member, const ReplaceOptions& options,
                                  const Configuration& configuration) {
  const bool local = KindOf(member.address).local;
  if (options.with.empty() && !local) return member.address;
  if (options.with.empty()) {
    std::vector<const SiteView*> empty;
    for (const SiteView& view : views) {
      if (ShowsMember(view, store, member)) return view.site.address;
      if (MayTakeAPlace(view)) empty.push_back(&view);
    }
    if (empty.size() != 1) return SayWith(member, empty.size());
    return empty.front()->site.address;
  }
  XEC_ASSIGN_OR_RETURN(std::string address, KindOf(options.with).normalize(options.with));
  if (KindOf(address).local != local) {
    return Fail(Code::kInvalidArgument, "{} is a {}, not a {} as {}", address, KindOf(address).noun,
                KindOf(member.address).noun, member.id);
  }
  const bool listed = std::any_of(configuration.data.begin(), configuration.data.end(),
                                  [&](const Site& site) { return site.address == address; });
  if (local && !listed) {
    return Fail(Code::kInvalidArgument,
                "{} is not listed: add it to --data, or as xec.data to the configuration of every gateway",
                address);
  }
  if (!local && address != member.address) {
    return Fail(Code::kUnsupported, "{} has the address {}, and addresses cannot be changed yet", member.id,
                member.address);
  }
  return address;
}

// The newest descriptor, as it stands on the servers.
const StoreDescriptor* StoredDescriptor(const std::vector<SiteView>& views, const StoreDescriptor& known) {
  const StoreDescriptor* newest = nullptr;
  for (const SiteView& view : views) {
    if (!view.descriptor || view.descriptor->store_id != known.store_id) continue;
    if (newest == nullptr || newest->epoch < view.descriptor->epoch) newest = &*view.descriptor;
  }
  return newest;
}

}  // namespace

Task<Result<ReplacedServer>> ReplaceServer(MemberTools tools, ReplaceOptions options) {
  const Result<MemberIndex> index = FindMember(tools, options.server);
  if (!index) co_return index.error();
  const StoreDescriptor& store = tools.engine.descriptor();
  const Member& member = store.members[*index];
  if (store.tolerance == 0) {
    co_return Fail(Code::kUnsupported,
                   "the store was made without parity: what {} held is lost, and nothing can take its place",
                   member.id);
  }
  StoreSites sites(tools.configuration, tools.engine.executor(), tools.engine.scope(), tools.gate);
  const Result<std::vector<SiteView>> views = co_await sites.Inspect();
  if (!views) co_return views.error();
  const Result<std::string> address = ChooseAddress(*views, store, member, options, tools.configuration);
  if (!address) co_return address.error();
  for (const SiteView& view : *views) {
    if (view.site.address != *address && ShowsMember(view, store, member)) {
      co_return Fail(Code::kConflict, "{} still answers, at {}: stop it first if it is to be replaced",
                     member.id, view.site.address);
    }
  }
  Result<SiteView> place = co_await LookAtPlace(tools, *address);
  if (!place) co_return place.error();
  const Result<bool> to_give = MustBeGiven(*place, store, member);
  if (!to_give) co_return to_give.error();
  ReplacedServer replaced{.member = *index, .address = *address, .was_there = !*to_give};
  if (options.dry_run || replaced.was_there) co_return std::move(replaced);
  const StoreDescriptor* const stored = StoredDescriptor(*views, store);
  if (stored == nullptr) co_return Fail(Code::kNoQuorum, "no data server shows the store descriptor; retry");
  Status done = co_await NoteDiskLost(tools.beneath, tools.clocks, *index);
  if (done) done = tools.engine.MembersInForce();
  if (done) done = co_await GiveIdentity(tools, std::move(*place), *stored, member.id);
  if (!done) co_return done.error();
  co_return std::move(replaced);
}

Task<Status> CompareDisk(MemberTools tools, MemberIndex member, CompareProgress progress) {
  Engine& engine = tools.engine;
  const TimePoint until = engine.executor().Now() + kBindPatience;
  for (;;) {
    const auto used =
        co_await List(engine.MetadataCall(), engine.server(member), std::string(kDiskClockFolder));
    // It tells its names to this process, so its clock is not behind what is known.
    if (used) co_return OkStatus();
    const auto answers =
        co_await List(engine.MetadataCall(), tools.beneath.server(member), std::string(kReservedDirectory));
    if (answers) break;
    if (engine.executor().Now() >= until) co_return answers.error();
    co_await Pause(engine, kRetryInterval / 4);
  }
  Turn turn = [progress = std::move(progress)](WalkPoint point) -> Task<bool> {
    co_return progress(point.done, point.at);
  };
  co_return co_await ReconcileDisk(engine, tools.beneath, tools.clocks, member, std::move(turn));
}

}  // namespace xec
