// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/cleaner.hh"

#include <algorithm>

#include "base/failpoint.hh"
#include "commit/folder.hh"
#include "commit/rename.hh"
#include "commit/roll_forward.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

using ServerStates = std::map<MemberIndex, States>;
constexpr int kFenceStepsMax = 12;
// An unproved witness younger than this may be somebody's roll-forward under way.
constexpr int64_t kUnprovedAgeMs = 60 * 1000;

int64_t Millis(Duration duration) { return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(); }

// Everything one pass over one name knows.
struct Pass {
  Engine& engine;
  ObjectPath path;
  Accepted current;
  ServerStates servers;  // all servers that answered
  CleanOutcome outcome;

  int64_t now() const { return engine.executor().WallNow(); }
  bool Past(int64_t since_ms, Duration wait) const { return now() - since_ms > Millis(wait); }
  bool AllServersHeard() const { return servers.size() == engine.server_count(); }
};

Task<ServerStates> ListEverywhere(Engine& engine, ObjectPath path) {
  ServerStates servers;
  Gather<Result<States>> gather(engine.scope(), engine.executor());
  for (size_t i = 0; i < engine.server_count(); ++i) gather.Start(i, ListStates(engine, static_cast<MemberIndex>(i), path));
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    if (*event.value) servers[static_cast<MemberIndex>(event.tag)] = std::move(**event.value);
  }
  co_return std::move(servers);
}

SweepAction RemoveFile(std::string entry) { return {SweepAction::kRemoveFile, std::move(entry), {}}; }

// Directories and plain tombstones are marks (made by one mkdir); moved tombstones and archives are files.
SweepAction RemoveEntry(const State& state) {
  const bool mark = state.kind == StateKind::kDirectory || state.kind == StateKind::kAbortMark ||
                    (state.kind == StateKind::kTombstone && !state.target);
  return {mark ? SweepAction::kRemoveMark : SweepAction::kRemoveFile, FormatState(state), {}};
}

Task<void> Perform(Pass& pass, MemberIndex member, SweepAction action) {
  Status status;
  switch (action.kind) {
    case SweepAction::kRemoveFile: status = co_await RemoveState(pass.engine, member, pass.path, action.from); break;
    case SweepAction::kRemoveMark: status = co_await RemoveMark(pass.engine, member, pass.path, action.from); break;
    case SweepAction::kRename: status = co_await RenameState(pass.engine, member, pass.path, action.from, action.to); break;
  }
  XEC_FAILPOINT("clean.swept");
  if (status) {
    ++pass.outcome.removed;
  } else if (status.code() != Code::kNotFound) {
    ++pass.outcome.left;
  }
}

// Step 1: the decided version, on all homes that answer. False: somebody is changing the name, come back later.
Task<bool> Settle(Pass& pass) {
  Look look = co_await LookAt(pass.engine, pass.path, LookWidth::kAll);
  if (!look.HasQuorum()) co_return false;
  pass.current = look.highest();
  if (pass.current.kind == Accepted::kNothing) co_return true;
  // A tombstone goes to every home, since it can be forgotten only where all have it. An object or directory is rolled
  // to homes that still show something older; a home that knows nothing of the name need not learn it.
  std::vector<MemberIndex> lacking = look.LackingHighest();
  if (pass.current.Live() && look.Decided()) {
    std::erase_if(lacking, [&](MemberIndex home) { return HighestAccepted(look.listings().at(home)).kind == Accepted::kNothing; });
  }
  RollOutcome rolled = co_await RollForwardAll(pass.engine, pass.path, look, std::move(lacking));
  if (rolled.superseded) co_return false;
  if (look.WithHighest().size() + rolled.accepted.size() < look.quorum()) co_return false;
  co_return true;
}

// Step 1b: finishes every move of this name, also of versions that were replaced since; archives that came back with
// their server follow. False: some move cannot be finished now.
Task<bool> FinishMoves(Pass& pass) {
  std::set<std::string> done;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kTombstone || !state.target || !done.insert(FormatState(state)).second) continue;
      const Status finished = co_await FinishMove(pass.engine, pass.path, AcceptedFrom(state));
      if (!finished) co_return false;
    }
  }
  if (!done.empty()) pass.servers = co_await ListEverywhere(pass.engine, pass.path);
  co_return true;
}

