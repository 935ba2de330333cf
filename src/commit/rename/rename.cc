// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename/rename.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "commit/engine/tried.hh"
#include "commit/programs/attributes.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/steps/move.hh"
#include "commit/steps/promote.hh"
#include "commit/steps/roll_forward.hh"
#include "commit/steps/seals.hh"

namespace xec {
namespace {

constexpr size_t kHomesMarked = 16;

constexpr int kRenameTriesMax = 4;
constexpr Duration kRenamePatience = std::chrono::seconds(10);  // with the seals of another rename

// One attempt, under an id of its own.
struct Attempt {
  ObjectPath from;
  ObjectPath to;
  std::string rid;
  Accepted source;            // what was live before the seals
  std::set<std::string> own;  // this and the attempts before it, none of which can commit any more
  TimePoint started;
  RenameTerms terms;
  bool last = false;  // homes that are late are waited for
};

// The homes on which the seals of an attempt stand for certain.
struct SealedHomes {
  std::vector<MemberIndex> in;
  std::vector<MemberIndex> out;
};

Task<Status> SealHome(Engine& engine, ObjectPath path, MemberIndex home, State seal, std::string content) {
  Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return named.error();
  Status sealed =
      co_await CreateFile(engine.MetadataCall(), engine.server(home), StatePath(path, FormatState(seal)),
                          std::move(content), engine.SyncBeforeCommit());
  if (sealed) sealed = co_await KeepLongName(engine, home, path);
  // A home that failed is not counted. A seal that stands there all the same would look like a rename under
  // way.
  if (!sealed) engine.given_up_files().Add(home, StatePath(path, FormatState(seal)));
  XEC_FAILPOINT("rename.sealed_one");
  co_return std::move(sealed);
}

Error StoppedAnswering(const ObjectPath& path) {
  return Fail(Code::kNoQuorum, "a home of {} stopped answering while it was renamed; retry", path.text());
}

Status NeedSeals(const SealsSeen& sealed, const ObjectPath& path) {
  const size_t quorum = sealed.look.quorum();
  if (!sealed.look.HasQuorum()) return StoppedAnswering(path);
  if (sealed.homes.size() >= quorum) return OkStatus();
  return Fail(Code::kConflict,
              "the rename of {} was given up by the cleaner because it was silent too long; retry",
              path.text());
}

Status NoRival(const std::map<MemberIndex, States>& listings, const ObjectPath& path,
               const std::set<std::string>& own) {
  if (!AnyRenameRival(listings, own)) return OkStatus();
  return Fail(Code::kConflict, "another rename of {} is under way or has died; retry", path.text());
}

Error ChangedMeanwhile(const ObjectPath& path) {
  return Fail(Code::kConflict, "{} was changed while it was renamed; retry", path.text());
}

// Step 2.
Task<Tried<void>> DecideSource(Engine& engine, Attempt attempt, SealsSeen sealed) {
  const Status stand = NeedSeals(sealed, attempt.from);
  if (!stand) co_return stand;
  const Look& look = sealed.look;
  const Status alone = NoRival(look.listings(), attempt.from, attempt.own);
  if (!alone) co_return alone;
  std::vector<MemberIndex> holders = look.WithHighest();
  if (!look.Decided()) {
    const Late late_ones = attempt.last ? Late::kWaitedFor : Late::kPassedOver;
    RollOutcome rolled =
        co_await RollForwardAll(engine, attempt.from, look, look.LackingHighest(), late_ones);
    if (rolled.superseded) co_return Tried<void>(ChangedMeanwhile(attempt.from), true);
    holders.insert(holders.end(), rolled.accepted.begin(), rolled.accepted.end());
    if (holders.size() < look.quorum())
      co_return Tried<void>(
          Fail(Code::kNoQuorum, "cannot tell what {} is: too few of its homes accept writes; retry",
               attempt.from.text()),
          !attempt.last);
  }
  Status finished =
      co_await FinishMovesShown(engine, attempt.from, look.listings(), look.highest(), std::move(holders),
                                attempt.last ? Late::kWaitedFor : Late::kPassedOver);
  // The move was completed since the look, or shown by a home that has just died; another look tells.
  if (!finished && finished.code() != Code::kNotFound) co_return Tried<void>(std::move(finished), true);
  if (!finished || !(look.highest() == attempt.source))
    co_return Tried<void>(ChangedMeanwhile(attempt.from), true);
  co_return OkStatus();
}

// Checks that what is to be replaced is there, if the terms name it. An upload to the target that shows may
// have chosen its version already.
Task<Status> NeedTarget(Engine& engine, Attempt attempt, Look look) {
  const OnlyIf& only_if = attempt.terms.target;
  if (!only_if.absent && !only_if.version) co_return OkStatus();
  std::vector<State> others = MakingUnderWay(look.listings(), look.highest());
  std::erase_if(others, [&](const State& seal) { return attempt.own.contains(seal.oid); });
  if (!others.empty())
    co_return Fail(Code::kConflict, "something else is being put at {}; retry", attempt.to.text());
  // The look-up brings it to a quorum before anybody is told of it.
  Result<NameInfo> there = co_await LookUp(engine, attempt.to);
  if (!there) co_return there.error();
  if (only_if.absent && there->accepted.Live())
    co_return Fail(Code::kAlreadyExists, "{} exists", attempt.to.text());
  if (only_if.version && (!there->accepted.Live() || there->accepted.version != *only_if.version))
    co_return NotCurrent(attempt.to);
  if (there->accepted == look.highest()) co_return OkStatus();
  co_return ChangedMeanwhile(attempt.to);
}

// Step 3 makes the moved tombstone, with a version above everything at the target that the target's seals
// have seen.
Task<Tried<State>> ChooseTarget(Engine& engine, Attempt attempt, SealsSeen sealed, Look source) {
  const Status stand = NeedSeals(sealed, attempt.to);
  if (!stand) co_return stand.error();
  // The rename of a directory leaves what somebody has put there meanwhile.
  if (attempt.terms.below && sealed.look.highest().Live())
    co_return Fail(Code::kNotEmpty, "{} is in the way", attempt.to.text());
  if (sealed.look.highest().kind == Accepted::kDirectory) {
    Error in_the_way = co_await DirectoryInTheWay(engine, attempt.to);
    const bool gone = in_the_way.code == Code::kConflict;
    co_return Tried<State>(std::move(in_the_way), gone);
  }
  if (DirectoryUnderWay(sealed.look.listings(), sealed.look.highest()))
    co_return DirectoryBeingMade(attempt.to);
  const Status meant = co_await NeedTarget(engine, attempt, sealed.look);
  if (!meant) co_return meant.error();
  Result<Version> version = engine.NextVersion(sealed.look.ceiling());
  if (!version) co_return version.error();
  // Those of a quorum are enough: any other one meets one of them. More would make a long name too long.
  const size_t most = std::max(sealed.look.quorum(), kHomesMarked);
  std::vector<MemberIndex> proved;
  for (const MemberIndex home : sealed.look.homes()) {
    const bool stands = Contains(sealed.homes, home);
    if (stands && proved.size() < most) proved.push_back(home);
  }
  NameInfo info{.path = attempt.from,
                .accepted = attempt.source,
                .holders = source.WithHighest(),
                .listings = source.listings()};
  Result<std::optional<AttributeRevision>> attributes = co_await ReadAttributes(engine, std::move(info));
  if (!attributes) co_return Tried<State>(attributes.error(), attributes.code() == Code::kConflict);
  XEC_FAILPOINT("rename.attributes");
  if (*attributes && !MutantActive(Mutant::kRenameWithoutAttributes)) {
    // This is done before the commit, so that everybody who sees the new name sees the attributes.
    const Status copied = co_await CopyAttributes(engine, attempt.to, *version, **attributes);
    if (!copied) co_return copied.error();
  }
  co_return Tried<State>(
      MovedState(attempt.source.version, attempt.rid, *version, MarksOf(engine.descriptor(), proved)));
}

// Looks at the target, again and again as long as it shows a directory that is being made.
Task<SealsSeen> LookPastDirectory(Engine& engine, Attempt attempt, State seal,
                                  std::vector<MemberIndex> homes) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  for (;;) {
    SealsSeen seen = co_await LookAtSeals(engine, attempt.to, seal, homes, attempt.last);
    const bool decided = !DirectoryUnderWay(seen.look.listings(), seen.look.highest());
    if (decided || seen.late || engine.executor().Now() + pause > start + kDirectoryPatience)
      co_return std::move(seen);
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

// What the seals of an attempt have in them.
struct Contents {
  std::string witness;  // at the target
  std::string record;  // at the source, a MoveRecord
};

Task<Tried<Contents>> ReadContents(Engine& engine, Attempt attempt) {
  // Any archive or witness will do, since its origin is replaced below.
  Accepted source_version = attempt.source;
  source_version.origin.clear();
  const Late late_ones = attempt.last ? Late::kWaitedFor : Late::kPassedOver;
  Result<std::string> text = co_await CopyManifest(engine, attempt.from, source_version, late_ones);
  // No home has the version any more, or none that answers. So the name was changed since it was looked up,
  // whatever it is now.
  const bool silent = !text && text.code() == Code::kUnavailable && !attempt.last;
  if (silent || (!text && text.code() == Code::kConflict))
    co_return Tried<Contents>(ChangedMeanwhile(attempt.from), true);
  if (!text) co_return text.error();
  Result<Manifest> manifest = Manifest::Parse(*text);
  if (!manifest) co_return manifest.error();
  Result<std::string> witness =
      WitnessContent(*text, ManifestFrom{attempt.from.text(), attempt.source.version.ToString()});
  if (!witness) co_return witness.error();
  MoveRecord record{.to = attempt.to,
                    .oid = attempt.source.oid,
                    .size = attempt.source.size,
                    .servers = manifest->servers,
                    .given = attempt.source.given};
  if (MutantActive(Mutant::kRenameLosesSettings)) record.given.settings = Settings();
  co_return Tried<Contents>(Contents{std::move(*witness), FormatMoveRecord(record)});
}

// Step 1.
Task<SealedHomes> SealBoth(Engine& engine, Attempt attempt, Contents contents) {
  const State in = MoveInState(attempt.rid);
  const State out = MoveOutState(attempt.rid);
  const std::vector<MemberIndex> any_order;
  XEC_FAILPOINT("rename.seal");
  HomesSealed target = co_await SealQuorum(engine, attempt.to, any_order, [&](MemberIndex home) {
    return SealHome(engine, attempt.to, home, in, contents.witness);
  });
  GiveUpLateSeals(engine, attempt.to, in, target.unsure);
  XEC_FAILPOINT("rename.sealed_target");
  HomesSealed source = co_await SealQuorum(engine, attempt.from, any_order, [&](MemberIndex home) {
    return SealHome(engine, attempt.from, home, out, contents.record);
  });
  GiveUpLateSeals(engine, attempt.from, out, source.unsure);
  XEC_FAILPOINT("rename.sealed_source");
  co_return SealedHomes{.in = std::move(target.sealed), .out = std::move(source.sealed)};
}

// What an attempt is to commit.
struct Chosen {
  State moved;
  std::vector<MemberIndex> out;  // homes of the source on which its seal stands
  TimePoint stood_at;  // in the parent of the target
  std::optional<ObjectGone> replaced;
};

// Does steps 2 and 3. An error: nothing of this attempt is or becomes visible once Withdraw is through.
Task<Tried<Chosen>> LookAndChoose(Engine& engine, Attempt attempt, SealedHomes homes) {
  if (homes.in.size() < engine.HomeQuorum(attempt.to) || homes.out.size() < engine.HomeQuorum(attempt.from)) {
    co_return Fail(Code::kNoQuorum, "too few homes of {} and {} take changes now; retry", attempt.from.text(),
                   attempt.to.text());
  }
  const State out = MoveOutState(attempt.rid);
  SealsSeen source = co_await LookAtSeals(engine, attempt.from, out, std::move(homes.out), attempt.last);
  if (source.late || !source.look.HasQuorum()) co_return Tried<Chosen>(StoppedAnswering(attempt.from), true);
  const Tried<void> decided = co_await DecideSource(engine, attempt, source);
  if (!decided.result) co_return Tried<Chosen>(decided.result.error(), decided.again);
  if (attempt.terms.below) {
    // This comes after the look: what was seen there belonged to this directory, and may move even if the
    // directory goes now.
    const Status there = co_await NeedDirectoryVersion(engine, *attempt.terms.below);
    if (!there) co_return there.error();
  }
  XEC_FAILPOINT("rename.looked");
  SealsSeen target =
      co_await LookPastDirectory(engine, attempt, MoveInState(attempt.rid), std::move(homes.in));
  if (target.late || !target.look.HasQuorum()) co_return Tried<Chosen>(StoppedAnswering(attempt.to), true);
  const TimePoint stood_at = engine.executor().Now();
  if (attempt.terms.parent) {
    const Status stands = co_await StandInParent(engine, attempt.to, *attempt.terms.parent);
    if (!stands) co_return stands.error();
  }
  std::optional<ObjectGone> replaced;
  const Accepted& there = target.look.highest();
  if (there.kind == Accepted::kObject) replaced.emplace(ObjectGone{there.version, there.size});
  const Tried<State> moved = co_await ChooseTarget(engine, attempt, std::move(target), source.look);
  if (!moved.result) co_return Tried<Chosen>(moved.result.error(), moved.again);
  if (engine.executor().Now() - attempt.started > engine.options().operation_limit)
    co_return Fail(Code::kConflict, "the rename of {} took too long; retry", attempt.from.text());
  co_return Tried<Chosen>(Chosen{
      .moved = *moved.result, .out = std::move(source.homes), .stood_at = stood_at, .replaced = replaced});
}

// Removes what is left of an own attempt at its source. If not all homes were fenced, the seal is removed as
// it was made, and then as aborted, which the fencing of a late home may make of it in between.
Task<void> RemoveOut(Engine& engine, ObjectPath path, MemberIndex home, State out, bool fenced) {
  if (!fenced) co_await RemoveOrGiveUp(engine, home, path, out);
  co_await RemoveOrGiveUp(engine, home, path, AbortedState(out));
}

// Gives up the seals of an attempt that has not committed, as the cleaner would do it. Where homes are away
// the seals go as well: nobody else is the first to promote them, and this attempt never does.
Task<void> Withdraw(Engine& engine, Attempt attempt) {
  XEC_FAILPOINT("rename.withdraw");
  const State out = MoveOutState(attempt.rid);
  const bool fenced = co_await FenceAllHomes(engine, attempt.from, out);
  ServerGather<NoAnswer> gather_in(engine);
  ServerGather<NoAnswer> gather_out(engine);
  const State in = MoveInState(attempt.rid);
  for (const MemberIndex home : engine.Homes(attempt.to))
    gather_in.Start(home, RemoveOrGiveUp(engine, home, attempt.to, in));
  for (const MemberIndex home : engine.Homes(attempt.from))
    gather_out.Start(home, RemoveOut(engine, attempt.from, home, out, fenced));
  while (gather_in.timely() > 0) co_await gather_in.Next();
  while (gather_out.timely() > 0) co_await gather_out.Next();
  XEC_FAILPOINT("rename.withdrawn");
}

// F2 of the rename just committed.
Task<void> BringArchives(Engine& engine, ObjectPath from, Accepted moved) {
  Result<MoveRecord> record = co_await ReadMoveRecord(engine, from, moved);
  if (!record) co_return;
  std::vector<MemberIndex> servers = ServersOfMove(engine, from, *record);
  co_await MoveArchives(engine, from, moved, *record, std::move(servers));
}

// Step 4 and 5.
Task<Status> Commit(Engine& engine, Attempt attempt, State moved, std::vector<MemberIndex> homes) {
  XEC_FAILPOINT("rename.promote");
  Result<bool> committed = co_await PromoteHomes(engine, attempt.from, std::move(homes), moved,
                                                 FormatState(MoveOutState(attempt.rid)));
  if (!committed) co_return committed.error();
  XEC_FAILPOINT("rename.committed");
  const Accepted accepted = AcceptedFrom(moved);
  Status finished = co_await FinishTarget(engine, attempt.from, accepted, Tombstone::kDurable);
  if (!finished && finished.code() != Code::kNotFound) {
    co_return Fail(Code::kUnknown, "{} was renamed to {}, but too few homes of the new name answer; retry",
                   attempt.from.text(), attempt.to.text());
  }
  XEC_FAILPOINT("rename.target");
  co_await RunPatiently(engine, BringArchives(engine, attempt.from, accepted));
  XEC_FAILPOINT("rename.done");
  co_return OkStatus();
}

Task<Result<NameInfo>> LookUpUnlessSeen(Engine& engine, ObjectPath path, std::optional<NameInfo> seen) {
  if (seen) co_return std::move(*seen);
  co_return co_await LookUpLive(engine, std::move(path));
}

// Finds what lives at the source. A seal of another rename that shows there mostly goes soon: that rename
// ends, or the process that has given it up tidies what it left on a server that was away.
Task<Result<NameInfo>> LookPastRename(Engine& engine, ObjectPath from, std::set<std::string> own,
                                      std::optional<NameInfo> seen) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  for (;;) {
    Result<NameInfo> source = co_await LookUpUnlessSeen(engine, from, std::exchange(seen, std::nullopt));
    const bool alone = !source || NoRival(source->listings, from, own);
    if (alone || engine.executor().Now() + pause > start + kRenamePatience) co_return std::move(source);
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

// Checks both names before the first seal. `own`: attempts that are over.
Task<Result<Accepted>> CheckNames(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own,
                                  std::optional<NameInfo> seen) {
  Result<NameInfo> source = co_await LookPastRename(engine, from, own, std::move(seen));
  if (!source) co_return source.error();
  if (source->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", from.text());
  if (from == to) co_return source->accepted;
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (target->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", to.text());
  // Otherwise it would yield after sealing. Seals of a rename that died stay as long as a home is away, and a
  // client that tries again meanwhile must not leave more of them each time.
  const Status alone = NoRival(source->listings, from, own);
  if (!alone) co_return alone.error();
  co_return source->accepted;
}

Task<Tried<Renamed>> TryToRename(Engine& engine, Attempt attempt) {
  Tried<Contents> contents = co_await ReadContents(engine, attempt);
  if (!contents.result) co_return Tried<Renamed>(contents.result.error(), contents.again);
  Renamed renamed{.version = attempt.source.version, .size = attempt.source.size};
  SealedHomes homes = co_await SealBoth(engine, attempt, std::move(*contents.result));
  Tried<Chosen> chosen = co_await LookAndChoose(engine, attempt, std::move(homes));
  Status done = chosen.result ? OkStatus() : Status(chosen.result.error());
  if (chosen.result)
    done = co_await Commit(engine, attempt, chosen.result->moved, std::move(chosen.result->out));
  if (done && attempt.terms.parent)
    done = co_await StayInParent(engine, attempt.to, *attempt.terms.parent, chosen.result->stood_at);
  // After these errors nothing is visible; after kUnknown or OK the tombstone may be.
  const bool is_void = !chosen.result || (!done && done.code() == Code::kConflict);
  if (is_void) co_await RunPatiently(engine, Withdraw(engine, std::move(attempt)));
  if (!done) co_return Tried<Renamed>(done.error(), chosen.again);
  renamed.replaced = chosen.result->replaced;
  co_return Tried<Renamed>(std::move(renamed));
}

}  // namespace

Task<Result<Renamed>> RenameObject(Engine& engine, ObjectPath from, ObjectPath to, RenameTerms terms) {
  std::set<std::string> own;
  std::optional<NameInfo> seen = std::exchange(terms.seen, std::nullopt);
  for (int tries = 1;; ++tries) {
    Result<Accepted> source = co_await CheckNames(engine, from, to, own, std::exchange(seen, std::nullopt));
    if (!source) co_return source.error();
    if (from == to && terms.target.absent) co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
    if (from == to) co_return Renamed{.version = source->version, .size = source->size};
    const std::string rid = engine.NewObjectId();
    own.insert(rid);
    if (terms.source && source->version != *terms.source) co_return NotCurrent(from);
    const bool last = tries == kRenameTriesMax;
    Attempt attempt{.from = from,
                    .to = to,
                    .rid = rid,
                    .source = std::move(*source),
                    .own = own,
                    .started = engine.executor().Now(),
                    .terms = terms,
                    .last = last};
    Tried<Renamed> renamed = co_await TryToRename(engine, std::move(attempt));
    if (!renamed.again || last) co_return std::move(renamed.result);
  }
}

}  // namespace xec
