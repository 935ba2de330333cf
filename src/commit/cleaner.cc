// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/cleaner.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/clean_pass.hh"
#include "commit/folder.hh"
#include "commit/idle_names.hh"
#include "commit/move.hh"
#include "commit/nameless.hh"
#include "commit/roll_forward.hh"
#include "commit/server_gather.hh"
#include "commit/short_ways.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Renames of one name brought to their end in one cleaning.
constexpr int kCleanRoundsMax = 8;
// Names that one pass cleans at the same time: each waits for one server after the other, dozens of times if
// it was renamed.
constexpr size_t kCleanNamesAtOnceMax = 4;

// Step 1: the decided version, on all homes that answer. False: somebody is changing the name, come back
// later.
Task<bool> Settle(CleanPass& pass) {
  Look look = co_await LookAt(pass.engine, pass.path, LookWidth::kAll, kCleanerPatience);
  if (!look.HasQuorum()) co_return false;
  pass.current = look.highest();
  if (pass.current.kind == Accepted::kNothing) co_return true;
  // A tombstone goes to every home, since it can be forgotten only where all have it. An object or directory
  // is rolled to homes that still show something older, a seal of its own or an unproved copy, so that these
  // can be swept; a home that knows nothing of the name need not learn it.
  std::vector<MemberIndex> lacking = look.LackingHighest();
  if (pass.current.Live() && look.Decided()) {
    std::erase_if(lacking, [&](MemberIndex home) {
      const States& states = look.listings().at(home);
      return std::none_of(states.begin(), states.end(), [&](const State& state) {
        const bool own = !state.oid.empty() && state.oid == pass.current.oid;
        const bool draft = state.kind == StateKind::kUnproved || IsMakingDirectory(state);
        return state.Accepted() || own || draft;
      });
    });
  }
  const size_t wanted = lacking.size();
  RollOutcome rolled = co_await RollForwardAll(pass.engine, pass.path, look, std::move(lacking),
                                               Late::kWaitedFor, kCleanerPatience);
  if (rolled.superseded) co_return false;
  // Others may have taken it besides, in place of one that was late.
  pass.outcome.left += wanted - std::min(wanted, rolled.accepted.size());
  if (look.WithHighest().size() + rolled.accepted.size() < look.quorum()) co_return false;
  co_return true;
}

// Step 2: a fresh listing, made after the decided version stood on a quorum: either it shows the seal of a
// renamer that believes in a lower version, or that renamer will see the higher one. False: the name is
// changing.
Task<bool> LookAgain(CleanPass& pass) {
  co_await ListEverywhere(pass);
  const ServerStates homes = pass.HomesHeard();
  if (homes.size() < pass.engine.HomeQuorum()) co_return false;
  Accepted highest;
  for (const auto& [home, states] : homes) {
    const Accepted here = HighestAccepted(states);
    if (highest < here) highest = here;
  }
  co_return highest == pass.current;
}

Task<Status> RemoveObjectDirectoryOn(Engine& engine, MemberIndex member, ObjectPath path) {
  const std::vector<std::string> parts = path.LongNameEntries();
  if (!parts.empty()) {
    // Only now, and not when it was listed: what came since would be without its name for a moment.
    const Result<States> left = co_await ListStates(engine, member, path);
    if (!left) co_return left.error();
    if (!left->empty()) co_return OkStatus();
  }
  for (const std::string& part : parts) {
    const Status removed = co_await RemoveMark(engine, member, path, part);
    (void)removed;
  }
  Status removed =
      co_await RemoveDirectory(engine.MetadataCall(), engine.server(member), path.ObjectDirectory());
  // Refused where a creation came first: that one keeps the directory, and needs the name.
  if (!removed && removed.code() != Code::kNotFound)
    removed = co_await KeepLongName(engine, member, std::move(path));
  co_return std::move(removed);
}

bool PastHorizon(const CleanPass& pass) {
  return pass.Past(TombstoneMadeMs(pass.current.version, pass.servers),
                   pass.engine.options().tombstone_horizon);
}

