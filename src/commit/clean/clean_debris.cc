// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_debris.hh"

#include <algorithm>
#include <numeric>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/clean/clean_renames.hh"
#include "commit/programs/attributes.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/move_log.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Removes what the listings show of a fenced upload, on the homes or on the other servers.
Task<void> RemoveUpload(CleanPass& pass, State seal, bool on_homes) {
  for (const auto& [member, states] : pass.servers) {
    const bool home = Contains(pass.homes, member);
    if (home != on_homes) continue;
    // Fencing has renamed what homes had; other servers still have what was listed.
    if (home) co_await Perform(pass, member, RemoveEntry(AbortedState(seal)));
    for (const State& state : states) {
      const bool of_upload =
          state.oid == seal.oid && (state.kind == StateKind::kSealed || state.kind == StateKind::kAborted);
      if (!home && of_upload) co_await Perform(pass, member, RemoveEntry(state));
    }
  }
}

// One upload, or directory, that is promoted nowhere and silent for long is given up: fenced on every home,
// then removed.
Task<void> AbortUpload(CleanPass& pass, State seal) {
  const bool fenced = co_await FenceAllHomes(pass.engine, pass.path, seal);
  if (!fenced) {
    ++pass.outcome.left;
    co_return;
  }
  XEC_FAILPOINT("clean.all_fenced");
  // Data on other servers goes first: as long as a home shows the aborted seal, the next cleaner finds the
  // rest.
  co_await RemoveUpload(pass, seal, false);
  co_await RemoveUpload(pass, seal, true);
}

Task<void> RemoveDrafts(CleanPass& pass) {
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kUnproved) continue;
      if (pass.Past(state, pass.engine.options().operation_limit)) {
        co_await Perform(pass, member, RemoveEntry(state));
      } else {
        ++pass.outcome.left;
      }
    }
  }
}

// So long a draft may lie untouched while its writer still goes on with it. A draft of the current version
// may belong to an archive whose repair is held up by a server that hangs, or is stopped itself; its name
// does not tell it from the draft of a witness.
Duration GraceOf(const CleanPass& pass, const State& draft) {
  const EngineOptions& options = pass.engine.options();
  const bool current = pass.current.kind == Accepted::kObject && draft.version == pass.current.version;
  return current ? std::max(options.upload_grace, options.operation_limit) : options.operation_limit;
}

// The lowest version that some reader may still be reading: the one that was current when the grace time
// began. If a name is written again and again that is not the version of now. What a quorum shows was
// committed.
Version KeepFrom(const CleanPass& pass) {
  if (MutantActive(Mutant::kSweepSupersededAtOnce)) return pass.current.version;
  std::map<Version, std::set<MemberIndex>> accepted_by;  // homes
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (!state.Accepted() || pass.current.version < *state.version) continue;
      std::set<MemberIndex>& by = accepted_by[*state.version];
      if (Contains(pass.homes, member)) by.insert(member);
    }
  }
  const Duration grace = pass.engine.options().superseded_grace;
  for (auto it = accepted_by.rbegin(); it != accepted_by.rend(); ++it) {
    const auto& [version, by] = *it;
    const bool committed = version == pass.current.version || by.size() >= pass.homes.quorum() ||
                           MutantActive(Mutant::kHalfMadeEndsGrace);
    // It was never current before it was made, and there may be thousands of which that is enough to know.
    if (!committed || !pass.Past(version.WallMillis(), grace)) continue;
    if (pass.Past(CurrentSinceMs(version, pass.servers, pass.homes, pass.Now()), grace)) return version;
  }
  return Version();
}

// A home may not have accepted the current version yet, perhaps because its disk is full. What is below the
// highest version that it has accepted goes all the same, and so do drafts.
bool MayGoBefore(const State& state) {
  return state.kind == StateKind::kPromoted || state.kind == StateKind::kWitness ||
         state.kind == StateKind::kAttributes || state.kind == StateKind::kUnproved;
}

// What one server has that waits.
uint64_t LeftOn(const States& states, const CleanPass& pass, const SweepInput& input) {
  // Witnesses wait until their source has retired the rename that brought them, or until all homes say that
  // it has.
  const auto waits = [&](const State& s) {
    const bool held =
        s.kind == StateKind::kWitness && *s.version < pass.current.version && input.held.contains(s.origin);
    const bool seal = s.kind == StateKind::kSealed || s.kind == StateKind::kAborted;
    const auto below = seal ? input.promoted_below.find(s.oid) : input.promoted_below.end();
    const bool readable = s.Accepted() && input.keep_from <= *s.version && *s.version < pass.current.version;
    const bool promoted = below != input.promoted_below.end() && input.keep_from <= below->second;
    return uint64_t{held} + uint64_t{readable || promoted};
  };
  return std::accumulate(states.begin(), states.end(), uint64_t{0},
                         [&](uint64_t left, const State& s) { return left + waits(s); });
}

