// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/look.hh"

#include <algorithm>
#include <tuple>

#include "base/check.hh"
#include "base/contains.hh"
#include "base/mutant.hh"

namespace xec {
namespace {

// An exclusive upload that has sealed promotes or yields in no time as a rule. One whose seal was so much
// older when the own one was made has mostly ended, and its seal stayed behind.
constexpr int64_t kIdleSealSeconds = 2;

auto Rank(const Accepted& a) { return std::tuple(a.kind != Accepted::kNothing, a.version, a.target); }

// Higher, or of the same rank and better known.
bool IsBetter(const Accepted& a, const Accepted& b) { return b < a || (a == b && b.origin.empty()); }

bool SameUpload(const State& state, const State& seal) { return state.oid == seal.oid && !state.oid.empty(); }

// Of two exclusive uploads: the order in which they give way. Only the seal of an exclusive upload has a
// version.
bool IsLaterExclusive(const State& state, const State& seal) {
  return state.version && std::tie(seal.version, seal.oid) < std::tie(state.version, state.oid);
}

// What is left of an upload, or of a rename onto this name, that became a version below `base`, or `base`
// itself, where that is to be replaced. Its writer has chosen that version, and none has two: whatever it
// still does, it comes before what replaces `base`.
bool IsHistory(const std::map<MemberIndex, States>& listings, const State& left, const Accepted& base) {
  const bool rename = left.kind == StateKind::kMoveIn;
  if (!rename && left.kind != StateKind::kSealed && left.kind != StateKind::kAborted) return false;
  const auto became_below = [&](const State& state) {
    if (rename) {
      const bool moved_in = state.kind == StateKind::kWitness && state.origin == left.oid;
      return moved_in && !(base < AcceptedFrom(state));
    }
    const bool archive = state.kind == StateKind::kPromoted || state.kind == StateKind::kWitness;
    return archive && SameUpload(state, left) && !(base < AcceptedFrom(state)) &&
           (!left.version || left.version == state.version);
  };
  return std::any_of(listings.begin(), listings.end(), [&](const auto& listing) {
    return std::any_of(listing.second.begin(), listing.second.end(), became_below);
  });
}

// Does no other home show it?
bool IsAlone(const std::map<MemberIndex, States>& listings, const State& state) {
  const std::string name = FormatState(state);
  const auto shows = [&](const auto& listing) {
    return std::any_of(listing.second.begin(), listing.second.end(),
                       [&](const State& s) { return s.kind == state.kind && FormatState(s) == name; });
  };
  return std::count_if(listings.begin(), listings.end(), shows) == 1;
}

// Of e, or of f met by e or the other way round. `alone`: no other home shows it.
Rivalry RivalryOfExclusive(const State& state, const State& own_seal, bool alone) {
  if (IsLaterExclusive(state, own_seal))
    return MutantActive(Mutant::kLaterOnesGiveWay) ? Rivalry::kNone : Rivalry::kLaterOnly;
  const bool idle = own_seal.mtime_s - state.mtime_s >= kIdleSealSeconds;
  // A server that was stopped may make only now what was given up since.
  const int64_t older_ms = own_seal.version->WallMillis() - state.version->WallMillis();
  const bool late = alone && older_ms >= kIdleSealSeconds * 1000;
  return idle || late ? Rivalry::kSealed : Rivalry::kBusy;
}

// What the cleaner makes of a moved tombstone once the rename is through: the name is as gone as it was.
bool EndsMove(const Accepted& state, const Accepted& base) {
  return base.kind == Accepted::kMoved && state.version == base.version.Unmoved().MoveDone();
}

// Of one that shows in the same listing as `own_seal`, with the times of both. `alone`: in no other one.
Rivalry RivalryOf(const State& state, const State& own_seal, const Accepted& base, bool alone) {
  switch (state.kind) {
    case StateKind::kSealed:
      return state.version ? RivalryOfExclusive(state, own_seal, alone) : Rivalry::kSealed;
    case StateKind::kDirectorySeal:
    case StateKind::kAbortedDirectory:
      if (IsMakingDirectory(own_seal) || *state.version < base.version) return Rivalry::kNone;
      return state.kind == StateKind::kDirectorySeal ? RivalryOfExclusive(state, own_seal, alone)
                                                     : Rivalry::kBusy;
    // Given up by the cleaner, soon gone; or left behind by what was accepted elsewhere.
    case StateKind::kAborted: return Rivalry::kSealed;
    // A rename onto this name is a put: it may have chosen its version before our seal was there.
    case StateKind::kMoveIn:
      return MutantActive(Mutant::kExclusiveOverRename) ? Rivalry::kNone : Rivalry::kSealed;
    case StateKind::kPromoted:
    case StateKind::kWitness:
    case StateKind::kDirectory:
    case StateKind::kTombstone:
      // What is accepted is at least busy; the caller looks again to tell "exists" from "busy".
      if (EndsMove(AcceptedFrom(state), base)) return Rivalry::kNone;
      return base < AcceptedFrom(state) ? Rivalry::kBusy : Rivalry::kNone;
    // No seal has stood here where there is nothing but the mark: it is made where no seal was, and a seal
    // that stood before it would show, be it as aborted.
    case StateKind::kAbortMark:
    case StateKind::kRemovalSeal:
    case StateKind::kUnproved:
    case StateKind::kMoveOut:
    case StateKind::kAbortedOut:
    case StateKind::kAttributesDraft:
    case StateKind::kAttributes: break;
  }
  return Rivalry::kNone;
}

}  // namespace

bool IsMovingOut(const State& state) {
  return state.kind == StateKind::kMoveOut || state.kind == StateKind::kAbortedOut;
}

bool IsMakingDirectory(const State& state) {
  return state.kind == StateKind::kDirectorySeal || state.kind == StateKind::kAbortedDirectory;
}

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
      accepted.given = state.given;
      break;
    case StateKind::kDirectory: accepted.kind = Accepted::kDirectory; break;
    default:
      accepted.kind = state.target ? Accepted::kMoved : Accepted::kRemoved;
      accepted.target = state.target;
      accepted.oid = state.oid;
      accepted.proved = state.proved;
  }
  accepted.origin = state.origin;
  return accepted;
}

