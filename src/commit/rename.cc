// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/attributes.hh"
#include "commit/fence.hh"
#include "commit/move.hh"
#include "commit/pause.hh"
#include "commit/promote.hh"
#include "commit/seals.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

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
  bool begun = false;  // with sealing them
  TimePoint stood_at;  // in the parent of the target
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
  // A home that failed is not counted; what stands there all the same would look like a rename under way.
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

// Step 2. `changed`: something else than before the seals lives there now.
Task<Status> DecideSource(Engine& engine, Attempt attempt, SealsSeen sealed, bool* changed) {
  Status stand = NeedSeals(sealed, attempt.from);
  if (!stand) co_return std::move(stand);
  const Look& look = sealed.look;
  Status alone = NoRival(look.listings(), attempt.from, attempt.own);
  if (!alone) co_return std::move(alone);
  std::vector<MemberIndex> holders = look.WithHighest();
  if (!look.Decided()) {
    const Late late_ones = attempt.last ? Late::kWaitedFor : Late::kPassedOver;
    RollOutcome rolled =
        co_await RollForwardAll(engine, attempt.from, look, look.LackingHighest(), late_ones);
    *changed = rolled.superseded;
    if (rolled.superseded) co_return ChangedMeanwhile(attempt.from);
    holders.insert(holders.end(), rolled.accepted.begin(), rolled.accepted.end());
    if (holders.size() < look.quorum()) {
      *changed = !attempt.last;
      co_return Fail(Code::kNoQuorum, "cannot tell what {} is: too few of its homes accept writes; retry",
                     attempt.from.text());
    }
  }
  Status finished =
      co_await FinishMovesShown(engine, attempt.from, look.listings(), look.highest(), std::move(holders),
                                attempt.last ? Late::kWaitedFor : Late::kPassedOver);
  // Completed since the look, or shown by a home that has just died: another look tells.
  *changed = !finished || !(look.highest() == attempt.source);
  if (!finished && finished.code() != Code::kNotFound) co_return std::move(finished);
  if (*changed) co_return ChangedMeanwhile(attempt.from);
  co_return OkStatus();
}

// What is to be replaced, if the terms say it. Whoever puts something there meanwhile and shows may have
// chosen its version already.
Task<Status> NeedTarget(Engine& engine, Attempt attempt, Look look) {
  const OnlyIf& only_if = attempt.terms.target;
  if (!only_if.absent && !only_if.version) co_return OkStatus();
  std::vector<State> others = MakingUnderWay(look.listings(), look.highest());
  std::erase_if(others, [&](const State& seal) { return attempt.own.contains(seal.oid); });
  if (!others.empty())
    co_return Fail(Code::kConflict, "something else is being put at {}; retry", attempt.to.text());
  // Brought to a quorum before anybody is told of it.
  Result<NameInfo> there = co_await LookUp(engine, attempt.to);
  if (!there) co_return there.error();
  if (only_if.absent && there->accepted.Live())
    co_return Fail(Code::kAlreadyExists, "{} exists", attempt.to.text());
  if (only_if.version && (!there->accepted.Live() || there->accepted.version != *only_if.version))
    co_return NotCurrent(attempt.to);
  if (there->accepted == look.highest()) co_return OkStatus();
  co_return ChangedMeanwhile(attempt.to);
}

// Step 3: the moved tombstone, with a version above everything at the target that the target's seals have
// seen.
Task<Result<State>> ChooseTarget(Engine& engine, Attempt attempt, SealsSeen sealed, Look source,
                                 bool* changed) {
  const Status stand = NeedSeals(sealed, attempt.to);
  if (!stand) co_return stand.error();
  // Of a directory's rename: what somebody has put there meanwhile stays.
  if (attempt.terms.below && sealed.look.highest().Live())
    co_return Fail(Code::kNotEmpty, "{} is in the way", attempt.to.text());
  if (sealed.look.highest().kind == Accepted::kDirectory) {
    Error in_the_way = co_await DirectoryInTheWay(engine, attempt.to);
    *changed = in_the_way.code == Code::kConflict;
    co_return std::move(in_the_way);
  }
  if (DirectoryUnderWay(sealed.look.listings(), sealed.look.highest()))
    co_return DirectoryBeingMade(attempt.to);
  const Status meant = co_await NeedTarget(engine, attempt, sealed.look);
  if (!meant) co_return meant.error();
  Result<Version> version = engine.NextVersion(sealed.look.ceiling());
  if (!version) co_return version.error();
  uint64_t proved = 0;
  const std::vector<MemberIndex>& homes = sealed.look.homes();
  for (size_t i = 0; i < homes.size() && i < 64; ++i) {
    const bool stands = Contains(sealed.homes, homes[i]);
    if (stands) proved |= uint64_t{1} << i;
  }
  NameInfo info{attempt.from, attempt.source, source.WithHighest(), source.listings()};
  Result<std::optional<AttributeRevision>> attributes = co_await ReadAttributes(engine, std::move(info));
  *changed = !attributes && attributes.code() == Code::kConflict;
  if (!attributes) co_return attributes.error();
  XEC_FAILPOINT("rename.attributes");
  if (*attributes && !MutantActive(Mutant::kRenameWithoutAttributes)) {
    // Before the commit: whoever sees the new name sees them.
    const Status copied = co_await CopyAttributes(engine, attempt.to, *version, **attributes);
    if (!copied) co_return copied.error();
  }
  co_return MovedState(attempt.source.version, attempt.rid, *version, proved);
}

