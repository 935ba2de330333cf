// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_renames.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/move.hh"
#include "commit/steps/roll_forward.hh"
#include "protocol/archive_states.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// The one entry of the kind and id in a listing, or null.
const State* FindSeal(const States& states, StateKind kind, const std::string& rid) {
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const State& s) { return s.kind == kind && s.oid == rid; });
  return found == states.end() ? nullptr : &*found;
}

// Turns what is left of the rename's seals at its source into the moved tombstone. True: no home has any.
Task<bool> TurnSeals(CleanPass& pass, Accepted moved) {
  bool clean = pass.AllHomesHeard();
  const ServerStates homes = pass.HomesHeard();
  for (const auto& [home, states] : homes) {
    const State* seal = FindSeal(states, StateKind::kMoveOut, moved.oid);
    if (seal == nullptr) seal = FindSeal(states, StateKind::kAbortedOut, moved.oid);
    if (seal == nullptr) continue;
    const std::string from = FormatState(*seal);
    Status done;
    if (HasAccepted(states, moved)) {
      done = co_await RemoveState(pass.engine, home, pass.path, from);
    } else {
      done = co_await RenameState(pass.engine, home, pass.path, from, FormatState(MovedState(moved)));
    }
    clean = clean && done;
  }
  co_return clean;
}

// Does the source of the rename still show its moved tombstone, or may it?
Task<bool> HeldBySource(CleanPass& pass, std::string rid) {
  Result<std::optional<ObjectPath>> source =
      co_await ReadOrigin(pass.engine, pass.path, pass.HomesHeard(), rid);
  if (!source) co_return true;
  // The seals that were proved go only after the rename was retired; one that was cut short may stay behind.
  if (!*source) co_return !pass.AllHomesHeard();
  Look look = co_await LookAt(pass.engine, **source, LookWidth::kAll, kCleanerPatience);
  if (look.listings().size() < look.homes().size()) co_return true;
  for (const Accepted& moved : MovesIn(look.listings())) {
    if (moved.oid == rid) co_return true;
  }
  co_return false;
}

// "Nothing is left to move out" can be said only when all that is still on its way in as the moved version
// has arrived.
Task<bool> StillMovingIn(CleanPass& pass, Version version) {
  std::set<std::string> origins;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (!state.origin.empty() && state.version == version) origins.insert(state.origin);
    }
  }
  for (const std::string& rid : origins) {
    const bool held = co_await HeldBySource(pass, rid);
    if (held) co_return true;
  }
  co_return false;
}

// Retires the rename by renaming its tombstone, never by removing it. On a home that missed something higher
// the tombstone is all that hides older versions; only a home that has "done" already can do without.
Task<void> Retire(CleanPass& pass, Accepted moved) {
  const State done = TombstoneState(moved.version.Unmoved().MoveDone());
  const ServerStates homes = pass.HomesHeard();
  for (const auto& [home, states] : homes) {
    if (!HasAccepted(states, moved)) continue;
    SweepAction action{
        .kind = SweepAction::kRename, .from = FormatState(MovedState(moved)), .to = FormatState(done)};
    if (HasAccepted(states, *done.version)) action.kind = SweepAction::kRemoveFile;
    co_await Perform(pass, home, std::move(action));
  }
}

// Carries the rename of a moved tombstone at its source to its end. True: it is retired.
Task<bool> ResolveMoved(CleanPass& pass, Accepted moved) {
  Result<MoveRecord> record = co_await ReadMoveRecord(pass.engine, pass.path, moved);
  if (!record && record.code() == Code::kCorruption && pass.AllHomesHeard()) {
    // Where the record was whole, the rename has been retired already.
    co_await Retire(pass, moved);
    co_return true;
  }
  if (!record) co_return false;
  const bool clean = co_await TurnSeals(pass, moved);
  const Status finished = co_await FinishTarget(pass.engine, pass.path, moved, Tombstone::kSeen);
  if (!finished) co_return false;
  const bool durable = co_await KeepMoved(pass.engine, pass.path, moved, Late::kWaitedFor);
  if (!durable) co_return false;
  const bool moving_in = co_await StillMovingIn(pass, moved.version.Unmoved());
  if (moving_in && !MutantActive(Mutant::kRetireBeforeItCame)) co_return false;
  std::vector<MemberIndex> servers = ServersOfMove(pass.engine, pass.path, *record);
  // An archive that was written elsewhere after the others were sealed, or re-created, is not in the record.
  for (const auto& [member, states] : pass.servers) {
    const bool listed = Contains(servers, member);
    if (!listed && HasArchiveOf(states, moved.version.Unmoved(), record->oid)) servers.push_back(member);
  }
  const size_t count = servers.size();
  const size_t clear = co_await MoveArchives(pass.engine, pass.path, moved, *record, std::move(servers));
  if (!clean || clear < count) co_return false;
  // A reader that has the object open under its old name finds its way by the tombstone.
  if (!pass.Past(moved.target->WallMillis(), pass.engine.options().superseded_grace)) co_return false;
  XEC_FAILPOINT("clean.retire");
  // Homes that took the tombstone only now have it since the listing. And no server may have an archive left,
  // named in the record or not: once the rename is retired it would be removed as history.
  co_await ListEverywhere(pass);
  if (!pass.AllServersHeard()) co_return false;
  for (const auto& [member, states] : pass.servers) {
    if (HasArchiveOf(states, moved.version.Unmoved(), record->oid)) co_return false;
  }
  co_await Retire(pass, moved);
  XEC_FAILPOINT("clean.retired");
  co_return true;
}

