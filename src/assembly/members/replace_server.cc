// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/members/replace_server.hh"

#include <algorithm>
#include <filesystem>

#include "assembly/servers/server_kinds.hh"
#include "assembly/sites/site_server.hh"
#include "assembly/sites/store_sites.hh"
#include "commit/engine/pause.hh"
#include "commit/members/ask_for_descriptors.hh"
#include "commit/members/spread_list.hh"
#include "placement/list_changes.hh"
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
  return address;
}

// Decides that the member is at that address.
Task<Status> Move(const MemberTools& tools, std::string id, std::string address) {
  const ListInUse list = tools.now();
  const Result<StoreDescriptor> next = Moved(list.stored, id, std::move(address), NowSeconds(list.engine));
  if (!next) co_return next.error();
  co_return co_await BeginChange(tools.now, *next);
}

// Until every process that could not hear of the list has none in force, so that nobody asks any more what
// was at another address before: a server that had only been stopped would be the same member as the new
// disk.
Task<Status> WaitForAddress(MemberTools tools, ReplaceProgress waiting) {
  const ListInUse list = tools.now();
  Executor& executor = list.engine.executor();
  for (;;) {
    const bool spread = co_await SpreadList(list.engine, list.stored);
    if (spread) break;
    const bool go_on = waiting(std::chrono::seconds::zero());
    if (!go_on) co_return Fail(Code::kCancelled, "interrupted");
    co_await Pause(list.engine, kRetryInterval);
  }
  const TimePoint until = executor.Now() + WaitForOthers(list.engine, list.stored);
  while (executor.Now() < until) {
    const bool go_on = waiting(std::chrono::ceil<std::chrono::seconds>(until - executor.Now()));
    if (!go_on) co_return Fail(Code::kCancelled, "interrupted");
    co_await Pause(list.engine, kRetryInterval / 4);
  }
  co_return OkStatus();
}

// No other place than `address` may show the member.
Task<Status> NeedGone(MemberTools tools, std::vector<SiteView> views, Member member, std::string address) {
  if (!KindOf(member.address).local && member.address != address) {
    Result<SiteView> before = co_await LookAtPlace(tools, member.address);
    if (before) views.push_back(std::move(*before));
  }
  for (const Member& other : tools.now().stored.members) {
    if (other.id != member.id && !KindOf(address).local && other.address == address)
      co_return Fail(Code::kConflict, "{} is the address of {}", address, other.id);
  }
  for (const SiteView& view : views) {
    if (view.site.address == address || !ShowsMember(view, tools.engine.descriptor(), member)) continue;
    co_return Fail(Code::kConflict, "{} still answers, at {}: stop it first if it is to be replaced",
                   member.id, view.site.address);
  }
  co_return OkStatus();
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
  const Status gone = co_await NeedGone(tools, *views, member, *address);
  if (!gone) co_return gone.error();
  Result<SiteView> place = co_await LookAtPlace(tools, *address);
  if (!place) co_return place.error();
  const Result<bool> to_give = MustBeGiven(*place, store, member);
  if (!to_give) co_return to_give.error();
  const bool moves = !KindOf(*address).local && *address != member.address;
  ReplacedServer replaced{.member = *index, .address = *address, .was_there = !*to_give, .moved = moves};
  if (options.lost_a_part && *to_give)
    co_return Fail(Code::kInvalidArgument, "{} has nothing at {}: xec server replace {}", member.id, *address,
                   member.id);
  if (options.dry_run) co_return std::move(replaced);
  Status done;
  if (*to_give) {
    done = co_await NoteDiskLost(tools.beneath, tools.clocks, *index);
  } else if (options.lost_a_part) {
    (void)co_await AskForDescriptors(tools.engine, tools.engine.server_count());
    done = NeedEnoughLeft(tools.engine, member.id);
    if (done) done = co_await NotePartLost(tools.beneath, tools.clocks, *index);
  }
  if (done && moves) done = co_await Move(tools, member.id, *address);
  if (!done) co_return done.error();
  if (!*to_give) co_return std::move(replaced);
  // Also where an earlier call that was interrupted has moved it.
  if (!options.with.empty() && !KindOf(*address).local)
    done = co_await WaitForAddress(tools, options.waiting);
  const ListInUse list = tools.now();
  if (done) done = list.engine.MembersInForce();
  if (done) done = co_await GiveIdentity(tools, std::move(*place), list.stored, member.id);
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
