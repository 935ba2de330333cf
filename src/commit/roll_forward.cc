// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/roll_forward.hh"

#include <algorithm>

#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/log.hh"
#include "base/mutant.hh"
#include "commit/archive_end.hh"
#include "commit/move.hh"
#include "commit/server_gather.hh"

namespace xec {

State DraftOf(Engine& engine, const Accepted& version) {
  State draft;
  draft.kind = StateKind::kUnproved;
  draft.version = version.version;
  draft.oid = version.oid;
  draft.nonce = engine.NewNonce();
  return draft;
}

Task<RollResult> StandingElsewhere(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                                   Duration least) {
  std::vector<MemberIndex> others = engine.Homes(path);
  std::erase(others, home);
  RollResult standing = RollResult::kFailed;
  co_await AskInTurn<Result<States>>(
      engine, std::move(others), [&](MemberIndex other) { return ListStates(engine, other, path); },
      [&](MemberIndex, const Result<States>& states) {
        if (states && HighestAccepted(*states) == goal) standing = RollResult::kAccepted;
        if (states && goal < HighestAccepted(*states)) standing = RollResult::kOvertaken;
        return standing != RollResult::kFailed;
      },
      UnlessTooMany(engine, Late::kPassedOver), least);
  co_return standing;
}

namespace {

constexpr int kRollTriesMax = 3;

// What homes say of the manifest of a version: one of them (without text and problem: it does not show the
// version), or all, until one has it.
struct ManifestFound {
  std::optional<std::string> text;
  std::string origin;  // of the state that has it
  std::optional<Error> problem;
  size_t silent = 0;  // homes that could not be asked, or read, now
  size_t damaged = 0;  // homes that show the version, but no manifest of it
};

// No home has shown a whole witness with the origin of a version, and so many may still have one or had one
// that is damaged. The rename that brought it committed with whole ones on a quorum, and each of these goes
// only when the rename is complete: if some of that quorum must have let go of theirs, it is.
bool IsMoveComplete(const Engine& engine, size_t open) {
  return open <= engine.HomeCount() - engine.HomeQuorum();
}

Task<ManifestFound> ManifestOn(Engine& engine, ObjectPath path, MemberIndex home, Accepted version) {
  ManifestFound found;
  Result<States> states = co_await ListStates(engine, home, path);
  if (!states) {
    found.problem =
        Fail(Code::kUnavailable, "cannot tell what {} is: {}", path.text(), states.error().message);
    found.silent = 1;
    co_return std::move(found);
  }
  // The seal of the rename that brought it may become a whole witness.
  const bool moving_in = std::any_of(states->begin(), states->end(), [&](const State& state) {
    return state.kind == StateKind::kMoveIn && state.oid == version.origin;
  });
  if (moving_in) found.silent = 1;
  // A copy of what knows the origin will know it, too.
  std::stable_partition(states->begin(), states->end(),
                        [](const State& state) { return !state.origin.empty(); });
  for (const State& state : *states) {
    const bool holds = state.Accepted() && state.version == version.version && state.oid == version.oid &&
                       (version.origin.empty() || state.origin == version.origin);
    if (!holds) continue;
    Result<std::string> text = co_await ReadManifestText(engine, home, StatePath(path, FormatState(state)));
    // A home may accept a version with a file that its writer never knew it had: perhaps empty.
    const Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (manifest && manifest->object_id == version.oid) {
      found.text = std::move(*text);
      found.origin = state.origin;
      co_return std::move(found);
    }
    const bool unread = !manifest && manifest.code() != Code::kCorruption;
    (unread ? found.silent : found.damaged) = 1;
    found.problem = manifest ? Fail(Code::kCorruption, "{} on {} belongs to another object",
                                    FormatState(state), engine.server_id(home))
                             : Fail(Code::kUnavailable, "cannot read {} on {}: {}", FormatState(state),
                                    engine.server_id(home), manifest.error().message);
  }
  co_return std::move(found);
}

// Of the version as it is known: with an origin, by the states that name it.
Task<ManifestFound> FindManifest(Engine& engine, ObjectPath path, Accepted version, Duration least,
                                 Late late_ones) {
  ManifestFound found;
  co_await AskInTurn<ManifestFound>(
      engine, engine.Homes(path), [&](MemberIndex home) { return ManifestOn(engine, path, home, version); },
      [&](MemberIndex, ManifestFound& here) {
        if (here.problem) found.problem = std::move(here.problem);
        found.silent += here.silent;
        found.damaged += here.damaged;
        found.text = std::move(here.text);
        found.origin = std::move(here.origin);
        return found.text.has_value();
      },
      [&](size_t late) {
        const bool moved_in = !version.origin.empty();
        const bool complete = moved_in && IsMoveComplete(engine, found.silent + late + found.damaged);
        const bool enough = complete || UnlessTooMany(engine, late_ones)(late);
        if (enough) found.silent += late;
        return enough;
      },
      least);
  co_return std::move(found);
}

// In two steps: unproved first, then, only if another home still has it as the highest, proved. `content` is
// WitnessContent, or empty for a directory.
Task<RollResult> WriteWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                              std::string content, Duration least) {
  State unproved = DraftOf(engine, goal);
  std::string proved;
  const Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return RollResult::kFailed;
  XEC_FAILPOINT("roll.create");
  Status created;
  if (goal.kind == Accepted::kDirectory) {
    unproved.oid = kDirectoryOid;
    proved = FormatState(DirectoryState(goal.version));
    created = co_await MakeMark(engine, home, path, FormatState(unproved));
  } else {
    State witness = WitnessState(goal.version, goal.oid, goal.size, goal.etag);
    witness.origin = goal.origin;
    proved = FormatState(witness);
    created = co_await CreateFile(engine.MetadataCall(), engine.server(home),
                                  StatePath(path, FormatState(unproved)), std::move(content),
                                  engine.SyncBeforeCommit());
  }
  if (goal.kind != Accepted::kDirectory) co_await DropRefusedDraft(engine, home, path, unproved, created);
  if (created) created = co_await KeepLongName(engine, home, path);
  if (!created) co_return RollResult::kFailed;
  XEC_FAILPOINT("roll.unproved");
  // After the creation, not before: who collects this version's tombstone later must then meet our file.
  if (!MutantActive(Mutant::kCopyWithoutLookingAgain)) {
    const RollResult standing = co_await StandingElsewhere(engine, path, home, goal, least);
    if (standing != RollResult::kAccepted) co_return standing;
  }
  XEC_FAILPOINT("roll.proved");
  Status renamed = co_await RenameState(engine, home, path, FormatState(unproved), proved);
  XEC_FAILPOINT("roll.witness");
  co_return co_await ProvedBy(engine, home, std::move(path), std::move(unproved), std::move(renamed));
}

}  // namespace