// What a moved version left behind under its old name: the tombstone goes when no archive is left on any server.
Task<void> ForgetMoves(Pass& pass) {
  std::set<std::string> moves;
  std::set<Version> moving;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind == StateKind::kTombstone && state.target && *state.version < pass.current.version) {
        moves.insert(FormatState(state));
        moving.insert(state.version->Unmoved());
      }
    }
  }
  bool left = !pass.AllServersHeard() || !pass.Past(pass.current.version.WallMillis(), pass.engine.options().tombstone_horizon);
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      left = left || (state.kind == StateKind::kPromoted && moving.contains(*state.version));
    }
  }
  if (moves.empty()) co_return;
  if (left) {
    pass.outcome.left += moves.size();
    co_return;
  }
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      const std::string entry = FormatState(state);
      if (moves.contains(entry)) co_await Perform(pass, member, RemoveFile(entry));
    }
  }
}

// Revisions of attributes below the highest one that a quorum of homes has, and drafts that were given up.
Task<void> RemoveOldAttributes(Pass& pass) {
  std::map<Version, size_t> homes_with;
  const std::vector<MemberIndex> homes = pass.engine.Homes(pass.path);
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind == StateKind::kAttributes && state.version == pass.current.version) ++homes_with[*state.target];
    }
  }
  std::optional<Version> settled;
  for (const auto& [revision, count] : homes_with) {
    if (count >= Quorum(homes.size())) settled = revision;
  }
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      const bool draft = state.kind == StateKind::kAttributesDraft &&
                         pass.Past(state.mtime_s * 1000, pass.engine.options().tombstone_horizon);
      const bool old = state.kind == StateKind::kAttributes && state.version == pass.current.version && settled && *state.target < *settled;
      if (draft || old) co_await Perform(pass, member, RemoveFile(FormatState(state)));
    }
  }
}

// Intents of renames that died: with all homes listening nobody can be between intent and tombstone any more once the
// limit of operations has passed.
Task<void> RemoveOldIntents(Pass& pass) {
  const std::vector<MemberIndex> homes = pass.engine.Homes(pass.path);
  const bool all = std::all_of(homes.begin(), homes.end(), [&](MemberIndex home) { return pass.servers.contains(home); });
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kIntent) continue;
      if (all && pass.Past(state.mtime_s * 1000, pass.engine.options().tombstone_horizon)) {
        co_await Perform(pass, member, RemoveFile(FormatState(state)));
      } else {
        ++pass.outcome.left;
      }
    }
  }
}

// Step 2: what is below the decided version goes, where it or something higher is accepted.
Task<void> Sweep(Pass& pass) {
  SweepInput input;
  input.current = pass.current;
  input.keep_superseded = !pass.Past(pass.current.version.WallMillis(), pass.engine.options().superseded_grace);
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.Accepted() && *state.version < pass.current.version && !state.oid.empty()) input.promoted_below.insert(state.oid);
      if (state.kind == StateKind::kTombstone && state.target) input.moving.insert(state.version->Unmoved());
    }
  }
  const std::vector<MemberIndex> homes = pass.engine.Homes(pass.path);
  for (const auto& [member, states] : pass.servers) {
    const bool home = std::find(homes.begin(), homes.end(), member) != homes.end();
    if (home && HighestAccepted(states) < pass.current) continue;
    input.home = home;
    for (const SweepAction& action : PlanSweep(states, input)) {
      const std::optional<State> state = ParseState(action.from);
      const auto entry = std::find_if(states.begin(), states.end(), [&](const State& s) { return FormatState(s) == action.from; });
      const bool young = state->kind == StateKind::kUnproved && pass.now() - entry->mtime_s * 1000 < kUnprovedAgeMs;
      if (young) {
        ++pass.outcome.left;
        continue;
      }
      co_await Perform(pass, member, action);
    }
    if (input.keep_superseded) {
      pass.outcome.left += static_cast<uint64_t>(std::count_if(states.begin(), states.end(), [&](const State& s) {
        return s.Accepted() && *s.version < pass.current.version;
      }));
    }
  }
}

