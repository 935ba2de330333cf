// SPDX-License-Identifier: LGPL-3.0-or-later
// MAKE DIRECTORY: first comes a seal, then a look, then the promotion, as for exclusive creation
// (docs/protocol/directories.md).
#include <algorithm>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/names.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "commit/engine/tried.hh"
#include "commit/programs/attributes.hh"
#include "commit/programs/parent.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/promote.hh"
#include "commit/steps/seals.hh"

namespace xec {
namespace {

constexpr int kMakeTriesMax = 4;
// So long it waits for later exclusive uploads to give way, and for plain uploads to be accepted or
// withdrawn. A plain writer that has sealed waits longer for the directory, so that of the two the object is
// made.
constexpr Duration kExclusivePatience = std::chrono::seconds(10);
constexpr Duration kUploadPatience = std::chrono::seconds(1);

// One attempt, under an id of its own.
struct Attempt {
  ObjectPath path;
  State seal;
  Accepted base;  // what the first look found
  TimePoint started;
  HomesSealed homes;
  bool last = false;  // homes that are late are waited for
  ParentNeed parent;
};

Duration PatienceWith(Rivalry rivalry) {
  switch (rivalry) {
    case Rivalry::kLaterOnly: return kExclusivePatience;
    case Rivalry::kSealed: return kUploadPatience;
    case Rivalry::kNone:
    case Rivalry::kBusy: break;
  }
  return Duration(0);
}

// What the look after sealing found.
struct Barrier {
  SealsSeen seen;
  Rival rival;
};

// Looks until nothing is there that makes an object of this name, or something to which a directory yields.
Task<Barrier> LookPastRivals(Engine& engine, Attempt attempt) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  for (;;) {
    SealsSeen seen =
        co_await LookAtSeals(engine, attempt.path, attempt.seal, attempt.homes.sealed, attempt.last);
    Rival rival = RivalAtBarrier(seen.look.listings(), attempt.seal, attempt.base);
    const bool useless = seen.late || !seen.look.HasQuorum();
    if (useless || engine.executor().Now() + pause > start + PatienceWith(rival.rivalry))
      co_return Barrier{std::move(seen), std::move(rival)};
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

// Copies the attributes of a directory that it is to replace, once it is sealed: a client that sets any later
// sees the seal. It does so before it is promoted, so that everybody who sees the new directory sees them.
Task<Status> KeepAttributes(Engine& engine, Attempt attempt, SealsSeen seen) {
  if (attempt.base.kind != Accepted::kDirectory) co_return OkStatus();
  NameInfo replaced{.path = attempt.path,
                    .accepted = attempt.base,
                    .holders = seen.look.WithHighest(),
                    .listings = seen.look.listings()};
  Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(replaced));
  Status copied = set ? OkStatus() : Status(set.error());
  if (set && *set)
    copied = co_await CopyAttributes(engine, attempt.path, *attempt.seal.version, std::move(**set));
  // Whatever is not known of the attributes, no directory was made.
  if (!copied && copied.code() == Code::kUnknown)
    co_return Fail(Code::kNoQuorum, "{}", copied.error().message);
  co_return std::move(copied);
}

// Any error but kUnknown means that nothing of this attempt is or becomes visible once it is withdrawn.
Task<Tried<void>> Make(Engine& engine, Attempt& attempt, std::vector<MemberIndex> preferred) {
  const size_t quorum = engine.HomeQuorum(attempt.path);
  const std::string entry = FormatState(attempt.seal);
  XEC_FAILPOINT("mkdir.seal");
  attempt.homes = co_await SealQuorum(engine, attempt.path, std::move(preferred), [&](MemberIndex home) {
    return MakeNamedMark(engine, home, attempt.path, entry);
  });
  XEC_FAILPOINT("mkdir.sealed");
  if (attempt.homes.sealed.size() < quorum)
    co_return Fail(Code::kNoQuorum, "too few homes of {} take changes now; retry", attempt.path.text());
  const TimePoint looked_at = engine.executor().Now();
  auto [seen, rival] = co_await LookPastRivals(engine, attempt);
  if (seen.late || !seen.look.HasQuorum())
    co_return Tried<void>(
        Fail(Code::kNoQuorum, "a home of {} stopped answering while it was made; retry", attempt.path.text()),
        true);
  if (rival.rivalry != Rivalry::kNone && !MutantActive(Mutant::kMakeDirectoryByLookOnly)) {
    Error in_the_way = co_await ObjectInTheWay(engine, attempt.path, std::move(rival));
    // A home has taken something that others were asked to take and did not show yet.
    const bool again = in_the_way.code == Code::kConflict && attempt.base < seen.look.highest();
    co_return Tried<void>(std::move(in_the_way), again);
  }
  for (const DirectoryVersion& directory : attempt.parent.wanted_by) {
    const Status wanted = co_await NeedDirectoryVersion(engine, directory);
    if (!wanted) co_return wanted;
  }
  const TimePoint stood_at = engine.executor().Now();
  const Status stands = co_await StandInParent(engine, attempt.path, attempt.parent);
  if (!stands) co_return stands;
  const Status kept = co_await KeepAttributes(engine, attempt, seen);
  if (!kept) co_return kept;
  const bool late = engine.executor().Now() - attempt.started > engine.options().operation_limit;
  if (late || seen.homes.size() < quorum)
    co_return Fail(Code::kConflict, "the making of {} was silent too long; retry", attempt.path.text());
  XEC_FAILPOINT("mkdir.promote");
  const State directory = DirectoryState(*attempt.seal.version);
  const Result<bool> made =
      co_await PromoteHomes(engine, attempt.path, std::move(seen.homes), directory, entry);
  // A conflict means that it was overtaken, perhaps by another process that made the same directory.
  if (!made) co_return Tried<void>(made.error(), made.code() == Code::kConflict);
  // What is learnt is as of the look, since a state that came above it later may hide it.
  engine.known_directories().Learn(attempt.path, *directory.version, looked_at);
  Status stays = co_await StayInParent(engine, attempt.path, attempt.parent, stood_at);
  co_return std::move(stays);
}

// This is called only where nothing was promoted, and nothing is going to be.
Task<void> Withdraw(Engine& engine, Attempt attempt) {
  XEC_FAILPOINT("mkdir.withdraw");
  GiveUpLateSeals(engine, attempt.path, attempt.seal, attempt.homes.unsure);
  const Homes homes = engine.Homes(attempt.path);
  co_await RemoveSeals(engine, attempt.path, attempt.seal, homes);
  XEC_FAILPOINT("mkdir.withdrawn");
}

// Makes one attempt above what `info` shows. If it has clearly failed, it is withdrawn.
Task<Tried<void>> TryToMake(Engine& engine, NameInfo info, ParentNeed parent, bool last) {
  const Result<Version> version = engine.NextVersion(info.HighestShown());
  if (!version) co_return version.error();
  const State seal = DirectorySealState(*version, engine.NewObjectId());
  Attempt attempt{.path = info.path,
                  .seal = seal,
                  .base = info.accepted,
                  .started = engine.executor().Now(),
                  .homes = {},
                  .last = last,
                  .parent = std::move(parent)};
  Tried<void> made = co_await Make(engine, attempt, info.HomesHeard());
  XEC_FAILPOINT("mkdir.committed");
  if (!made.result && made.result.code() != Code::kUnknown)
    co_await RunPatiently(engine, Withdraw(engine, std::move(attempt)));
  co_return std::move(made);
}

}  // namespace

Task<Status> MakeDirectoryName(Engine& engine, ObjectPath path, bool parents,
                               std::vector<DirectoryVersion> wanted_by) {
  if (path.IsRoot()) co_return Fail(Code::kAlreadyExists, "/ exists");
  const ParentNeed need{.make = parents, .begun = engine.executor().Now(), .wanted_by = std::move(wanted_by)};
  for (int tries = 1;; ++tries) {
    Result<NameInfo> info = co_await LookUp(engine, path);
    if (!info) co_return info.error();
    if (info->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
    const Status parent = co_await ExpectParent(engine, path, need);
    if (!parent) co_return parent.error();
    const bool last = tries == kMakeTriesMax;
    Tried<void> made = co_await TryToMake(engine, std::move(*info), need, last);
    if (!made.again || last) co_return std::move(made.result);
  }
}

Task<Status> MakeDirectoryAbove(Engine& engine, NameInfo info, bool last) {
  const ParentNeed need{.make = true, .begun = engine.executor().Now()};
  Tried<void> made = co_await TryToMake(engine, std::move(info), need, last);
  co_return std::move(made.result);
}

}  // namespace xec
