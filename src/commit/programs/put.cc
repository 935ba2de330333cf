// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/put.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/access.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/move.hh"
#include "commit/steps/promote.hh"
#include "commit/steps/seals.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// So long an exclusive creator waits for later ones to give way, and for plain uploads to be accepted or
// withdrawn. A process that gave a server up has time to tidy it when it is back (given_up_files.hh).
constexpr Duration kRivalPatience = std::chrono::seconds(10);
constexpr Duration kSealPatience = std::chrono::seconds(10);
// An upload that waits for a home that is late sees so soon that another one, which was silent, is back.
constexpr Duration kOthersSeenAfter = std::chrono::milliseconds(250);

// What the look after sealing found.
struct Barrier {
  std::vector<MemberIndex> sealed_homes;  // homes whose seal stands
  std::vector<MemberIndex> void_homes;    // homes that were heard and whose seal does not stand
  size_t late_homes = 0;                  // homes that were passed over
  std::optional<Version> ceiling;
  Accepted highest;
  Rival rival;                       // of an exclusive creation
  std::vector<Accepted> moves;       // what has moved away, where the rival may be a seal of it
  bool directory_under_way = false;  // of any other
};

bool IsExclusive(const PutRequest& request) { return request.seal.version.has_value(); }

// May the rival be the seal of a version, perhaps of one that has moved away?
bool MayBeOfVersion(const Rival& rival) {
  const StateKind kind = rival.state.kind;
  const bool seal = kind == StateKind::kSealed || kind == StateKind::kAborted;
  return rival.rivalry == Rivalry::kSealed && seal;
}

// Lists every home on which this upload is sealed, since these are going to be promoted.
Task<Barrier> LookAfterSealing(Engine& engine, PutRequest request, std::vector<MemberIndex> homes) {
  Barrier barrier;
  std::map<MemberIndex, States> listings;
  const size_t quorum = engine.HomeQuorum(request.path);
  ServerGather<Result<States>> gather(engine);
  for (const MemberIndex home : homes) gather.Start(home, ListStates(engine, home, request.path));
  const auto passed_over = UnlessTooMany(engine, Late::kPassedOver);
  while (gather.pending() > 0) {
    // Homes that are late are not promoted, just like those that failed.
    const bool all_late = gather.OnlyLateOnes();
    if (all_late && barrier.sealed_homes.size() >= quorum) break;
    if (all_late && passed_over(gather.pending()) && AnyIsWell(engine, request.other_homes)) break;
    const bool sees_others = all_late && !request.other_homes.empty();
    for (const MemberIndex home : request.other_homes) {
      if (sees_others) engine.monitor().Watch(home);
    }
    auto event =
        co_await gather.Next(sees_others ? engine.executor().Now() + kOthersSeenAfter : TimePoint::max());
    if (!event.value || !*event.value) continue;
    const States& states = **event.value;
    const MemberIndex home = event.member;
    (SealStands(states, request.seal) ? barrier.sealed_homes : barrier.void_homes).push_back(home);
    barrier.ceiling = std::max(barrier.ceiling, Ceiling(states));
    const Accepted here = HighestAccepted(states);
    if (barrier.highest < here) barrier.highest = here;
    listings[home] = std::move(**event.value);
  }
  barrier.late_homes = gather.pending();
  if (IsExclusive(request)) {
    barrier.rival = RivalAtBarrier(listings, request.seal, request.exclusive_base.value_or(Accepted{}));
    if (MayBeOfVersion(barrier.rival)) barrier.moves = MovesIn(listings);
  } else {
    barrier.directory_under_way =
        DirectoryUnderWay(listings, barrier.highest) && !MutantActive(Mutant::kPutOverDirectoryUnderWay);
  }
  co_return std::move(barrier);
}

// For how long it is worth looking again.
Duration PatienceWith(const Barrier& barrier) {
  if (barrier.directory_under_way) return kDirectoryPatience;
  switch (barrier.rival.rivalry) {
    case Rivalry::kLaterOnly: return kRivalPatience;
    case Rivalry::kSealed: return kSealPatience;
    case Rivalry::kNone:
    case Rivalry::kBusy: break;
  }
  return Duration(0);
}

// Answers what an exclusive creation stands on if its look after sealing shows more than its own seals. (A
// look that shows nothing else is as good as an earlier look that has found nothing.)
Task<Result<Accepted>> SettleBase(Engine& engine, PutRequest request) {
  Result<ExclusiveStart> start = co_await SettleExclusive(engine, request.path);
  // kNoQuorum would make the caller seal on other homes, and such seals would be of no use.
  if (!start && start.code() == Code::kNoQuorum) co_return Error{Code::kUnavailable, start.error().message};
  if (!start) co_return start.error();
  if (*request.seal.version < start->base->version) {
    co_return Fail(Code::kConflict,
                   "{} was removed after this upload began, or by a gateway whose clock is ahead; retry",
                   request.path.text());
  }
  co_return *start->base;
}