// Makes one home safe against a late promotion of the seal. False: it is promoted here, or does not answer.
Task<bool> FenceHome(Pass& pass, MemberIndex home, State seal) {
  for (int steps = 0; steps < kFenceStepsMax; ++steps) {
    Result<States> states = co_await ListStates(pass.engine, home, pass.path);
    if (!states) co_return false;
    const FenceStep step = NextFenceStep(*states, seal);
    if (step.kind == FenceStep::kFenced) co_return true;
    if (step.kind == FenceStep::kPromotedHere) co_return false;
    Status done;
    if (step.kind == FenceStep::kRename) {
      done = co_await RenameState(pass.engine, home, pass.path, step.from, step.to);
    } else {
      // The mark is made before the listing of the next round: a late creation and we cannot miss each other.
      done = co_await MakeMark(pass.engine, home, pass.path, step.to);
    }
    if (!done && done.code() != Code::kNotFound) co_return false;
    XEC_FAILPOINT("clean.fenced");
  }
  co_return false;
}

// Removes what the listings show of a fenced upload, on the homes or on the other servers.
Task<void> RemoveUpload(Pass& pass, State seal, std::vector<MemberIndex> homes, bool on_homes) {
  for (const auto& [member, states] : pass.servers) {
    const bool home = std::find(homes.begin(), homes.end(), member) != homes.end();
    if (home != on_homes) continue;
    // Fencing has renamed what homes had; other servers still have what was listed.
    if (home) co_await Perform(pass, member, RemoveFile(FormatState(AbortedState(seal))));
    for (const State& state : states) {
      const bool of_upload = state.oid == seal.oid && (state.kind == StateKind::kSealed || state.kind == StateKind::kAborted);
      if (!home && of_upload) co_await Perform(pass, member, RemoveFile(FormatState(state)));
    }
  }
}

// Step 3: one upload that is promoted nowhere and silent for long is given up: fenced on every home, then removed.
Task<void> AbortUpload(Pass& pass, State seal) {
  const std::vector<MemberIndex> homes = pass.engine.Homes(pass.path);
  for (const MemberIndex home : homes) {
    const bool fenced = co_await FenceHome(pass, home, seal);
    if (!fenced) {
      ++pass.outcome.left;
      co_return;
    }
  }
  XEC_FAILPOINT("clean.all_fenced");
  // Data on other servers first: as long as a home shows the aborted seal, the next cleaner finds the rest.
  co_await RemoveUpload(pass, seal, homes, false);
  co_await RemoveUpload(pass, seal, homes, true);
}

Task<void> AbortSilentUploads(Pass& pass) {
  std::map<std::string, std::pair<State, int64_t>> uploads;  // by id: seal and last sign of life
  std::set<std::string> promoted;
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.Accepted()) promoted.insert(state.oid);
      if (state.kind != StateKind::kSealed && state.kind != StateKind::kAborted) continue;
      State seal = state;
      seal.kind = StateKind::kSealed;
      auto& [known, last] = uploads[state.oid];
      known = seal;
      // Sealed archives show when they were written; a rename to aborted does not change that.
      last = std::max(last, state.mtime_s * 1000);
    }
  }
  for (const auto& [oid, upload] : uploads) {
    if (promoted.contains(oid)) continue;
    if (!pass.Past(upload.second, pass.engine.options().upload_grace)) {
      ++pass.outcome.left;
      continue;
    }
    co_await AbortUpload(pass, upload.first);
  }
}

// Abort marks keep a late creation void; after the horizon no request of that age is executed any more.
Task<void> RemoveOldMarks(Pass& pass) {
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind != StateKind::kAbortMark) continue;
      if (!pass.Past(state.mtime_s * 1000, pass.engine.options().tombstone_horizon)) {
        ++pass.outcome.left;
        continue;
      }
      co_await Perform(pass, member, RemoveEntry(state));
    }
  }
}