Task<RollResult> MakeWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             Duration least) {
  // A moved tombstone carries its target: it is copied like a witness.
  if (goal.kind == Accepted::kMoved) co_return co_await CopyMovedTombstone(engine, path, home, goal, least);
  std::string content;
  if (goal.kind == Accepted::kObject) {
    if (goal.origin.empty()) {
      // Who showed the version may have an archive that has followed; another home knows from where.
      const Look all = co_await LookAt(engine, path, LookWidth::kAll, least);
      if (all.highest() == goal) goal.origin = all.highest().origin;
    }
    ManifestFound found = co_await FindManifest(engine, path, goal, least, Late::kPassedOver);
    const bool all_told = found.silent == 0;
    if (!found.text && !goal.origin.empty() &&
        (all_told || IsMoveComplete(engine, found.silent + found.damaged))) {
      goal.origin.clear();
      found = co_await FindManifest(engine, path, goal, least, Late::kPassedOver);
    }
    if (!found.text) co_return RollResult::kFailed;
    // What is copied from one that knows the origin knows it, too: while the move is not complete a quorum
    // must.
    goal.origin = std::move(found.origin);
    Result<std::string> witness = WitnessContent(*found.text);
    if (!witness) co_return RollResult::kFailed;
    content = std::move(*witness);
  }
  co_return co_await WriteWitness(engine, path, home, goal, std::move(content), least);
}

Task<void> DropRefusedDraft(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status created) {
  if (created || OutcomeUnknown(created)) co_return;
  const Status dropped = co_await RemoveState(engine, home, std::move(path), FormatState(draft));
  (void)dropped;  // else the cleaner does it
}

Task<RollResult> ProvedBy(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status renamed) {
  if (renamed) co_return RollResult::kAccepted;
  if (renamed.code() != Code::kAlreadyExists) co_return RollResult::kFailed;
  const std::string entry = FormatState(draft);
  Status removed;
  if (draft.IsMark()) {
    removed = co_await RemoveMark(engine, home, path, entry);
  } else {
    removed = co_await RemoveState(engine, home, path, entry);
  }
  (void)removed;  // else the cleaner does it
  co_return RollResult::kAccepted;
}

