// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/parent.hh"

#include <algorithm>

#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/tried.hh"
#include "commit/steps/move_log.hh"
#include "commit/steps/seals.hh"

namespace xec {
namespace {

constexpr int kTriesMax = 4;
// A process that removes a directory has mostly found something in it by then, or removed it.
constexpr Duration kRemoverPatience = std::chrono::milliseconds(500);
// An operation that takes no longer may have begun after the directory was renamed.
constexpr Duration kBriefly = std::chrono::seconds(2);

Error NotADirectory(const ObjectPath& path) {
  return Fail(Code::kNotDirectory, "{} is not a directory", path.text());
}

// Makes one request, in place of a quorum's, for a directory that a quorum showed a moment ago: its removal
// seal would be on its first home, or its remover still waits.
Task<bool> FirstHomeConfirms(Engine& engine, ObjectPath directory) {
  const auto known = [&] {
    return engine.known_directories().Known(directory, engine.executor().Now(), KnownDirectories::kHolds);
  };
  const std::optional<Version> version = known();
  const MemberIndex first = engine.Homes(directory).front();
  if (MutantActive(Mutant::kParentRememberedTooLong) &&
      engine.known_directories().Known(directory, engine.executor().Now(), KnownDirectories::kRemembered))
    co_return true;
  if (!version || engine.Rank(first) != 0) co_return false;
  ServerGather<Result<States>> gather(engine);
  gather.Start(first, ListStates(engine, first, directory));
  const auto event = co_await gather.Next();
  if (!event.value || !*event.value || !known()) co_return false;
  const Accepted here = HighestAccepted(**event.value);
  const bool lives = here.kind == Accepted::kDirectory && here.version == *version;
  co_return lives && !RemovalUnderWay({{first, **event.value}}, *version);
}

// Nothing that is visible depends on the parent yet, so an unknown outcome of the parent is not one of the
// caller's.
Status OfParent(Status made) {
  if (made || made.code() != Code::kUnknown) return made;
  return Fail(Code::kUnavailable, "{}", made.error().message);
}

// The directory lives and has a removal seal of its version. Its remover may have died, or may sleep and
// remove it at any time. So the directory is made anew with a version above, where that removal does not
// reach.
Task<Status> MakeAboveRemoval(Engine& engine, NameInfo info, bool last) {
  const bool renamed = co_await MayBeRenamed(engine, info.path);
  if (renamed) co_return Fail(Code::kConflict, "{} is being renamed; retry", info.path.text());
  XEC_FAILPOINT("parent.make_above");
  co_return co_await MakeDirectoryAbove(engine, std::move(info), last);
}

Task<Status> MakeAnew(Engine& engine, NameInfo info, const ParentNeed& need) {
  const Version& gone = info.accepted.version;
  const bool renamed = gone == gone.Unmoved().MoveDone();
  if (renamed && engine.executor().Now() - need.begun > kBriefly)
    co_return Fail(Code::kConflict, "{} was renamed meanwhile; retry", info.path.text());
  if (!need.make) co_return Fail(Code::kNotFound, "the directory {} does not exist", info.path.text());
  co_return co_await MakeDirectoryName(engine, info.path, true, need.wanted_by);
}

// A quorum confirms it.
Task<Tried<void>> QuorumConfirms(Engine& engine, ObjectPath directory, const ParentNeed& need, bool last) {
  const TimePoint patient_until = engine.executor().Now() + kRemoverPatience;
  Duration pause = kLookPauseMin;
  for (;;) {
    const TimePoint asked = engine.executor().Now();
    Result<NameInfo> info = co_await LookUp(engine, directory);
    if (!info) co_return info.error();
    const Accepted& here = info->accepted;
    if (here.kind == Accepted::kObject) co_return NotADirectory(directory);
    const bool lives = here.kind == Accepted::kDirectory;
    if (lives && !RemovalUnderWay(info->listings, here.version)) {
      engine.known_directories().Learn(directory, here.version, asked);
      co_return OkStatus();
    }
    if (lives && asked + pause <= patient_until) {
      co_await Pause(engine, pause);
      pause = std::min(2 * pause, kLookPauseMax);
      continue;
    }
    Status made;
    if (lives) made = co_await MakeAboveRemoval(engine, std::move(*info), last);
    if (!lives) made = co_await MakeAnew(engine, std::move(*info), need);
    // Others may have made it, or removed it again.
    const bool again = !made && (made.code() == Code::kAlreadyExists || made.code() == Code::kConflict);
    if (!made && made.code() == Code::kAlreadyExists && last)
      made = Fail(Code::kConflict, "{} is removed and made again and again; retry", directory.text());
    co_return Tried<void>(OfParent(std::move(made)), again && !last);
  }
}

}  // namespace

Task<Status> ExpectParent(Engine& engine, ObjectPath path, ParentNeed need) {
  const ObjectPath parent = path.Parent();
  const bool known = parent.IsRoot() || engine.known_directories().Known(parent, engine.executor().Now(),
                                                                         KnownDirectories::kRemembered);
  if (known) co_return OkStatus();
  const TimePoint asked = engine.executor().Now();
  Result<NameInfo> info = co_await LookUp(engine, parent);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kObject) co_return NotADirectory(parent);
  if (info->accepted.Live()) {
    if (!RemovalUnderWay(info->listings, info->accepted.version))
      engine.known_directories().Learn(parent, info->accepted.version, asked);
    co_return OkStatus();
  }
  if (!need.make) co_return Fail(Code::kNotFound, "the directory {} does not exist", parent.text());
  const Status made = co_await MakeDirectoryName(engine, parent, true, std::move(need.wanted_by));
  // The name that exists may be an object that somebody has just put there.
  if (made || made.code() != Code::kAlreadyExists) co_return OfParent(made);
  info = co_await LookUp(engine, parent);
  if (!info) co_return info.error();
  if (info->accepted.kind == Accepted::kObject) co_return NotADirectory(parent);
  if (!info->accepted.Live())
    co_return Fail(Code::kConflict, "{} was removed meanwhile; retry", parent.text());
  co_return OkStatus();
}

Task<Status> StandInParent(Engine& engine, ObjectPath path, ParentNeed need) {
  const ObjectPath parent = path.Parent();
  if (parent.IsRoot()) co_return OkStatus();
  XEC_FAILPOINT("parent.look");
  const bool confirmed = co_await FirstHomeConfirms(engine, parent);
  if (confirmed) co_return OkStatus();
  for (int tries = 1;; ++tries) {
    Tried<void> stands = co_await QuorumConfirms(engine, parent, need, tries == kTriesMax);
    if (!stands.again) co_return std::move(stands.result);
    co_await RandomPause(engine, kLookPauseMax / 10);
  }
}

Task<Status> StayInParent(Engine& engine, ObjectPath path, ParentNeed need, TimePoint stood_at) {
  if (engine.executor().Now() - stood_at <= KnownDirectories::kHolds) co_return OkStatus();
  // The directory is there already, so its own parent has to be, whatever became of that.
  need.begun = TimePoint::max();
  need.make = true;
  need.wanted_by.clear();
  const Status stands = co_await StandInParent(engine, path, std::move(need));
  if (stands) co_return OkStatus();
  co_return Fail(Code::kUnknown, "{} is there, but perhaps in no listing: {}", path.text(),
                 stands.error().message);
}

}  // namespace xec