// The tombstone that every home has, with nothing else anywhere, is forgotten after the horizon. A moved one
// never is: it becomes a plain one first.
Task<void> CollectTombstone(CleanPass& pass) {
  if (pass.current.kind != Accepted::kRemoved) co_return;
  // What is too young by what was listed is not older now.
  if (!PastHorizon(pass)) {
    ++pass.outcome.left;
    co_return;
  }
  co_await ListEverywhere(pass);
  bool collect = pass.AllServersHeard() || MutantActive(Mutant::kCollectTombstoneEarly);
  for (const auto& [member, states] : pass.servers) {
    const bool home = Contains(pass.homes, member);
    collect = collect && (home ? OnlyTombstone(states, pass.current) : states.empty());
  }
  if (!collect || !PastHorizon(pass)) {
    ++pass.outcome.left;
    co_return;
  }
  // A removed directory: its folders must be gone, or names below would become unreachable.
  for (const auto& [member, states] : pass.servers) {
    const Status removed =
        co_await RemoveDirectory(pass.engine.MetadataCall(), pass.engine.server(member), pass.path.Folder());
    if (!removed && removed.code() != Code::kNotFound) {
      ++pass.outcome.left;
      co_return;
    }
  }
  co_await RemoveTombstones(pass);
}

struct TreePass {
  Engine& engine;
  OnThin on_thin;
  NamesAtRest::Pass rests;
  CleanOptions options = {};
  uint64_t visited = 0;
  bool stopped = false;
  CleanOutcome total = {};
  std::optional<Error> problem = {};

  // With which name of the directory to begin, if an earlier pass came into it last.
  std::optional<ObjectPath> FirstIn(const ObjectPath& directory) const {
    const std::string above = directory.IsRoot() ? "/" : directory.text() + "/";
    if (!options.from.starts_with(above)) return std::nullopt;
    const size_t end = options.from.find('/', above.size());
    const Result<ObjectPath> first = directory.Child(options.from.substr(above.size(), end - above.size()));
    return first ? std::optional(*first) : std::nullopt;
  }

  // Of one name.
  void Add(const Result<CleanOutcome>& outcome) {
    if (!outcome) {
      problem = outcome.error();
      ++total.left;
      return;
    }
    total.Add(*outcome);
    if (!on_thin) return;
    for (const ThinObject& object : outcome->thin) on_thin(object);
  }
};

using Cleaning = Gather<Result<CleanOutcome>>;

// Where there was nothing to do, something may wait that is not counted: attributes of a rename that never
// committed, an empty object directory that could not be removed.
Task<Result<CleanOutcome>> CleanAndLearn(TreePass& pass, ObjectPath path, uint64_t shown) {
  const TimePoint began = pass.engine.executor().Now();
  Result<CleanOutcome> outcome = co_await CleanName(pass.engine, std::move(path));
  if (outcome && outcome->removed == 0 && outcome->left == 0 && outcome->thin.empty()) {
    const auto horizon =
        std::chrono::duration_cast<std::chrono::milliseconds>(pass.engine.options().tombstone_horizon);
    pass.rests.Learn(shown, began, {ToClean::kNothing, pass.engine.executor().WallNow() + horizon.count()});
  }
  co_return std::move(outcome);
}

Task<Result<CleanOutcome>> CleanShortly(TreePass& pass, ObjectPath path, uint64_t shown,
                                        Task<std::optional<CleanOutcome>> short_way) {
  std::optional<CleanOutcome> done = co_await short_way;
  if (done) co_return std::move(*done);
  co_return co_await CleanAndLearn(pass, std::move(path), shown);
}

// Takes what is done, and waits until no more than so many are being cleaned.
Task<void> AwaitCleaned(Cleaning& cleaning, size_t most, TreePass& pass) {
  while (cleaning.pending() > most || cleaning.ready()) {
    auto event = co_await cleaning.Next();
    pass.Add(*event.value);
  }
}

Task<void> CleanBelow(TreePass& pass, ObjectPath directory);

// False: the pass is to end.
Task<bool> MayClean(TreePass& pass, const ObjectPath& name) {
  if (!pass.options.turn || pass.stopped) co_return !pass.stopped;
  WalkPoint point{name.text(), pass.visited++};
  const bool go_on = co_await pass.options.turn(std::move(point));
  pass.stopped = !go_on;
  co_return go_on;
}