// On one server, beside the others.
Task<Performed> SweepOn(const CleanPass& pass, MemberIndex member, SweepInput input) {
  const States& states = pass.servers.at(member);
  const bool home = Contains(pass.homes, member);
  const Accepted highest = HighestAccepted(states);
  const bool behind = home && highest < pass.current;
  Performed swept;
  // Settle asked this home to accept the version, and it has not done so yet.
  if (behind && highest.kind != Accepted::kNothing) ++swept.left;
  input.current = behind ? highest : pass.current;
  std::map<std::string, const State*> by_name;
  for (const State& state : states) by_name.emplace(FormatState(state), &state);
  const std::vector<SweepAction> plan = PlanSweep(states, input);
  for (const SweepAction& action : plan) {
    const State& entry = *by_name.at(action.from);
    if (behind && !MayGoBefore(entry)) continue;
    // It may be somebody's roll-forward or repair under way.
    const bool young = entry.kind == StateKind::kUnproved && !pass.Past(entry, GraceOf(pass, entry));
    if (young) {
      ++swept.left;
      continue;
    }
    const Performed performed = co_await PerformOn(pass, member, action);
    swept.Add(performed);
  }
  swept.left += LeftOn(states, pass, input);
  co_return swept;
}

}  // namespace

Task<void> Sweep(CleanPass& pass) {
  if (pass.current.kind == Accepted::kNothing) {
    // Only a creation is left that came when all else was forgotten.
    co_await RemoveDrafts(pass);
    co_return;
  }
  SweepInput input;
  input.keep_from = KeepFrom(pass);
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (!state.Accepted() || pass.current.version <= *state.version || state.oid.empty()) continue;
      Version& last = input.promoted_below[state.oid];
      last = std::max(last, *state.version);
    }
  }
  input.held = co_await HeldRenames(pass);
  Gather<Performed> sweeping(pass.engine.scope(), pass.engine.executor());
  for (const auto& [member, states] : pass.servers) sweeping.Start(member, SweepOn(pass, member, input));
  while (sweeping.pending() > 0) {
    const auto event = co_await sweeping.Next();
    Count(pass, static_cast<MemberIndex>(event.tag), *event.value);
  }
}

// Finds the revision that has all others of the current version in it, and these others. Its writer may have
// died before a quorum had it.
Task<std::optional<AttributeRevision>> SettleAttributes(CleanPass& pass) {
  std::map<Version, size_t> revisions;  // and how many homes show them
  for (const auto& [home, states] : pass.HomesHeard()) {
    for (const State& state : states) {
      if (state.kind == StateKind::kAttributes && state.version == pass.current.version)
        ++revisions[*state.target];
    }
  }
  const size_t quorum = pass.homes.quorum();
  const bool decided = revisions.size() == 1 && revisions.begin()->second >= quorum;
  if (revisions.empty() || decided) co_return std::nullopt;
  NameInfo info{.path = pass.path, .accepted = pass.current, .holders = {}, .listings = pass.HomesHeard()};
  Result<std::optional<AttributeRevision>> settled = co_await ReadAttributes(pass.engine, std::move(info));
  if (settled) co_return std::move(*settled);
  ++pass.outcome.left;
  co_return std::nullopt;
}

bool IsRevision(const State& state, const Version& revision) {
  return state.kind == StateKind::kAttributes && state.target == revision;
}

// Has the revision been on a quorum of homes for so long that nobody's look began before?
bool IsOldEnough(const CleanPass& pass, const Version& revision) {
  std::vector<int64_t> written_s;
  for (const auto& [home, states] : pass.HomesHeard()) {
    for (const State& state : states) {
      if (IsRevision(state, revision)) written_s.push_back(state.mtime_s);
    }
  }
  const size_t quorum = pass.homes.quorum();
  if (written_s.size() < quorum) return false;
  std::sort(written_s.begin(), written_s.end());
  return pass.Past(written_s[quorum - 1] * 1000, pass.engine.options().operation_limit);
}