Result<std::string> WitnessContent(std::string_view manifest_text, std::optional<ManifestFrom> from) {
  XEC_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(manifest_text));
  if (from) manifest.from = std::move(from);
  manifest.kind = ManifestKind::kWitness;
  manifest.lane.reset();
  XEC_ASSIGN_OR_RETURN(const std::string text, manifest.Serialize());
  XEC_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ArchiveWriter().Finish(text));
  return std::string(AsText(bytes));
}

namespace {

struct ManifestEnd {
  Result<std::string> text;
  std::optional<Slice> judged;  // the bytes that this goes by; none where a read fell short
};

// As ReadManifestText.
Task<ManifestEnd> ReadManifestEnd(Engine& engine, MemberIndex member, std::string file_path) {
  const CallContext call = engine.MetadataCall();
  Result<ArchiveFilePtr> opened = co_await Open(call, engine.server(member), file_path, OpenMode::kRead);
  if (!opened) co_return ManifestEnd{opened.error(), std::nullopt};
  ArchiveEnd end = co_await ReadArchiveEnd(call, *opened);
  // Nothing is lost when a file opened for reading does not close well.
  const Status closed = co_await Close(call, *opened);
  (void)closed;
  if (end.index) co_return ManifestEnd{std::move(end.index->manifest), std::move(end.bytes)};
  Error error = end.index.error();
  if (!end.bytes) error = AsSilence(std::move(error));
  co_return ManifestEnd{std::move(error), std::move(end.bytes)};
}

}  // namespace

Task<Result<std::string>> ReadManifestText(Engine& engine, MemberIndex member, std::string file_path) {
  ManifestEnd end = co_await ReadManifestEnd(engine, member, std::move(file_path));
  co_return std::move(end.text);
}

Task<Result<std::string>> CopyManifest(Engine& engine, ObjectPath path, Accepted version, Late late_ones) {
  const ManifestFound found = co_await FindManifest(engine, path, version, Duration{}, late_ones);
  if (found.text) co_return *found.text;
  if (found.problem) co_return *found.problem;
  if (found.silent > 0) {
    co_return Fail(Code::kUnavailable, "cannot tell what {} is: {} of its homes do not answer", path.text(),
                   found.silent);
  }
  // Never "not found": the version was accepted.
  co_return Fail(Code::kConflict, "{} was changed meanwhile: no home shows version {} any more; retry",
                 path.text(), version.version.ToString());
}

namespace {

// Is the lane of a seal on another server by now, as what was accepted says and that server shows? Its own
// may have been late, and complete all the same when its writer had gone on elsewhere. `places`: the names of
// the version, the older first.
Task<bool> IsElsewhere(Engine& engine, std::vector<VersionAt> places, MemberIndex member, Manifest sealed) {
  std::optional<Manifest> told;
  for (VersionAt& place : places) {
    if (told) break;
    place.version.origin.clear();
    Result<std::string> text = co_await CopyManifest(engine, place.path, place.version, Late::kPassedOver);
    Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (manifest) told = std::move(*manifest);
  }
  if (!told || !sealed.lane || *sealed.lane >= told->servers.size()) co_return false;
  const std::optional<MemberIndex> named = engine.FindMember(told->servers[*sealed.lane]);
  if (!named || *named == member) co_return false;
  for (const VersionAt& place : places) {
    std::vector<MemberIndex> only = {*named};
    const bool shown = co_await AskInTurn<Result<States>>(
        engine, std::move(only), [&](MemberIndex asked) { return ListStates(engine, asked, place.path); },
        [&](MemberIndex, const Result<States>& states) {
          return states && HasArchiveOf(*states, place.version.version, place.version.oid);
        },
        UnlessTooMany(engine, Late::kPassedOver));
    if (shown) co_return true;
  }
  co_return false;
}

// Does another read end in the same bytes? One alone may be wrong.
Task<bool> EndsAgainIn(Engine& engine, MemberIndex member, std::string file_path, Slice end) {
  const ManifestEnd again = co_await ReadManifestEnd(engine, member, std::move(file_path));
  co_return again.judged.has_value() && std::ranges::equal(again.judged->span(), end.span());
}

}  // namespace