// The names of a folder, each with what is below it.
Task<void> CleanNames(TreePass& pass, FolderUnion& found, std::optional<ObjectPath> first) {
  IdleNames idle(pass.engine, found, pass.rests, first);
  Cleaning cleaning(pass.engine.scope(), pass.engine.executor());
  while (const std::optional<ObjectPath> name = idle.Next()) {
    const bool go_on = co_await MayClean(pass, *name);
    if (!go_on) break;
    // Below first: a directory's tombstone can only go when its folder is empty. Nothing beside it, so that
    // the bound is one for all folders.
    const bool has_folder = TakeFolderOf(*name, found);
    if (has_folder) {
      co_await AwaitCleaned(cleaning, 0, pass);
      co_await CleanBelow(pass, *name);
      if (pass.stopped) break;
    }
    const ToClean to_clean = co_await idle.Look();
    if (to_clean == ToClean::kLater || to_clean == ToClean::kNothing) {
      ++pass.total.names;
      if (to_clean == ToClean::kLater) ++pass.total.left;
      co_await AwaitCleaned(cleaning, kCleanNamesAtOnceMax, pass);
      continue;
    }
    co_await AwaitCleaned(cleaning, kCleanNamesAtOnceMax - 1, pass);
    if (to_clean == ToClean::kForget && !has_folder) {
      cleaning.Start(
          0, CleanShortly(pass, *name, idle.GivenAs(), ForgetName(pass.engine, *name, found.asked_ms)));
    } else if (to_clean == ToClean::kPurge) {
      cleaning.Start(
          0, CleanShortly(pass, *name, idle.GivenAs(), PurgeName(pass.engine, *name, idle.ToPurge())));
    } else {
      cleaning.Start(0, CleanAndLearn(pass, *name, idle.GivenAs()));
    }
  }
  co_await AwaitCleaned(cleaning, 0, pass);
}

// A folder of a directory that is forgotten: whoever fenced a rename or an upload below it made it anew, for
// its marks. Nobody's marks are in it when it is empty.
Task<void> CleanNamelessFolder(TreePass& pass, ObjectPath directory) {
  co_await CleanBelow(pass, directory);
  co_await RemoveEmptyFolder(pass.engine, std::move(directory));
}

// Is there an object directory of the shortened name that this folder has? Its turn comes first.
bool IsNameless(const FolderUnion& found, const ObjectPath& directory, const std::string& folder) {
  const std::string above = directory.IsRoot() ? "" : directory.Folder();
  const std::string stem = folder.substr(0, folder.size() - kLongFolderSuffix.size());
  return found.nameless.contains(above + "/" + stem + std::string(kLongObjectSuffix));
}

Task<void> CleanBelow(TreePass& pass, ObjectPath directory) {
  Engine& engine = pass.engine;
  FolderUnion found = co_await ListFolder(engine, directory, kCleanerPatience);
  // Names that only they show have not been visited.
  pass.total.left += engine.server_count() - found.heard.size();
  if (engine.server_count() - found.heard.size() > SilentServersMax(engine))
    pass.problem = Fail(Code::kNoQuorum, "{} cannot be cleaned now: {} of {} data servers do not list it",
                        directory.text(), engine.server_count() - found.heard.size(), engine.server_count());
  std::optional<ObjectPath> first = pass.FirstIn(directory);
  co_await CleanNames(pass, found, std::move(first));
  if (pass.stopped) co_return;
  for (const std::string& object_directory : found.nameless) {
    const CleanOutcome cleaned = co_await CleanNameless(engine, object_directory);
    pass.total.Add(cleaned);
  }
  for (const std::string& folder : found.folders) {
    if (directory.IsRoot() && folder == kFileSystemFolder) continue;
    const bool shortened = folder.ends_with(kLongFolderSuffix);
    // Who is silent may tell its name.
    if (shortened && (found.heard.size() < engine.server_count() || IsNameless(found, directory, folder)))
      continue;
    std::optional<ObjectPath> name = DirectoryOf(directory, folder);
    if (name && !pass.stopped) co_await CleanNamelessFolder(pass, std::move(*name));
  }
}

}  // namespace

bool IsPast(int64_t now_ms, int64_t since_ms, Duration wait) {
  return now_ms - since_ms > std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
}

int64_t TombstoneMadeMs(const Version& version, const ServerStates& shown) {
  int64_t made_ms = version.WallMillis();
  for (const auto& [member, states] : shown) {
    for (const State& state : states) made_ms = std::max(made_ms, state.mtime_s * 1000);
  }
  return made_ms;
}