// Gives a seal at its source that has no moved tombstone up on all homes, and then removes it.
Task<bool> ResolveMoveOut(CleanPass& pass, State seal) {
  const State out = MoveOutState(seal.oid);
  const bool fenced = co_await FenceAllHomes(pass.engine, pass.path, out);
  if (!fenced) co_return false;
  XEC_FAILPOINT("clean.rename_fenced");
  for (const MemberIndex home : pass.homes) co_await Perform(pass, home, RemoveEntry(AbortedState(out)));
  co_return true;
}

Task<void> RemoveMoveIn(CleanPass& pass, State seal) {
  const ServerStates homes = pass.HomesHeard();
  for (const auto& [home, states] : homes) {
    if (FindSeal(states, StateKind::kMoveIn, seal.oid) != nullptr)
      co_await Perform(pass, home, RemoveEntry(seal));
  }
}

// The source decides about a seal at its target. The seal stays until the source has retired the rename:
// where something higher made the witness unnecessary, only the seal keeps this name from being forgotten
// before the last archive is in.
Task<bool> ResolveMoveIn(CleanPass& pass, State seal) {
  Result<std::optional<ObjectPath>> found =
      co_await ReadOrigin(pass.engine, pass.path, pass.HomesHeard(), seal.oid);
  if (!found) co_return false;
  const std::optional<ObjectPath>& source = *found;
  if (!source) {
    // No home has a whole seal, so none can have been proved: its writer died over it.
    if (!pass.AllHomesHeard()) co_return false;
    co_await RemoveMoveIn(pass, seal);
    co_return true;
  }
  Look look = co_await LookAt(pass.engine, *source, LookWidth::kAll, kCleanerPatience);
  if (!look.HasQuorum()) co_return false;
  for (const Accepted& moved : MovesIn(look.listings())) {
    if (moved.oid != seal.oid) continue;
    size_t holding = 0;
    for (const auto& [home, states] : look.listings()) holding += HighestAccepted(states) < moved ? 0 : 1;
    if (holding < look.quorum()) {
      RollOutcome rolled =
          co_await RollForwardAll(pass.engine, *source, look, look.LackingHighest(), Late::kWaitedFor);
      if (rolled.superseded || look.WithHighest().size() + rolled.accepted.size() < look.quorum())
        co_return false;
    }
    const Status finished = co_await FinishTarget(pass.engine, *source, moved, Tombstone::kSeen);
    (void)finished;
    co_return false;
  }
  const bool fenced = co_await FenceAllHomes(pass.engine, *source, MoveOutState(seal.oid));
  if (!fenced) co_return false;
  XEC_FAILPOINT("clean.target_fenced");
  co_await RemoveMoveIn(pass, seal);
  co_return true;
}

// Finds a seal of a rename that homes show: the oldest of the source's seals, or else of the target's.
std::optional<State> OldestSeal(const ServerStates& homes) {
  const auto rank = [](const State& s) {
    if (IsMovingOut(s)) return 2;
    return s.kind == StateKind::kMoveIn ? 1 : 0;
  };
  std::optional<State> best;
  for (const auto& [home, states] : homes) {
    for (const State& state : states) {
      const int here = rank(state);
      const int known = best ? rank(*best) : 0;
      if (here > known || (here > 0 && here == known && state.mtime_s < best->mtime_s)) best = state;
    }
  }
  return best;
}

}  // namespace

Task<std::set<std::string>> HeldRenames(CleanPass& pass) {
  std::set<std::string> origins;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (!state.origin.empty()) origins.insert(state.origin);
    }
  }
  std::set<std::string> held;
  for (const std::string& rid : origins) {
    const bool is_held = co_await HeldBySource(pass, rid);
    if (is_held) held.insert(rid);
  }
  co_return std::move(held);
}

Task<RenamesLeft> ResolveRenames(CleanPass& pass) {
  const std::vector<Accepted> moves = MovesIn(pass.HomesHeard());
  bool done = false;
  for (const Accepted& moved : moves) {
    const bool retired = co_await ResolveMoved(pass, moved);
    done = done || retired;
  }
  const std::optional<State> seal = OldestSeal(pass.HomesHeard());
  if (moves.empty() && !seal) co_return RenamesLeft::kNone;
  // A young seal may belong to a rename that is under way: leaving it is courtesy, not safety.
  if (moves.empty() && pass.Past(*seal, pass.engine.options().operation_limit)) {
    if (seal->kind == StateKind::kMoveIn) {
      done = co_await ResolveMoveIn(pass, *seal);
    } else {
      done = co_await ResolveMoveOut(pass, *seal);
    }
  }
  if (done) co_return RenamesLeft::kDone;
  ++pass.outcome.left;
  co_return RenamesLeft::kOpen;
}

}  // namespace xec