// Removes revisions of attributes that another one on a quorum of homes has in it, drafts that were given up,
// and copies for a rename that never committed. Where a home has not got the later revision, the earlier one
// stays as long as a look that began before may go on.
Task<void> RemoveOldAttributes(CleanPass& pass) {
  const std::optional<AttributeRevision> settled = co_await SettleAttributes(pass);
  const bool old_enough = settled && IsOldEnough(pass, settled->revision);
  std::set<Version> accepted;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      // A directory that is being made has attributes before it is there.
      if (state.Accepted() || IsMakingDirectory(state)) accepted.insert(*state.version);
    }
  }
  const Duration horizon = pass.engine.options().tombstone_horizon;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      const bool draft = state.kind == StateKind::kAttributesDraft;
      if (!draft && state.kind != StateKind::kAttributes) continue;
      const bool current = state.version == pass.current.version;
      const bool old = !draft && current && settled && *state.target != settled->revision &&
                       settled->set.over.contains(*state.target);
      const bool orphan = draft || (pass.AllHomesHeard() && !accepted.contains(*state.version));
      const auto is_settled = [&](const State& s) { return IsRevision(s, settled->revision); };
      const bool needed = old && !old_enough && std::none_of(states.begin(), states.end(), is_settled);
      if (needed) ++pass.outcome.left;
      if ((old && !needed) || (orphan && pass.Past(state, horizon)))
        co_await Perform(pass, member, RemoveEntry(state));
    }
  }
}

namespace {

struct ListedUpload {
  State seal;
  int64_t last_ms = 0;  // sign of life
};

// Those that are promoted nowhere, by id.
std::map<std::string, ListedUpload> UploadsOf(const CleanPass& pass) {
  std::map<std::string, ListedUpload> uploads;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kSealed && state.kind != StateKind::kAborted) continue;
      ListedUpload& upload = uploads[state.oid];
      upload.seal = state;
      upload.seal.kind = StateKind::kSealed;
      // Sealed archives show when they were written; a rename to aborted does not change that.
      upload.last_ms = std::max(upload.last_ms, state.mtime_s * 1000);
    }
  }
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.Accepted()) uploads.erase(state.oid);
    }
  }
  return uploads;
}

}  // namespace

Task<void> AbortSilentUploads(CleanPass& pass, Duration silence) {
  const std::map<std::string, ListedUpload> uploads = UploadsOf(pass);
  for (const auto& [oid, upload] : uploads) {
    if (pass.Past(upload.last_ms, silence)) {
      co_await AbortUpload(pass, upload.seal);
    } else {
      ++pass.outcome.left;
    }
  }
}

Task<void> AbortDeadUploads(CleanPass& pass, const std::set<std::string>& dead) {
  const std::map<std::string, ListedUpload> uploads = UploadsOf(pass);
  for (const auto& [oid, upload] : uploads) {
    if (dead.contains(oid)) co_await AbortUpload(pass, upload.seal);
  }
}

Task<void> AbortSilentDirectories(CleanPass& pass) {
  std::map<std::string, std::pair<State, int64_t>> seals;  // by id: the seal and its last sign of life
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      // A lower one has been swept, or will be.
      if (!IsMakingDirectory(state) || *state.version <= pass.current.version) continue;
      auto& [known, last] = seals[state.oid];
      known = DirectorySealState(*state.version, state.oid);
      last = std::max(last, state.mtime_s * 1000);
    }
  }
  // Its maker gives up after the limit.
  const Duration silence = 2 * pass.engine.options().operation_limit;
  for (const auto& [oid, seal] : seals) {
    if (pass.Past(seal.second, silence)) {
      co_await AbortUpload(pass, seal.first);
    } else {
      ++pass.outcome.left;
    }
  }
}

namespace {

// Is this a removal seal of a version that is history? Not where this home alone would take that version for
// the one that lives.
bool IsOver(const CleanPass& pass, const States& states, const State& seal) {
  return seal.kind == StateKind::kRemovalSeal && *seal.version < pass.current.version &&
         HighestAccepted(states).version != *seal.version;
}

}  // namespace

// An abort mark keeps a late creation void. After the horizon no request of that age is executed any more,
// nor the removal of a directory for which a seal stands.
Task<void> RemoveOldMarks(CleanPass& pass) {
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kAbortMark && state.kind != StateKind::kRemovalSeal) continue;
      const bool over = IsOver(pass, states, state);
      bool needed = !over && !pass.Past(state, pass.engine.options().tombstone_horizon);
      // The seal may belong to a rename, which may take longer and goes on by its log.
      if (!over && !needed && state.kind == StateKind::kRemovalSeal)
        needed = co_await MayBeRenamed(pass.engine, pass.path);
      if (needed) {
        ++pass.outcome.left;
        continue;
      }
      co_await Perform(pass, member, RemoveEntry(state));
    }
  }
}

}  // namespace xec