int64_t CurrentSinceMs(const Version& version, const ServerStates& shown,
                       const std::vector<MemberIndex>& homes, int64_t now_ms) {
  std::vector<int64_t> written_ms;
  bool removal = true;
  for (const auto& [member, states] : shown) {
    for (const State& state : states) {
      if (!state.Accepted() || state.version != version) continue;
      removal = removal && state.kind == StateKind::kTombstone && state.IsMark() && Contains(homes, member);
      // A server's clock may be ahead of ours by as much as a version's.
      const int64_t at_ms = state.mtime_s * 1000;
      if (at_ms <= now_ms + kClockDriftMaxMs) written_ms.push_back(at_ms);
    }
  }
  if (written_ms.empty()) return version.WallMillis();
  std::sort(written_ms.begin(), written_ms.end());
  const size_t quorum = Quorum(homes.size());
  const bool told = removal && written_ms.size() >= quorum;
  return std::max(version.WallMillis(), told ? written_ms[quorum - 1] : written_ms.back());
}

ServerStates CleanPass::HomesHeard() const {
  ServerStates heard;
  for (const MemberIndex home : homes) {
    const auto found = servers.find(home);
    if (found != servers.end()) heard.insert(*found);
  }
  return heard;
}

Task<void> ListOn(CleanPass& pass, std::vector<MemberIndex> members) {
  pass.servers.clear();
  pass.without.clear();
  pass.gone.clear();
  ServerGather<Result<std::optional<States>>> gather(pass.engine, RequestKind::kMetadata, kCleanerPatience);
  for (const MemberIndex member : members)
    gather.Start(member, ListStatesIfThere(pass.engine, member, pass.path));
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    std::optional<States>& states = **event.value;
    if (!states) pass.without.insert(event.member);
    pass.servers[event.member] = std::move(states).value_or(States{});
  }
}

Task<void> ListEverywhere(CleanPass& pass) { co_await ListOn(pass, pass.engine.AllByHealth()); }

Task<void> RemoveObjectDirectory(CleanPass& pass) {
  XEC_FAILPOINT("clean.directory");
  ServerGather<Status> gather(pass.engine);
  for (const auto& [member, states] : pass.servers) {
    const bool empty = states.size() == pass.gone[member] && !pass.without.contains(member);
    if (empty) gather.Start(member, RemoveObjectDirectoryOn(pass.engine, member, pass.path));
  }
  while (gather.timely() > 0) co_await gather.Next();
}

Task<void> RemoveTombstones(CleanPass& pass) {
  XEC_FAILPOINT("clean.collect");
  const ServerStates listings = pass.HomesHeard();
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.Accepted()) co_await Perform(pass, home, RemoveEntry(state));
    }
  }
}

SweepAction RemoveEntry(const State& state) {
  return {.kind = state.IsMark() ? SweepAction::kRemoveMark : SweepAction::kRemoveFile,
          .from = FormatState(state)};
}

Task<void> Perform(CleanPass& pass, MemberIndex member, SweepAction action) {
  // Silent since it was listed: it is not waited for, entry by entry.
  const Standing standing = pass.engine.health().At(member, pass.engine.executor().Now());
  if (standing.state == ServerState::kSuspect) {
    ++pass.outcome.left;
    co_return;
  }
  Status status;
  GivenUp given_up = GivenUp::kNo;
  switch (action.kind) {
    case SweepAction::kRemoveFile:
      status = co_await RemoveState(pass.engine, member, pass.path, action.from);
      break;
    case SweepAction::kRemoveMark:
      status = co_await RemoveMark(pass.engine, member, pass.path, action.from);
      break;
    case SweepAction::kRename:
      given_up = co_await RemoveIfGivenUp(pass.engine, pass.path, member, action.from, pass.current);
      if (given_up == GivenUp::kUnclear)
        status = Fail(Code::kUnavailable, "{} cannot be read well now", action.from);
      if (given_up == GivenUp::kNo)
        status = co_await RenameState(pass.engine, member, pass.path, action.from, action.to);
      break;
  }
  XEC_FAILPOINT("clean.swept");
  if (status) {
    ++pass.outcome.removed;
    if (action.kind != SweepAction::kRename) ++pass.gone[member];
  } else if (status.code() != Code::kNotFound) {
    ++pass.outcome.left;
  }
}