// Removes the empty object directory (and the parts of a long name) where nothing is left.
Task<void> RemoveObjectDirectory(Pass& pass) {
  const std::vector<std::string> parts = pass.path.LongNameEntries();
  Gather<Status> gather(pass.engine.scope(), pass.engine.executor());
  for (const auto& [member, states] : pass.servers) {
    if (!states.empty()) continue;
    for (const std::string& part : parts) {
      const Status removed = co_await RemoveMark(pass.engine, member, pass.path, part);
      (void)removed;
    }
    gather.Start(member, RemoveDirectory(pass.engine.MetadataCall(), pass.engine.server(member), pass.path.ObjectDirectory()));
  }
  // Refused where a creation came first; that creation keeps or makes the directory.
  while (gather.pending() > 0) co_await gather.Next();
}

// Step 4: a tombstone that every home has, with nothing else anywhere, is forgotten after the horizon.
Task<void> CollectTombstone(Pass& pass) {
  if (pass.current.kind != Accepted::kRemoved && pass.current.kind != Accepted::kMoved) co_return;
  pass.servers = co_await ListEverywhere(pass.engine, pass.path);
  const std::vector<MemberIndex> homes = pass.engine.Homes(pass.path);
  bool collect = pass.AllServersHeard() && pass.Past(pass.current.version.WallMillis(), pass.engine.options().tombstone_horizon);
  for (const auto& [member, states] : pass.servers) {
    const bool home = std::find(homes.begin(), homes.end(), member) != homes.end();
    collect = collect && (home ? OnlyTombstone(states, pass.current) : states.empty());
  }
  if (!collect) {
    ++pass.outcome.left;
    co_return;
  }
  // A removed directory: its folders must be gone, or names below would become unreachable.
  for (const auto& [member, states] : pass.servers) {
    const Status removed = co_await RemoveDirectory(pass.engine.MetadataCall(), pass.engine.server(member), pass.path.Folder());
    if (!removed && removed.code() != Code::kNotFound) {
      ++pass.outcome.left;
      co_return;
    }
  }
  XEC_FAILPOINT("clean.collect");
  for (const MemberIndex home : homes) {
    State tombstone = TombstoneState(pass.current.version);
    tombstone.target = pass.current.target;
    co_await Perform(pass, home, RemoveEntry(tombstone));
  }
  pass.servers = co_await ListEverywhere(pass.engine, pass.path);
}

}  // namespace

Task<Result<CleanOutcome>> CleanName(Engine& engine, ObjectPath path) {
  Pass pass{engine, path, {}, {}, {}};
  pass.outcome.names = 1;
  const bool settled = co_await Settle(pass);
  if (!settled) co_return Fail(Code::kNoQuorum, "{} cannot be cleaned now: too few of its homes answer or it is changing", path.text());
  pass.servers = co_await ListEverywhere(engine, path);
  const bool moved = co_await FinishMoves(pass);
  if (!moved) co_return Fail(Code::kNoQuorum, "a rename of {} cannot be finished now: too few homes answer", path.text());
  if (pass.current.kind != Accepted::kNothing) {
    co_await Sweep(pass);
    co_await ForgetMoves(pass);
  }
  co_await RemoveOldAttributes(pass);
  co_await RemoveOldIntents(pass);
  co_await AbortSilentUploads(pass);
  co_await RemoveOldMarks(pass);
  co_await CollectTombstone(pass);
  co_await RemoveObjectDirectory(pass);
  co_return pass.outcome;
}

Task<Result<CleanOutcome>> CleanTree(Engine& engine, ObjectPath directory) {
  CleanOutcome total;
  std::optional<Error> problem;
  FolderUnion found = co_await ListFolder(engine, directory);
  for (const ObjectPath& name : found.names) {
    // Below first: a directory's tombstone can only go when its folder is empty.
    const std::string folder = name.Folder();
    if (found.folders.contains(folder.substr(folder.rfind('/') + 1))) {
      Result<CleanOutcome> below = co_await CleanTree(engine, name);
      if (below) {
        total.Add(*below);
      } else {
        problem = below.error();
      }
    }
    Result<CleanOutcome> cleaned = co_await CleanName(engine, name);
    if (cleaned) {
      total.Add(*cleaned);
    } else {
      problem = cleaned.error();
      ++total.left;
    }
  }
  if (problem) co_return *problem;
  co_return total;
}

}  // namespace xec