// The look at the target, again as long as it shows a directory that is being made.
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

// Steps 1 to 3. `changed`: another attempt may do better. An error: nothing of this attempt is or becomes
// visible once Withdraw is through.
Task<Result<State>> Prepare(Engine& engine, Attempt attempt, SealedHomes* homes, bool* changed) {
  // Any archive or witness will do: its origin is replaced below.
  Accepted source_version = attempt.source;
  source_version.origin.clear();
  const Late late_ones = attempt.last ? Late::kWaitedFor : Late::kPassedOver;
  Result<std::string> text = co_await CopyManifest(engine, attempt.from, source_version, late_ones);
  // No home has the version any more, or none that answers: the name was changed since it was looked up,
  // whatever it is now.
  const bool silent = !text && text.code() == Code::kUnavailable && !attempt.last;
  *changed = silent || (!text && text.code() == Code::kConflict);
  if (*changed) co_return ChangedMeanwhile(attempt.from);
  if (!text) co_return text.error();
  Result<Manifest> manifest = Manifest::Parse(*text);
  if (!manifest) co_return manifest.error();
  Result<std::string> witness =
      WitnessContent(*text, ManifestFrom{attempt.from.text(), attempt.source.version.ToString()});
  if (!witness) co_return witness.error();
  const MoveRecord record{attempt.to, attempt.source.oid, attempt.source.size, manifest->servers,
                          attempt.source.etag};

  const State in = MoveInState(attempt.rid);
  const State out = MoveOutState(attempt.rid);
  XEC_FAILPOINT("rename.seal");
  homes->begun = true;
  const std::string content = std::move(*witness);
  const std::vector<MemberIndex> any_order;
  HomesSealed target_homes = co_await SealQuorum(engine, attempt.to, any_order, [&](MemberIndex home) {
    return SealHome(engine, attempt.to, home, in, content);
  });
  homes->in = std::move(target_homes.sealed);
  GiveUpLateSeals(engine, attempt.to, in, target_homes.unsure);
  XEC_FAILPOINT("rename.sealed_target");
  const std::string moves = FormatMoveRecord(record);
  HomesSealed source_homes = co_await SealQuorum(engine, attempt.from, any_order, [&](MemberIndex home) {
    return SealHome(engine, attempt.from, home, out, moves);
  });
  homes->out = std::move(source_homes.sealed);
  GiveUpLateSeals(engine, attempt.from, out, source_homes.unsure);
  XEC_FAILPOINT("rename.sealed_source");
  if (homes->in.size() < Quorum(engine.Homes(attempt.to).size()) ||
      homes->out.size() < Quorum(engine.Homes(attempt.from).size())) {
    co_return Fail(Code::kNoQuorum, "too few homes of {} and {} take changes now; retry", attempt.from.text(),
                   attempt.to.text());
  }
  SealsSeen source = co_await LookAtSeals(engine, attempt.from, out, homes->out, attempt.last);
  *changed = source.late || !source.look.HasQuorum();
  if (*changed) co_return StoppedAnswering(attempt.from);
  const Status decided = co_await DecideSource(engine, attempt, source, changed);
  if (!decided) co_return decided.error();
  if (attempt.terms.below) {
    // After the look: what was seen there belonged to this directory, and may move even if it goes now.
    const Status there = co_await NeedDirectoryVersion(engine, *attempt.terms.below);
    if (!there) co_return there.error();
  }
  XEC_FAILPOINT("rename.looked");
  SealsSeen target = co_await LookPastDirectory(engine, attempt, in, homes->in);
  *changed = target.late || !target.look.HasQuorum();
  if (*changed) co_return StoppedAnswering(attempt.to);
  homes->stood_at = engine.executor().Now();
  if (attempt.terms.parent) {
    const Status stands = co_await StandInParent(engine, attempt.to, *attempt.terms.parent);
    if (!stands) co_return stands.error();
  }
  Result<State> moved = co_await ChooseTarget(engine, attempt, std::move(target), source.look, changed);
  homes->out = source.homes;
  co_return std::move(moved);
}