int64_t MtimeMs(const Accepted& accepted) {
  const std::optional<int64_t>& set_ns = accepted.given.settings.mtime_ns;
  return set_ns ? MillisOf(*set_ns) : accepted.version.WallMillis();
}

State MovedState(const Accepted& moved) {
  XEC_CHECK(moved.kind == Accepted::kMoved, "not a moved version");
  return MovedState(moved.version.Unmoved(), moved.oid, *moved.target, moved.proved);
}

std::vector<Accepted> MovesIn(const std::map<MemberIndex, States>& listings) {
  std::vector<Accepted> moves;
  for (const auto& [member, states] : listings) {
    for (const State& state : states) {
      if (!state.IsMoved()) continue;
      const Accepted moved = AcceptedFrom(state);
      const bool known =
          std::any_of(moves.begin(), moves.end(), [&](const Accepted& m) { return m.oid == moved.oid; });
      if (!known) moves.push_back(moved);
    }
  }
  return moves;
}

bool Accepted::operator<(const Accepted& other) const { return Rank(*this) < Rank(other); }
bool Accepted::operator==(const Accepted& other) const { return Rank(*this) == Rank(other); }

Accepted HighestAccepted(const States& states) {
  Accepted highest;
  for (const State& state : states) {
    if (!state.Accepted()) continue;
    Accepted accepted = AcceptedFrom(state);
    if (IsBetter(accepted, highest)) highest = std::move(accepted);
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

void Look::Heard(MemberIndex home, States states) {
  Accepted here = HighestAccepted(states);
  if (IsBetter(here, highest_)) highest_ = std::move(here);
  ceiling_ = std::max(ceiling_, Ceiling(states));
  listings_[home] = std::move(states);
}

void Look::Failed(MemberIndex home) { failed_.insert(home); }

std::vector<MemberIndex> Look::FirstHomesNotHeard() const {
  std::vector<MemberIndex> rest;
  for (size_t i = 0; i < std::min(quorum(), homes_.size()); ++i) {
    const MemberIndex home = homes_[i];
    if (!listings_.contains(home) && !failed_.contains(home)) rest.push_back(home);
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
  return highest_.kind == Accepted::kNothing || WithHighest().size() >= quorum();
}

RollStep NextRollStep(const States& states, const Accepted& goal) {
  const Accepted here = HighestAccepted(states);
  if (goal < here) return {.kind = RollStep::kSuperseded};
  if (HasAccepted(states, goal)) return {.kind = RollStep::kAccepted};
  if (goal.kind == Accepted::kRemoved)
    return {.kind = RollStep::kMark, .to = FormatState(TombstoneState(goal.version))};
  for (const State& state : states) {
    if (goal.kind == Accepted::kDirectory && IsMakingDirectory(state) && state.version == goal.version)
      return {.kind = RollStep::kRename,
              .from = FormatState(state),
              .to = FormatState(DirectoryState(goal.version))};
    // An aborted seal of what was accepted elsewhere is as good as a valid one.
    if (goal.kind == Accepted::kMoved && IsMovingOut(state) && state.oid == goal.oid)
      return {.kind = RollStep::kRename, .from = FormatState(state), .to = FormatState(MovedState(goal))};
    if (goal.kind != Accepted::kObject) continue;
    if (state.kind == StateKind::kMoveIn && state.oid == goal.origin) {
      State witness = WitnessState(goal.version, goal.oid, goal.size, goal.given);
      witness.origin = goal.origin;
      return {.kind = RollStep::kRename, .from = FormatState(state), .to = FormatState(witness)};
    }
    if (state.oid == goal.oid && (state.kind == StateKind::kSealed || state.kind == StateKind::kAborted)) {
      return {.kind = RollStep::kRename,
              .from = FormatState(state),
              .to = FormatState(PromotedState(goal.version, goal.oid, goal.size, goal.given))};
    }
  }
  return {.kind = RollStep::kWitness};
}

FinishPlan PlanFinish(const Look& look, const Accepted& target, const std::vector<MemberIndex>& proved) {
  FinishPlan plan;
  if (!look.HasQuorum()) {
    plan.kind = FinishPlan::kCannotTell;
    return plan;
  }
  const bool above = !(look.highest() < target);
  plan.goal = above ? look.highest() : target;
  std::vector<MemberIndex> proved_seals;
  size_t settled = 0;
  for (size_t i = 0; i < look.homes().size(); ++i) {
    const MemberIndex home = look.homes()[i];
    const auto heard = look.listings().find(home);
    if (heard == look.listings().end()) continue;
    const Accepted here = HighestAccepted(heard->second);
    const bool sealed = std::any_of(heard->second.begin(), heard->second.end(), [&](const State& s) {
      return s.kind == StateKind::kMoveIn && s.oid == target.origin;
    });
    const bool proved_seal = sealed && Contains(proved, home);
    if (proved_seal) proved_seals.push_back(home);
    if (!(here < target)) ++settled;
    if (!(here < plan.goal)) {
      ++plan.have;
      continue;
    }
    (!above && proved_seal ? plan.first : plan.then).push_back(home);
  }
  if (above || settled >= look.quorum()) plan.overtaken = std::move(proved_seals);
  if (settled >= look.quorum()) return plan;
  // The seals stood on a quorum before the commit, and go only when the rename is finished: it was, long ago.
  if (!above && plan.first.empty()) return plan;
  plan.kind = FinishPlan::kRoll;
  return plan;
}

bool SealStands(const States& states, const State& seal) {
  bool present = false;
  for (const State& state : states) {
    if (!SameUpload(state, seal)) continue;
    if (state.kind == StateKind::kAbortMark) return false;
    if (state.kind == seal.kind) present = true;
  }
  return present;
}

std::set<Version> DirectoriesUnderWay(const std::map<MemberIndex, States>& listings,
                                      const Accepted& highest) {
  std::set<Version> versions;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (IsMakingDirectory(state) && highest.version < *state.version) versions.insert(*state.version);
    }
  }
  return versions;
}

bool DirectoryUnderWay(const std::map<MemberIndex, States>& listings, const Accepted& highest) {
  return !DirectoriesUnderWay(listings, highest).empty();
}

bool RemovalUnderWay(const std::map<MemberIndex, States>& listings, const Version& directory) {
  return std::any_of(listings.begin(), listings.end(), [&](const auto& listing) {
    return std::any_of(listing.second.begin(), listing.second.end(), [&](const State& state) {
      return state.kind == StateKind::kRemovalSeal && directory <= *state.version;
    });
  });
}

std::vector<State> MakingUnderWay(const std::map<MemberIndex, States>& listings, const Accepted& highest) {
  std::map<std::string, State> seals;  // by id
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      const bool upload = state.kind == StateKind::kSealed || state.kind == StateKind::kAborted;
      const bool directory = IsMakingDirectory(state) && highest.version < *state.version;
      if (!upload && !directory && state.kind != StateKind::kMoveIn) continue;
      if (IsHistory(listings, state, highest)) continue;
      const auto [known, added] = seals.emplace(state.oid, state);
      if (!added) known->second.mtime_s = std::max(known->second.mtime_s, state.mtime_s);
    }
  }
  std::vector<State> result;
  for (auto& [oid, seal] : seals) result.push_back(std::move(seal));
  return result;
}