// Looks until nothing but this upload is there, or something to which an exclusive creation yields. A plain
// upload looks until it is known whether a directory of its name is made. Without the wait, several creators
// that come to their barriers together would all yield, and none would create the object. To look again is no
// more than to look later. An error: the exclusive creation cannot be.
Task<Result<Barrier>> LookPastRivals(Engine& engine, PutRequest request, std::vector<MemberIndex> homes) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  bool settled = false;
  for (;;) {
    Barrier barrier = co_await LookAfterSealing(engine, request, homes);
    const bool too_few = barrier.sealed_homes.size() < engine.HomeQuorum(request.path);
    if (too_few && barrier.late_homes > 0) co_return std::move(barrier);
    const bool other = barrier.rival.rivalry != Rivalry::kNone && !MutantActive(Mutant::kExclusiveByLookOnly);
    // The base is not known, or it is from before the upload began.
    const bool may_be_later =
        !request.exclusive_base || (request.base_may_rise && *request.exclusive_base < barrier.highest);
    if (other && may_be_later && !std::exchange(settled, true)) {
      Result<Accepted> base = co_await SettleBase(engine, request);
      if (!base) co_return base.error();
      request.exclusive_base = std::move(*base);
      continue;
    }
    if (engine.executor().Now() + pause > start + PatienceWith(barrier)) co_return std::move(barrier);
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
    if (!barrier.moves.empty() && pause == kLookPauseMax)
      co_await RunPatiently(engine, BringFrom(engine, request.path, std::move(barrier.moves),
                                              barrier.rival.state.oid, barrier.rival.home));
  }
}

std::vector<MemberIndex> HomesAmong(const Engine& engine, const PutRequest& request) {
  std::vector<MemberIndex> homes;
  for (const MemberIndex home : engine.Homes(request.path)) {
    if (Contains(request.archives, home)) homes.push_back(home);
  }
  return homes;
}

// This is called once all seals are there.
Task<void> KeepLongNameOnAll(Engine& engine, PutRequest request) {
  if (request.path.LongNameEntries().empty()) co_return;
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex member : request.archives)
    gather.Start(member, KeepLongName(engine, member, request.path));
  // A home that fails may have the name all the same; the others do.
  while (gather.timely() > 0) co_await gather.Next();
}

// Checks the barrier and chooses the version. An error: nothing of this upload is or becomes visible.
Task<Result<Version>> ChooseVersion(Engine& engine, const PutRequest& request, const Barrier& barrier) {
  const size_t quorum = engine.HomeQuorum(request.path);
  const Status in_force = engine.MembersInForce();
  if (!in_force) co_return in_force.error();
  if (barrier.sealed_homes.size() < quorum) {
    const bool given_up = barrier.sealed_homes.size() + barrier.late_homes < quorum;
    if (given_up && !barrier.void_homes.empty()) {
      co_return Fail(
          Code::kConflict,
          "the upload of {} was ended by another process: its directory was renamed or removed, or it "
          "was silent for too long; retry",
          request.path.text());
    }
    co_return Fail(Code::kNoQuorum, "only {} homes of {} hold the upload, {} are needed; retry",
                   barrier.sealed_homes.size(), request.path.text(), quorum);
  }
  if (request.archives.size() - barrier.void_homes.size() < request.archives_min) {
    co_return Fail(Code::kConflict, "the upload of {} lost archives to the cleaner", request.path.text());
  }
  if (barrier.highest.kind == Accepted::kDirectory && !IsExclusive(request))
    co_return co_await DirectoryInTheWay(engine, request.path);
  if (barrier.directory_under_way) co_return DirectoryBeingMade(request.path);
  const bool rival = barrier.rival.rivalry != Rivalry::kNone && !MutantActive(Mutant::kExclusiveByLookOnly);
  const bool replaces = request.exclusive_base && request.exclusive_base->Live();
  if (replaces && MutantActive(Mutant::kReplaceByLookOnly)) co_return *request.seal.version;
  if (rival && replaces)
    co_return co_await ReplacementInTheWay(engine, request.path, *request.exclusive_base, barrier.rival);
  if (rival) co_return co_await ObjectInTheWay(engine, request.path, barrier.rival);
  if (IsExclusive(request)) co_return *request.seal.version;
  co_return engine.NextVersion(barrier.ceiling);
}

// Brings the archives on other servers to their promoted names; what fails is found by readers as sealed and
// promoted by the cleaner.
Task<void> PromoteOthers(Engine& engine, PutRequest request, std::string from, std::string to) {
  const Homes homes = engine.Homes(request.path);
  ServerGather<Status> gather(engine);
  for (const MemberIndex member : request.archives) {
    if (Contains(homes, member)) continue;
    gather.Start(member, RenameState(engine, member, request.path, from, to));
  }
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (event.value) XEC_FAILPOINT("put.promoted_other");
  }
}

