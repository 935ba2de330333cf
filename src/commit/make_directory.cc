// SPDX-License-Identifier: LGPL-3.0-or-later
// MAKE DIRECTORY: a seal first, then a look, then the promotion, as for exclusive creation
// (docs/protocol/directories.md).
#include <algorithm>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/attributes.hh"
#include "commit/fence.hh"
#include "commit/names.hh"
#include "commit/parent.hh"
#include "commit/pause.hh"
#include "commit/promote.hh"
#include "commit/seals.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

constexpr int kMakeTriesMax = 4;
// How long it waits for later exclusive uploads to give way, and for plain uploads to be accepted or
// withdrawn. A plain writer that has sealed waits longer for the directory: of the two the object is made.
constexpr Duration kExclusivePatience = std::chrono::seconds(10);
constexpr Duration kUploadPatience = std::chrono::seconds(1);

// One attempt, under an id of its own.
struct Making {
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

// Looks until nothing is there that makes an object of this name, or something to which a directory yields.
Task<SealsSeen> LookPastRivals(Engine& engine, Making making, std::vector<MemberIndex> homes, Rival* rival) {
  const TimePoint start = engine.executor().Now();
  Duration pause = kLookPauseMin;
  for (;;) {
    SealsSeen seen = co_await LookAtSeals(engine, making.path, making.seal, homes, making.last);
    *rival = RivalAtBarrier(seen.look.listings(), making.seal, making.base);
    const bool useless = seen.late || !seen.look.HasQuorum();
    if (useless || engine.executor().Now() + pause > start + PatienceWith(rival->rivalry))
      co_return std::move(seen);
    co_await Pause(engine, pause);
    pause = std::min(2 * pause, kLookPauseMax);
  }
}

// The attributes of a directory that it is to replace, as they are once it is sealed: whoever sets any later
// sees the seal. Before it is promoted: whoever sees it sees them.
Task<Status> KeepAttributes(Engine& engine, Making making, SealsSeen seen) {
  if (making.base.kind != Accepted::kDirectory) co_return OkStatus();
  NameInfo replaced{making.path, making.base, seen.look.WithHighest(), seen.look.listings()};
  Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(replaced));
  Status copied = set ? OkStatus() : Status(set.error());
  if (set && *set)
    copied = co_await CopyAttributes(engine, making.path, *making.seal.version, std::move(**set));
  // Whatever of them was not written: no directory was.
  if (!copied && copied.code() == Code::kUnknown)
    co_return Fail(Code::kNoQuorum, "{}", copied.error().message);
  co_return std::move(copied);
}