bool RenameRival(const States& states, const std::set<std::string>& own) {
  return std::any_of(states.begin(), states.end(),
                     [&](const State& state) { return IsMovingOut(state) && !own.contains(state.oid); });
}

std::set<std::string> RenamesCommitted(const std::map<MemberIndex, States>& listings) {
  std::set<std::string> committed;
  for (const Accepted& move : MovesIn(listings)) committed.insert(move.oid);
  return committed;
}

bool AnyRenameRival(const std::map<MemberIndex, States>& listings, std::set<std::string> own) {
  own.merge(RenamesCommitted(listings));
  return std::any_of(listings.begin(), listings.end(),
                     [&](const auto& listing) { return RenameRival(listing.second, own); });
}

Rival RivalAtBarrier(const std::map<MemberIndex, States>& listings, const State& own_seal,
                     const Accepted& base) {
  Rival hardest;
  for (const auto& [home, states] : listings) {
    const auto here = std::find_if(states.begin(), states.end(), [&](const State& s) {
      return s.kind == own_seal.kind && SameUpload(s, own_seal);
    });
    const State& own = here != states.end() ? *here : own_seal;
    for (const State& state : states) {
      if (SameUpload(state, own_seal) || IsHistory(listings, state, base)) continue;
      // Asked of seals only: there are few, and names are costly to compare.
      const bool seal = state.kind == StateKind::kSealed || state.kind == StateKind::kDirectorySeal;
      const Rivalry rivalry = RivalryOf(state, own, base, seal && IsAlone(listings, state));
      if (hardest.rivalry < rivalry) hardest = {rivalry, home, state};
    }
  }
  return hardest;
}

