// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/place_copy.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/mutant.hh"
#include "commit/engine/pause.hh"
#include "commit/steps/drafts.hh"
#include "commit/steps/roll_forward.hh"
#include "commit/steps/witness.hh"

namespace xec {
namespace {

// Once the bad archive has gone the draft is the lane's only archive. So its rename is tried again, after
// this pause and then twice as long ones.
constexpr int kRenameTriesMax = 5;
constexpr Duration kRenamePause = std::chrono::milliseconds(100);

State PlaceOf(const Accepted& version) {
  return PromotedState(version.version, version.oid, version.size, version.given);
}

bool HasEntry(const States& states, const State& entry) {
  return std::any_of(states.begin(), states.end(),
                     [&](const State& state) { return FormatState(state) == FormatState(entry); });
}

Error Superseded(const ObjectPath& path) {
  return Fail(Code::kConflict, "{} was changed meanwhile, or no other home answers", path.text());
}

// What would come to the archive's place, if anything, and what is in it.
struct Exchange {
  std::optional<State> draft;
  std::optional<State> replaces;  // as it was listed
  // No listing shows anything in the place, and nothing can be renamed to it all the same: a data server with
  // several disks has a link there that leads to one that was lost.
  bool taken_unseen = false;
};

// Is the bad archive still there, and does it have to go?
Result<bool> IsInTheWay(const States& states, const Exchange& exchange, const Accepted& version) {
  if (exchange.draft && !HasEntry(states, *exchange.draft))
    return Fail(Code::kConflict, "the cleaner has removed the copy meanwhile");
  const std::optional<State> there = ArchiveInPlace(states, version);
  if (!there) return exchange.taken_unseen;
  // The copy of the lane by another repair is as long, but was written later. If both were written in one
  // second it is taken for the bad archive, and replaced by a copy that is as good.
  const std::optional<State>& replaces = exchange.replaces;
  const bool same =
      replaces && there->entry_bytes == replaces->entry_bytes && there->mtime_s == replaces->mtime_s;
  if (!same) return Fail(Code::kConflict, "another archive came to its place meanwhile");
  return true;
}

// A home that the copy makes accept the version has to know from where it was moved in, as every home does
// that was made to accept it. Otherwise homes that lost their disks, and were repaired one by one, would be a
// quorum that does not know it. Where no witness can be made the copy counts for more.
Task<void> KnowOrigin(Engine& engine, ObjectPath path, MemberIndex member, Accepted version) {
  const Homes homes = engine.Homes(path);
  if (!Contains(homes, member)) co_return;
  const Look all = co_await LookAt(engine, path, LookWidth::kAll, kRepairPatience);
  const Accepted& known = all.highest();
  if (!(known == version) || known.origin.empty()) co_return;
  const auto here = all.listings().find(member);
  if (here != all.listings().end() && HighestAccepted(here->second).origin == known.origin) co_return;
  const RollResult witness = co_await MakeWitness(engine, path, member, known, kRepairPatience);
  (void)witness;
}

// Makes sure that no home sinks in what it accepts when the bad archive of this one goes: this home has a
// witness before. A cleaner that saw the archive may yet take that witness, so a quorum of the homes stands
// without it, too.
Task<Status> StandWithout(Engine& engine, ObjectPath path, MemberIndex member, Accepted version) {
  const Homes homes = engine.Homes(path);
  if (!Contains(homes, member) || MutantActive(Mutant::kRepairSinksHome)) co_return OkStatus();
  const RollResult witness = co_await MakeWitness(engine, path, member, version, kRepairPatience);
  if (witness != RollResult::kAccepted)
    co_return Fail(Code::kUnavailable, "{} takes no witness of it", engine.server_id(member));
  size_t have = 0;
  for (const MemberIndex home : homes) {
    if (home == member || have >= homes.quorum()) continue;
    const RollResult rolled = co_await RollForward(engine, path, home, version, std::nullopt);
    if (rolled == RollResult::kSuperseded || rolled == RollResult::kOvertaken)
      co_return Fail(Code::kConflict, "{} was changed meanwhile", path.text());
    if (rolled == RollResult::kAccepted) ++have;
  }
  if (have >= homes.quorum()) co_return OkStatus();
  co_return Fail(Code::kUnavailable,
                 "too few homes of {} answer to replace the bad archive on {}, which is one of them; retry",
                 path.text(), engine.server_id(member));
}

// Gives the draft its name, if the version is still current. A reply may be lost: what is there counts.
Task<Status> RenameDraft(Engine& engine, ObjectPath path, MemberIndex member, State draft, Accepted version,
                         int tries_max) {
  const State place = PlaceOf(version);
  Duration pause = kRenamePause;
  Status renamed;
  for (int tries = 0; tries < tries_max; ++tries) {
    if (tries > 0) {
      co_await Pause(engine, pause);
      pause *= 2;
    }
    // This is asked each time, since a cleaner that has collected this version meanwhile must not meet the
    // copy.
    const RollResult current = co_await StandingElsewhere(engine, path, member, version, kRepairPatience);
    if (current != RollResult::kAccepted) {
      renamed = Superseded(path);
      continue;
    }
    renamed = co_await RenameState(engine, member, path, FormatState(draft), FormatState(place));
    if (renamed) break;
    const Result<States> states = co_await ListStates(engine, member, path);
    if (!states) continue;
    const bool placed = HasEntry(*states, place);
    const bool waits = HasEntry(*states, draft);
    // The copy was seen, but its rename was not answered, so it may not be on the disk yet.
    if (placed && !waits) co_return co_await SyncStates(engine, member, path);
    if (placed || !waits) break;
  }
  co_return std::move(renamed);
}

struct Room {
  Status status;
  bool removed = false;  // the bad archive; or perhaps, when the status is an unknown outcome
};

// Removes the bad archive if it is the one that is there.
Task<Room> MakeRoom(Engine& engine, ObjectPath path, MemberIndex member, Accepted version,
                    Exchange exchange) {
  Room room;
  Result<States> states = co_await ListStates(engine, member, path);
  Result<bool> in_the_way = states ? IsInTheWay(*states, exchange, version) : states.error();
  if (in_the_way && *in_the_way) {
    const RollResult current = co_await StandingElsewhere(engine, path, member, version, kRepairPatience);
    room.status = current == RollResult::kAccepted ? OkStatus() : Status(Superseded(path));
    if (room.status) room.status = co_await StandWithout(engine, path, member, version);
    if (!room.status) co_return std::move(room);
    // This may have taken a while, so it looks again: nothing is removed but in favour of a copy that is
    // there.
    states = co_await ListStates(engine, member, path);
    in_the_way = states ? IsInTheWay(*states, exchange, version) : states.error();
  }
  if (!in_the_way) room.status = in_the_way.error();
  if (!in_the_way || !*in_the_way) co_return std::move(room);
  const Status removed = co_await Remove(engine.MetadataCall(), engine.server(member),
                                         StatePath(path, FormatState(PlaceOf(version))));
  const bool gone = removed || removed.code() == Code::kNotFound;
  if (!gone) room.status = removed;
  room.removed = gone || OutcomeUnknown(removed);
  co_return std::move(room);
}

Task<Placed> PlaceOnce(Engine& engine, ObjectPath path, MemberIndex member, Accepted version,
                       Exchange exchange) {
  const Room room = co_await MakeRoom(engine, path, member, version, exchange);
  Placed placed;
  placed.status = room.status;
  placed.keep_draft = room.removed;
  if (!room.status && !room.removed) co_return std::move(placed);
  if (!room.removed) co_await KnowOrigin(engine, path, member, version);  // else it has such a witness
  const int tries_max = placed.keep_draft ? kRenameTriesMax : 1;
  placed.status = co_await RenameDraft(engine, path, member, *exchange.draft, version, tries_max);
  if (OutcomeUnknown(placed.status)) placed.keep_draft = true;
  co_return std::move(placed);
}

}  // namespace

std::optional<State> ArchiveInPlace(const States& states, const Accepted& version) {
  const std::string place = FormatState(PlaceOf(version));
  const auto there = std::find_if(states.begin(), states.end(),
                                  [&](const State& state) { return FormatState(state) == place; });
  return there != states.end() ? std::optional(*there) : std::nullopt;
}

Task<Placed> PlaceCopy(Engine& engine, ObjectPath path, MemberIndex member, State draft, Accepted version,
                       std::optional<State> replaces) {
  Exchange exchange{.draft = draft, .replaces = std::move(replaces)};
  Placed placed = co_await PlaceOnce(engine, path, member, version, exchange);
  const bool taken = !placed.status && placed.status.code() == Code::kAlreadyExists && !placed.keep_draft;
  if (!taken) co_return std::move(placed);
  exchange.taken_unseen = true;
  co_return co_await PlaceOnce(engine, std::move(path), member, std::move(version), std::move(exchange));
}

Task<Status> RemoveBad(Engine& engine, ObjectPath path, MemberIndex member, Accepted version, State bad) {
  Exchange exchange{.draft = std::nullopt, .replaces = std::move(bad)};
  const Room room = co_await MakeRoom(engine, path, member, version, std::move(exchange));
  const Homes homes = engine.Homes(path);
  const bool home = Contains(homes, member);
  if (!room.removed || !home) co_return room.status;
  // A cleaner that saw the archive may have taken the witness beside it.
  const RollResult rolled = co_await RollForward(engine, path, member, version, std::nullopt);
  if (rolled == RollResult::kOvertaken) co_return Superseded(path);
  if (rolled != RollResult::kFailed) co_return room.status;
  co_return Fail(Code::kUnavailable, "it is gone, and {} takes no witness of it", engine.server_id(member));
}

}  // namespace xec
