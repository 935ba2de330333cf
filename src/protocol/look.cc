// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/look.hh"

#include <algorithm>
#include <tuple>

#include "base/check.hh"
#include "placement/homes.hh"

namespace xec {
namespace {

auto Rank(const Accepted& a) { return std::tuple(a.kind != Accepted::kNothing, a.version, a.target); }

bool SameUpload(const State& state, const State& seal) { return state.oid == seal.oid && !state.oid.empty(); }

}  // namespace

Accepted AcceptedFrom(const State& state) {
  XEC_CHECK(state.Accepted(), "{} is no accepted state", FormatState(state));
  Accepted accepted;
  accepted.version = *state.version;
  switch (state.kind) {
    case StateKind::kPromoted:
    case StateKind::kWitness:
      accepted.kind = Accepted::kObject;
      accepted.oid = state.oid;
      accepted.size = state.size;
      break;
    case StateKind::kDirectory: accepted.kind = Accepted::kDirectory; break;
    default:
      accepted.kind = state.target ? Accepted::kMoved : Accepted::kRemoved;
      accepted.target = state.target;
  }
  return accepted;
}

bool Accepted::operator<(const Accepted& other) const { return Rank(*this) < Rank(other); }
bool Accepted::operator==(const Accepted& other) const { return Rank(*this) == Rank(other); }

Accepted HighestAccepted(const States& states) {
  Accepted highest;
  for (const State& state : states) {
    if (!state.Accepted()) continue;
    const Accepted accepted = AcceptedFrom(state);
    if (highest < accepted) highest = accepted;
  }
  return highest;
}

std::optional<Version> Ceiling(const States& states) {
  std::optional<Version> ceiling;
  for (const State& state : states) ceiling = std::max(ceiling, state.version);
  return ceiling;
}

bool HasAccepted(const States& states, const Accepted& accepted) {
  return std::any_of(states.begin(), states.end(),
                     [&](const State& s) { return s.Accepted() && AcceptedFrom(s) == accepted; });
}

bool HasAccepted(const States& states, const Version& version) {
  return std::any_of(states.begin(), states.end(),
                     [&](const State& s) { return s.Accepted() && s.version == version; });
}

Look::Look(std::vector<MemberIndex> homes) : homes_(std::move(homes)), quorum_(Quorum(homes_.size())) {}

void Look::Heard(MemberIndex home, States states) {
  const Accepted here = HighestAccepted(states);
  if (highest_ < here) highest_ = here;
  ceiling_ = std::max(ceiling_, Ceiling(states));
  listings_[home] = std::move(states);
}

void Look::Failed(MemberIndex home) { failed_.insert(home); }

std::vector<MemberIndex> Look::NotAsked(const std::set<MemberIndex>& asked) const {
  std::vector<MemberIndex> rest;
  for (const MemberIndex home : homes_) {
    if (!asked.contains(home)) rest.push_back(home);
  }
  return rest;
}

std::vector<MemberIndex> Look::WithHighest() const {
  std::vector<MemberIndex> result;
  for (const auto& [home, states] : listings_) {
    if (HasAccepted(states, highest_)) result.push_back(home);
  }
  return result;
}

std::vector<MemberIndex> Look::LackingHighest() const {
  std::vector<MemberIndex> result;
  for (const auto& [home, states] : listings_) {
    if (!HasAccepted(states, highest_)) result.push_back(home);
  }
  return result;
}

bool Look::Decided() const {
  if (!HasQuorum()) return false;
  return highest_.kind == Accepted::kNothing || WithHighest().size() >= quorum_;
}

RollStep NextRollStep(const States& states, const Accepted& goal) {
  const Accepted here = HighestAccepted(states);
  if (goal < here) return {RollStep::kSuperseded, {}, {}};
  if (HasAccepted(states, goal)) return {RollStep::kAccepted, {}, {}};
  if (goal.kind == Accepted::kRemoved) return {RollStep::kMark, {}, FormatState(TombstoneState(goal.version))};
  if (goal.kind == Accepted::kObject) {
    const std::string to = FormatState(PromotedState(goal.version, goal.oid, goal.size));
    // An aborted archive of a version that was promoted elsewhere is as good as a sealed one.
    for (const State& state : states) {
      const bool waits = state.kind == StateKind::kSealed || state.kind == StateKind::kAborted;
      if (waits && state.oid == goal.oid) return {RollStep::kRename, FormatState(state), to};
    }
  }
  return {RollStep::kWitness, {}, {}};
}

bool SealStands(const States& states, const State& seal) {
  bool present = false;
  for (const State& state : states) {
    if (!SameUpload(state, seal)) continue;
    if (state.kind == StateKind::kAbortMark) return false;
    if (state.kind == StateKind::kSealed) present = true;
  }
  return present;
}

Rivalry RivalAtBarrier(const States& states, const State& own_seal, const Accepted& base) {
  Rivalry rivalry = Rivalry::kNone;
  for (const State& state : states) {
    if (SameUpload(state, own_seal)) continue;
    switch (state.kind) {
      case StateKind::kSealed:
      case StateKind::kAborted: rivalry = std::max(rivalry, Rivalry::kBusy); break;
      case StateKind::kAbortMark:
        if (state.version) rivalry = std::max(rivalry, Rivalry::kBusy);
        break;
      case StateKind::kPromoted:
      case StateKind::kWitness:
      case StateKind::kDirectory:
      case StateKind::kTombstone:
        // What is accepted is at least busy; the caller looks again to tell "exists" from "busy".
        if (base < AcceptedFrom(state)) rivalry = std::max(rivalry, Rivalry::kBusy);
        break;
      case StateKind::kUnproved:
      case StateKind::kIntent:
      case StateKind::kAttributesDraft:
      case StateKind::kAttributes: break;
    }
  }
  return rivalry;
}

std::vector<SweepAction> PlanSweep(const States& states, const SweepInput& input) {
  std::vector<SweepAction> plan;
  const Version& current = input.current.version;
  const auto remove = [&](const State& s) { plan.push_back({SweepAction::kRemoveFile, FormatState(s), {}}); };
  const bool archive_here = std::any_of(states.begin(), states.end(), [&](const State& s) {
    return s.kind == StateKind::kPromoted && s.version == current;
  });
  for (const State& state : states) {
    const bool lower = state.version && *state.version < current;
    switch (state.kind) {
      case StateKind::kPromoted:
      case StateKind::kWitness:
        if (lower && !input.keep_superseded && !input.moving.contains(*state.version)) remove(state);
        // A witness beside the archive of its version says nothing more, but while a move is young it says where
        // archives not moved yet are.
        if (state.kind == StateKind::kWitness && state.version == current && archive_here && !input.keep_superseded) remove(state);
        break;
      case StateKind::kDirectory:
        if (lower) plan.push_back({SweepAction::kRemoveMark, FormatState(state), {}});
        break;
      case StateKind::kTombstone:
        // A moved tombstone is a file and goes only after its move is finished; the mover's program does that.
        if (lower && !state.target) plan.push_back({SweepAction::kRemoveMark, FormatState(state), {}});
        break;
      case StateKind::kSealed:
      case StateKind::kAborted:
        if (state.oid == input.current.oid && !state.oid.empty()) {
          // Left behind beside a witness of its own version: it is the better one.
          plan.push_back({SweepAction::kRename, FormatState(state),
                          FormatState(PromotedState(current, state.oid, input.current.size))});
        } else if (lower || input.promoted_below.contains(state.oid)) {
          remove(state);
        }
        break;
      case StateKind::kUnproved:
        plan.push_back({state.oid == kDirectoryOid ? SweepAction::kRemoveMark : SweepAction::kRemoveFile, FormatState(state), {}});
        break;
      case StateKind::kAttributesDraft:
      case StateKind::kAttributes:
        if (lower && !input.keep_superseded && !input.moving.contains(*state.version)) remove(state);
        break;
      case StateKind::kIntent:
      case StateKind::kAbortMark: break;
    }
  }
  return plan;
}

FenceStep NextFenceStep(const States& states, const State& seal) {
  bool marked = false;
  bool aborted = false;
  for (const State& state : states) {
    if (!SameUpload(state, seal)) continue;
    if (state.kind == StateKind::kPromoted || state.kind == StateKind::kWitness) return {FenceStep::kPromotedHere, {}, {}};
    if (state.kind == StateKind::kSealed) return {FenceStep::kRename, FormatState(state), FormatState(AbortedState(state))};
    aborted = aborted || state.kind == StateKind::kAborted;
    marked = marked || state.kind == StateKind::kAbortMark;
  }
  if (aborted || marked) return {FenceStep::kFenced, {}, {}};
  return {FenceStep::kMark, {}, FormatState(AbortMarkState(seal))};
}

bool OnlyTombstone(const States& states, const Accepted& current) {
  bool present = false;
  for (const State& state : states) {
    if (state.kind == StateKind::kAbortMark) continue;
    if (!state.Accepted() || !(AcceptedFrom(state) == current)) return false;
    present = true;
  }
  return present;
}

}  // namespace xec