std::vector<SweepAction> PlanSweep(const States& states, const SweepInput& input) {
  std::vector<SweepAction> plan;
  const Version& current = input.current.version;
  const auto remove = [&](const State& s) {
    plan.push_back(
        {.kind = s.IsMark() ? SweepAction::kRemoveMark : SweepAction::kRemoveFile, .from = FormatState(s)});
  };
  const auto any_current = [&](StateKind kind, bool moved_in) {
    return std::any_of(states.begin(), states.end(), [&](const State& s) {
      return s.kind == kind && s.version == current && (!moved_in || !s.origin.empty());
    });
  };
  const bool archive_here = any_current(StateKind::kPromoted, false);
  const bool moved_in_here = any_current(StateKind::kWitness, true);
  for (const State& state : states) {
    const bool lower = state.version && *state.version < current;
    const bool superseded = lower && *state.version < input.keep_from;
    switch (state.kind) {
      case StateKind::kPromoted:
      case StateKind::kAttributesDraft:
      case StateKind::kAttributes:
        if (superseded) remove(state);
        break;
      case StateKind::kWitness: {
        // Beside the archive of its version, or beside the witness that knows more, it says nothing.
        const bool second =
            state.version == current && (archive_here || (state.origin.empty() && moved_in_here));
        if ((superseded || second) && !input.held.contains(state.origin)) remove(state);
        break;
      }
      case StateKind::kDirectorySeal:
      case StateKind::kAbortedDirectory:
        // Whatever becomes of it elsewhere is history, or what is current.
        if (*state.version <= current) remove(state);
        break;
      case StateKind::kDirectory:
      case StateKind::kTombstone:
        if (lower && !state.IsMoved()) remove(state);
        break;
      case StateKind::kSealed:
      case StateKind::kAborted:
        if (input.current.kind == Accepted::kObject && state.oid == input.current.oid) {
          if (archive_here) {
            // It was bad, and a good copy of it has been placed.
            remove(state);
            break;
          }
          // Left behind beside a witness of its own version: it is the better one.
          plan.push_back({.kind = SweepAction::kRename,
                          .from = FormatState(state),
                          .to = FormatState(
                              PromotedState(current, state.oid, input.current.size, input.current.given))});
        } else if (const auto below = input.promoted_below.find(state.oid);
                   below != input.promoted_below.end()) {
          // Readers that have that version open take a seal for its archive.
          if (below->second < input.keep_from) remove(state);
        } else if (lower) {
          remove(state);
        }
        break;
      case StateKind::kUnproved: remove(state); break;
      case StateKind::kMoveOut:
      case StateKind::kMoveIn:
      case StateKind::kAbortedOut:
      case StateKind::kRemovalSeal:
      case StateKind::kAbortMark: break;
    }
  }
  return plan;
}

FenceStep NextFenceStep(const States& states, const State& seal) {
  // A directory does not tell its maker.
  const bool directory = seal.kind == StateKind::kDirectorySeal;
  if (directory && *seal.version <= HighestAccepted(states).version)
    return {.kind = FenceStep::kPromotedHere};
  bool marked = false;
  bool aborted = false;
  for (const State& state : states) {
    if (!SameUpload(state, seal)) continue;
    if (state.Accepted()) return {.kind = FenceStep::kPromotedHere};
    if (state.kind == StateKind::kSealed || state.kind == StateKind::kMoveOut ||
        state.kind == StateKind::kDirectorySeal) {
      return {.kind = FenceStep::kRename, .from = FormatState(state), .to = FormatState(AbortedState(state))};
    }
    aborted = aborted || state.kind == StateKind::kAborted || state.kind == StateKind::kAbortedOut ||
              state.kind == StateKind::kAbortedDirectory;
    marked = marked || state.kind == StateKind::kAbortMark;
  }
  if (aborted || marked) return {.kind = FenceStep::kFenced};
  return {.kind = FenceStep::kMark, .to = FormatState(AbortMarkState(seal))};
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