Task<GivenUp> RemoveIfGivenUp(Engine& engine, ObjectPath path, MemberIndex member, std::string entry,
                              Accepted goal, std::optional<VersionAt> moved) {
  const std::optional<State> state = ParseState(entry);
  const bool seal = state && (state->kind == StateKind::kSealed || state->kind == StateKind::kAborted);
  if (!seal) co_return GivenUp::kNo;
  const std::string file_path = StatePath(path, entry);
  const ManifestEnd end = co_await ReadManifestEnd(engine, member, file_path);
  Result<Manifest> manifest = end.text ? Manifest::Parse(*end.text) : Result<Manifest>(end.text.error());
  if (!manifest && manifest.code() != Code::kCorruption) co_return GivenUp::kNo;
  if (!manifest) {
    bool damaged = end.judged.has_value();
    if (damaged) damaged = co_await EndsAgainIn(engine, member, file_path, *end.judged);
    if (!damaged) co_return GivenUp::kUnclear;
  } else {
    std::vector<VersionAt> places;
    places.push_back({path, std::move(goal)});
    if (moved) places.push_back(std::move(*moved));
    const bool elsewhere = co_await IsElsewhere(engine, std::move(places), member, std::move(*manifest));
    if (!elsewhere) co_return GivenUp::kNo;
  }
  Log(LogLevel::kInfo, "commit", "removes {} of {} on {}: its server was given up while it was written",
      entry, path.text(), engine.server_id(member));
  const Status removed = co_await RemoveState(engine, member, path, entry);
  (void)removed;  // the next listing tells
  co_return GivenUp::kRemoved;
}

Task<RollResult> RollForward(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             std::optional<States> listing) {
  bool fresh = false;
  for (int tries = 0; tries < kRollTriesMax; ++tries) {
    if (!listing) {
      Result<States> states = co_await ListStates(engine, home, path);
      if (!states) co_return RollResult::kFailed;
      listing = std::move(*states);
      fresh = true;
    }
    const RollStep step = NextRollStep(*listing, goal);
    listing.reset();
    switch (step.kind) {
      case RollStep::kAccepted: co_return RollResult::kAccepted;
      case RollStep::kSuperseded: co_return RollResult::kSuperseded;
      case RollStep::kRename: {
        const GivenUp given_up = co_await RemoveIfGivenUp(engine, path, home, step.from, goal);
        if (given_up != GivenUp::kNo) break;
        const Status renamed = co_await RenameState(engine, home, path, step.from, step.to);
        if (renamed) co_return RollResult::kAccepted;
        break;  // somebody else was faster, or the reply was lost: the next listing tells
      }
      case RollStep::kMark: {
        const Status made = co_await MakeNamedMark(engine, home, path, step.to);
        co_return made ? RollResult::kAccepted : RollResult::kFailed;
      }
      case RollStep::kWitness:
        // An older listing may have been overtaken: a witness is written only on a fresh one.
        if (fresh) co_return co_await MakeWitness(engine, path, home, goal);
        break;
    }
  }
  co_return RollResult::kFailed;
}

Task<RollOutcome> RollForwardAll(Engine& engine, ObjectPath path, const Look& look,
                                 std::vector<MemberIndex> homes, Late late_ones, Duration least) {
  RollOutcome outcome;
  // Other homes may have it by now, or take it, in place of those that fail or are late.
  const std::vector<MemberIndex> holders = look.WithHighest();
  std::vector<MemberIndex> spares = look.homes();
  std::erase_if(spares, [&](MemberIndex home) { return Contains(holders, home) || Contains(homes, home); });
  spares = engine.ByHealth(std::move(spares));
  size_t next = 0;
  ServerGather<RollResult> gather(engine, RequestKind::kSync, least);
  for (const MemberIndex home : homes) {
    std::optional<States> listing;
    const auto heard = look.listings().find(home);
    if (heard != look.listings().end()) listing = heard->second;
    gather.Start(home, RollForward(engine, path, home, look.highest(), std::move(listing)));
  }
  const size_t quorum = look.quorum();
  const size_t have = holders.size();
  const auto passed_over = UnlessTooMany(engine, late_ones);
  while (true) {
    const bool enough = have + outcome.accepted.size() >= quorum;
    for (; !outcome.superseded && next < spares.size() &&
           have + outcome.accepted.size() + gather.timely() < quorum;
         ++next) {
      gather.Start(spares[next], RollForward(engine, path, spares[next], look.highest(), std::nullopt));
    }
    if (gather.pending() == 0) break;
    const bool all_late = gather.OnlyLateOnes();
    if (all_late && (enough || outcome.superseded || passed_over(gather.pending()))) break;
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    const bool higher = *event.value == RollResult::kSuperseded || *event.value == RollResult::kOvertaken;
    outcome.superseded = outcome.superseded || higher;
    if (*event.value == RollResult::kAccepted) outcome.accepted.push_back(event.member);
  }
  co_return std::move(outcome);
}

}  // namespace xec