// Looks at the parent, while the name itself is looked at.
Task<Status> NeedParent(Engine& engine, PutRequest request) {
  if (!request.parent) co_return OkStatus();
  Status stands = co_await StandInParent(engine, std::move(request.path), std::move(*request.parent));
  // kNoQuorum would make the caller seal on other homes, and such seals would be of no use.
  if (!stands && stands.code() == Code::kNoQuorum)
    co_return Fail(Code::kUnavailable, "{}", stands.error().message);
  co_return std::move(stands);
}

Task<Result<States>> AskOneHome(Engine& engine, ObjectPath path) {
  const MemberIndex home = engine.ByHealth(engine.Homes(path)).front();
  ServerGather<Result<States>> gather(engine);
  gather.Start(home, ListStates(engine, home, std::move(path)));
  auto event = co_await gather.Next();
  if (!event.value) co_return Fail(Code::kUnavailable, "{} does not answer", engine.server(home)->name());
  co_return std::move(*event.value);
}

}  // namespace

Task<Result<ExclusiveStart>> SettleExclusive(Engine& engine, ObjectPath path,
                                             std::optional<Version> current) {
  Result<NameInfo> info = co_await LookUp(engine, path);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
  const bool lives = info->accepted.Live();
  if (current && (!lives || info->accepted.version != *current)) co_return NotCurrent(path);
  if (lives && !current) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
  Result<Version> version = engine.NextVersion(info->HighestShown());
  if (!version) co_return version.error();
  co_return ExclusiveStart{info->accepted, *version};
}

Task<Result<ExclusiveStart>> StartExclusive(Engine& engine, ObjectPath path) {
  XEC_FAILPOINT("put.exclusive");
  const Result<States> states = co_await AskOneHome(engine, path);
  if (!states || !states->empty()) {
    Result<ExclusiveStart> settled = co_await SettleExclusive(engine, std::move(path));
    co_return std::move(settled);
  }
  Result<Version> version = engine.NextVersion(std::nullopt);
  if (!version) co_return version.error();
  co_return ExclusiveStart{std::nullopt, *version};
}

Task<Status> NeedNoDirectory(Engine& engine, ObjectPath path) {
  const Result<States> states = co_await AskOneHome(engine, path);
  const bool directory = states && HighestAccepted(*states).kind == Accepted::kDirectory;
  if (!directory) co_return OkStatus();
  const Error in_the_way = co_await DirectoryInTheWay(engine, std::move(path));
  // The directory may be gone by now, or an object in its place.
  if (in_the_way.code == Code::kConflict) co_return OkStatus();
  co_return in_the_way;
}

bool AnyIsWell(Engine& engine, const std::vector<MemberIndex>& homes) {
  const TimePoint now = engine.executor().Now();
  return std::any_of(homes.begin(), homes.end(),
                     [&](MemberIndex home) { return engine.health().SuspectFrom(home, now) > now; });
}

Task<Result<Version>> CommitPut(Engine& engine, PutRequest request) {
  XEC_FAILPOINT("put.look");
  co_await KeepLongNameOnAll(engine, request);
  const std::vector<MemberIndex> homes = HomesAmong(engine, request);
  Gather<Status> above(engine.scope(), engine.executor());
  const TimePoint stood_at = engine.executor().Now();
  above.Start(0, NeedParent(engine, request));
  Result<Barrier> looked = co_await LookPastRivals(engine, request, homes);
  const auto stands = co_await above.Next();
  if (!*stands.value) co_return stands.value->error();
  if (!looked) co_return looked.error();
  Barrier barrier = std::move(*looked);
  if (request.shown != nullptr) *request.shown = barrier.highest;
  Result<Version> version = co_await ChooseVersion(engine, request, barrier);
  if (!version) co_return version.error();
  const std::string from = FormatState(request.seal);
  const State promoted = PromotedState(*version, request.seal.oid, request.size, request.given);
  const std::string to = FormatState(promoted);
  XEC_FAILPOINT("put.promote");
  Result<bool> committed = co_await PromoteHomes(engine, request.path, barrier.sealed_homes, promoted, from);
  if (!committed) co_return committed.error();
  XEC_FAILPOINT("put.committed");
  for (const MemberIndex home : homes) {
    const bool heard = Contains(barrier.sealed_homes, home) || Contains(barrier.void_homes, home);
    if (!heard) PromoteWhenBack(engine, request.path, home, promoted, from);
  }
  const std::optional<ParentNeed> parent = request.parent;
  const ObjectPath path = request.path;
  co_await PromoteOthers(engine, std::move(request), from, to);
  XEC_FAILPOINT("put.promoted");
  if (parent) {
    const Status stays = co_await StayInParent(engine, path, *parent, stood_at);
    if (!stays) co_return stays.error();
  }
  co_return *version;
}

Task<void> AbandonUpload(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> archives) {
  XEC_FAILPOINT("put.abandon");
  co_await RemoveSeals(engine, std::move(path), std::move(seal), std::move(archives));
  XEC_FAILPOINT("put.abandoned");
}

}  // namespace xec