// What is left of an own attempt at its source. If not all homes were fenced: as it was made, or then as
// aborted, which the fencing of a home that is late may make of it in between.
Task<bool> RemoveOut(Engine& engine, ObjectPath path, MemberIndex home, State out, bool fenced) {
  bool gone = true;
  if (!fenced) gone = co_await RemoveOrGiveUp(engine, home, path, out);
  gone = co_await RemoveOrGiveUp(engine, home, path, AbortedState(out)) && gone;
  co_return gone;
}

// The seals of an attempt that has not committed, given up as the cleaner would do it. Where homes are away
// they go as well: nobody else is the first to promote them, and this attempt never does.
Task<bool> Withdraw(Engine& engine, Attempt attempt) {
  XEC_FAILPOINT("rename.withdraw");
  const State out = MoveOutState(attempt.rid);
  const bool fenced = co_await FenceAllHomes(engine, attempt.from, out);
  ServerGather<bool> gather_in(engine);
  ServerGather<bool> gather_out(engine);
  const State in = MoveInState(attempt.rid);
  for (const MemberIndex home : engine.Homes(attempt.to))
    gather_in.Start(home, RemoveOrGiveUp(engine, home, attempt.to, in));
  for (const MemberIndex home : engine.Homes(attempt.from))
    gather_out.Start(home, RemoveOut(engine, attempt.from, home, out, fenced));
  while (gather_in.timely() > 0) co_await gather_in.Next();
  while (gather_out.timely() > 0) co_await gather_out.Next();
  XEC_FAILPOINT("rename.withdrawn");
  co_return fenced;
}

// F2 of the rename just committed.
Task<bool> BringArchives(Engine& engine, ObjectPath from, Accepted moved) {
  Result<MoveRecord> record = co_await ReadMoveRecord(engine, from, moved);
  if (!record) co_return false;
  std::vector<MemberIndex> servers = ServersOfMove(engine, from, *record);
  const size_t count = servers.size();
  const size_t clear = co_await MoveArchives(engine, from, moved, *record, std::move(servers));
  co_return clear == count;
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

// What lives at the source. A seal of another rename that shows there mostly goes soon: the rename ends, or
// who has given it up tidies what it left on a server that was away.
Task<Result<NameInfo>> LookPastRename(Engine& engine, ObjectPath from, std::set<std::string> own) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  for (;;) {
    Result<NameInfo> source = co_await LookUpLive(engine, from);
    const bool alone = !source || NoRival(source->listings, from, own);
    if (alone || engine.executor().Now() + pause > start + kRenamePatience) co_return std::move(source);
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

// Before the first seal. `own`: attempts that are over.
Task<Result<Accepted>> CheckNames(Engine& engine, ObjectPath from, ObjectPath to, std::set<std::string> own) {
  Result<NameInfo> source = co_await LookPastRename(engine, from, own);
  if (!source) co_return source.error();
  if (source->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", from.text());
  if (from == to) co_return source->accepted;
  Result<NameInfo> target = co_await LookUp(engine, to);
  if (!target) co_return target.error();
  if (target->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", to.text());
  // It would yield after sealing; seals of a rename that died stay as long as a home is away, and who tries
  // again meanwhile must not leave more of them each time.
  const Status alone = NoRival(source->listings, from, own);
  if (!alone) co_return alone.error();
  co_return source->accepted;
}

}  // namespace

Task<Status> RenameObject(Engine& engine, ObjectPath from, ObjectPath to, RenameTerms terms) {
  std::set<std::string> own;
  for (int tries = 1;; ++tries) {
    Result<Accepted> source = co_await CheckNames(engine, from, to, own);
    if (!source) co_return source.error();
    if (from == to && terms.target.absent) co_return Fail(Code::kAlreadyExists, "{} exists", to.text());
    if (from == to) co_return OkStatus();
    const std::string rid = engine.NewObjectId();
    own.insert(rid);
    if (terms.source && source->version != *terms.source) co_return NotCurrent(from);
    Attempt attempt{from, to, rid, *source, own, engine.executor().Now(), terms, tries == kRenameTriesMax};
    SealedHomes homes;
    bool changed = false;
    Result<State> moved = co_await Prepare(engine, attempt, &homes, &changed);
    if (moved && engine.executor().Now() - attempt.started > engine.options().operation_limit) {
      moved = Fail(Code::kConflict, "the rename of {} took too long; retry", from.text());
    }
    Status done = moved ? OkStatus() : Status(moved.error());
    if (moved) done = co_await Commit(engine, attempt, *moved, homes.out);
    if (moved && done && terms.parent)
      done = co_await StayInParent(engine, to, *terms.parent, homes.stood_at);
    // Nothing is known to be visible after these; after kUnknown or OK the tombstone may be.
    const bool void_attempt = !moved || (!done && done.code() == Code::kConflict);
    if (void_attempt && homes.begun) co_await RunPatiently(engine, Withdraw(engine, attempt));
    if (!changed || tries == kRenameTriesMax) co_return std::move(done);
  }
}

}  // namespace xec