namespace {

// How many archives it was sealed with, and should have been.
size_t ArchivesOf(const Manifest& manifest, uint64_t size) {
  if (manifest.parts.empty()) return ArchivesIn(manifest.geometry, size);
  // Lanes without a chunk of any part have no server there.
  const auto named = std::count_if(manifest.servers.begin(), manifest.servers.end(),
                                   [](const std::string& id) { return !id.empty(); });
  return static_cast<size_t>(named) + manifest.debts.size();
}

}  // namespace

// Only names of archives are seen here: what is in them is for who reads them. Their number is compared with
// what the manifest says, which is read when there might be too few.
Task<void> NoteThin(CleanPass& pass) {
  const Accepted current = pass.current;
  if (current.kind != Accepted::kObject || !pass.AllServersHeard()) co_return;
  const auto archives =
      static_cast<size_t>(std::count_if(pass.servers.begin(), pass.servers.end(), [&](const auto& server) {
        return HasArchiveOf(server.second, current.version, current.oid);
      }));
  if (archives >= ArchivesMax(pass.engine, current.size)) co_return;
  // What was committed just now may still be promoted elsewhere.
  if (!pass.Past(current.version.WallMillis(), pass.engine.options().operation_limit)) {
    ++pass.outcome.left;
    co_return;
  }
  const Result<std::string> text = co_await CopyManifest(pass.engine, pass.path, current, Late::kWaitedFor);
  const Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
  const size_t wanted =
      manifest ? ArchivesOf(*manifest, current.size)
               : ArchivesIn(GeometryFor(pass.engine.descriptor(), pass.path.text()), current.size);
  if (archives >= wanted) {
    if (!manifest) ++pass.outcome.left;
    co_return;
  }
  // They may still be on their way from another name.
  const std::set<std::string> held = co_await HeldRenames(pass);
  for (const auto& [member, states] : pass.servers) {
    for (const State& state : states) {
      if (state.kind == StateKind::kWitness && state.version == current.version &&
          held.contains(state.origin)) {
        ++pass.outcome.left;
        co_return;
      }
    }
  }
  pass.outcome.thin.push_back(ThinObject{pass.path, current.version});
}

Task<Result<CleanOutcome>> CleanName(Engine& engine, ObjectPath path) {
  CleanPass pass(engine, path);
  RenamesLeft renames = RenamesLeft::kDone;
  for (int round = 0; round < kCleanRoundsMax && renames == RenamesLeft::kDone; ++round) {
    bool settled = co_await Settle(pass);
    if (settled) settled = co_await LookAgain(pass);
    XEC_FAILPOINT("clean.settled");
    if (!settled) {
      co_return Fail(Code::kNoQuorum,
                     "{} cannot be cleaned now: too few of its homes answer or it is changing", path.text());
    }
    renames = co_await ResolveRenames(pass);
  }
  if (renames != RenamesLeft::kNone) {
    ++pass.outcome.left;
    co_return pass.outcome;
  }
  co_await NoteThin(pass);
  co_await Sweep(pass);
  co_await RemoveOldAttributes(pass);
  co_await AbortSilentUploads(pass);
  co_await AbortSilentDirectories(pass);
  co_await RemoveOldMarks(pass);
  co_await CollectTombstone(pass);
  co_await RemoveObjectDirectory(pass);
  // What they have was not seen.
  if (!pass.AllServersHeard()) ++pass.outcome.left;
  co_return pass.outcome;
}

Task<Result<CleanOutcome>> CleanTree(Engine& engine, ObjectPath directory, OnThin on_thin, NamesAtRest* rests,
                                     CleanOptions options) {
  NamesAtRest nothing;
  TreePass pass{.engine = engine,
                .on_thin = std::move(on_thin),
                .rests = {rests != nullptr ? *rests : nothing, engine.executor()},
                .options = std::move(options)};
  co_await CleanBelow(pass, std::move(directory));
  if (pass.stopped) {
    pass.rests.GiveUp();
    co_return Fail(Code::kCancelled, "the cleaning was cancelled");
  }
  if (pass.problem) co_return *pass.problem;
  co_return pass.total;
}

}  // namespace xec