// `again`: another attempt may do better. Any error but kUnknown: nothing of this attempt is or becomes
// visible once it is withdrawn.
Task<Status> Make(Engine& engine, Making& making, std::vector<MemberIndex> preferred, bool* again) {
  const size_t quorum = Quorum(engine.Homes(making.path).size());
  const std::string entry = FormatState(making.seal);
  XEC_FAILPOINT("mkdir.seal");
  making.homes = co_await SealQuorum(engine, making.path, std::move(preferred), [&](MemberIndex home) {
    return MakeNamedMark(engine, home, making.path, entry);
  });
  XEC_FAILPOINT("mkdir.sealed");
  if (making.homes.sealed.size() < quorum)
    co_return Fail(Code::kNoQuorum, "too few homes of {} take changes now; retry", making.path.text());
  Rival rival;
  const TimePoint looked_at = engine.executor().Now();
  SealsSeen seen = co_await LookPastRivals(engine, making, making.homes.sealed, &rival);
  *again = seen.late || !seen.look.HasQuorum();
  if (*again)
    co_return Fail(Code::kNoQuorum, "a home of {} stopped answering while it was made; retry",
                   making.path.text());
  if (rival.rivalry != Rivalry::kNone && !MutantActive(Mutant::kMakeDirectoryByLookOnly)) {
    Error in_the_way = co_await ObjectInTheWay(engine, making.path, std::move(rival));
    // A home has taken what others were asked to take, and did not show yet.
    *again = in_the_way.code == Code::kConflict && making.base < seen.look.highest();
    co_return std::move(in_the_way);
  }
  for (const DirectoryVersion& directory : making.parent.wanted_by) {
    const Status wanted = co_await NeedDirectoryVersion(engine, directory);
    if (!wanted) co_return wanted.error();
  }
  const TimePoint stood_at = engine.executor().Now();
  const Status stands = co_await StandInParent(engine, making.path, making.parent);
  if (!stands) co_return stands.error();
  const Status kept = co_await KeepAttributes(engine, making, seen);
  if (!kept) co_return kept.error();
  const bool late = engine.executor().Now() - making.started > engine.options().operation_limit;
  if (late || seen.homes.size() < quorum)
    co_return Fail(Code::kConflict, "the making of {} was silent too long; retry", making.path.text());
  XEC_FAILPOINT("mkdir.promote");
  const State directory = DirectoryState(*making.seal.version);
  const Result<bool> made =
      co_await PromoteHomes(engine, making.path, std::move(seen.homes), directory, entry);
  // Overtaken, perhaps by who made the same directory.
  *again = !made && made.code() == Code::kConflict;
  if (!made) co_return made.error();
  // As of the look: what came above it since may hide it.
  engine.known_directories().Learn(making.path, *directory.version, looked_at);
  co_return co_await StayInParent(engine, making.path, making.parent, stood_at);
}

// Only where nothing was promoted, and nothing is going to be.
Task<bool> Withdraw(Engine& engine, Making making) {
  XEC_FAILPOINT("mkdir.withdraw");
  GiveUpLateSeals(engine, making.path, making.seal, making.homes.unsure);
  const std::vector<MemberIndex> homes = engine.Homes(making.path);
  co_await RemoveSeals(engine, making.path, making.seal, homes);
  XEC_FAILPOINT("mkdir.withdrawn");
  co_return true;
}

// One attempt above what `info` shows. What has failed, and clearly, is withdrawn.
Task<Status> TryToMake(Engine& engine, NameInfo info, ParentNeed parent, bool last, bool* again) {
  const Result<Version> version = engine.NextVersion(info.HighestShown());
  if (!version) co_return version.error();
  const State seal = DirectorySealState(*version, engine.NewObjectId());
  Making making{info.path, seal, info.accepted, engine.executor().Now(), {}, last, std::move(parent)};
  Status made = co_await Make(engine, making, info.HomesHeard(), again);
  XEC_FAILPOINT("mkdir.committed");
  if (!made && made.code() != Code::kUnknown)
    co_await RunPatiently(engine, Withdraw(engine, std::move(making)));
  co_return std::move(made);
}

}  // namespace

Task<Status> MakeDirectoryName(Engine& engine, ObjectPath path, bool parents,
                               std::vector<DirectoryVersion> wanted_by) {
  if (path.IsRoot()) co_return Fail(Code::kAlreadyExists, "/ exists");
  const ParentNeed need{parents, engine.executor().Now(), std::move(wanted_by)};
  for (int tries = 1;; ++tries) {
    Result<NameInfo> info = co_await LookUp(engine, path);
    if (!info) co_return info.error();
    if (info->accepted.Live()) co_return Fail(Code::kAlreadyExists, "{} exists", path.text());
    const Status parent = co_await ExpectParent(engine, path, need);
    if (!parent) co_return parent.error();
    bool again = false;
    const bool last = tries == kMakeTriesMax;
    Status made = co_await TryToMake(engine, std::move(*info), need, last, &again);
    if (made || !again || last) co_return std::move(made);
  }
}

Task<Status> MakeDirectoryAbove(Engine& engine, NameInfo info, bool last) {
  const ParentNeed need{true, engine.executor().Now()};
  bool again = false;
  co_return co_await TryToMake(engine, std::move(info), need, last, &again);
}

}  // namespace xec
