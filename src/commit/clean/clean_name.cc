// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_name.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/clean/clean_debris.hh"
#include "commit/clean/clean_pass.hh"
#include "commit/clean/clean_renames.hh"
#include "commit/clean/idle_names.hh"
#include "commit/engine/access.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/steps/roll_forward.hh"
#include "protocol/archive_states.hh"

namespace xec {
namespace {

// So many renames of one name are brought to their end in one cleaning, and so often it begins anew when
// somebody has changed the name meanwhile.
constexpr int kCleanRoundsMax = 8;

enum class Settled {
  kYes,
  kChanging,  // somebody changes the name, and the cleaner comes back later
  kUnheard,   // too few homes answer
};

// Step 1 brings the decided version to all homes that answer.
Task<Settled> Settle(CleanPass& pass) {
  Look look = co_await LookAt(pass.engine, pass.path, LookWidth::kAll, kCleanerPatience);
  if (!look.HasQuorum()) co_return Settled::kUnheard;
  pass.current = look.highest();
  if (pass.current.kind == Accepted::kNothing) co_return Settled::kYes;
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
  if (rolled.superseded) co_return Settled::kChanging;
  // Other homes may have taken it as well, in place of one that was late.
  pass.outcome.left += wanted - std::min(wanted, rolled.accepted.size());
  const bool decided = look.WithHighest().size() + rolled.accepted.size() >= look.quorum();
  co_return decided ? Settled::kYes : Settled::kUnheard;
}

// Seals of renames stay on former homes while names are swept from these, and one that is being emptied may
// have been away then (docs/protocol/members.md).
Task<void> ForgetOnFormerHomes(CleanPass& pass) {
  for (const auto& [member, states] : pass.servers) {
    if (Contains(pass.homes, member)) continue;
    const bool emptied = IsBeingEmptied(pass.engine.descriptor().members[member].role);
    for (const State& state : states) {
      const bool forgotten = state.kind == StateKind::kMoveIn || (emptied && !state.CountsElsewhere());
      if (forgotten) co_await Perform(pass, member, RemoveEntry(state));
    }
  }
  if (!pass.gone.empty()) co_await ListEverywhere(pass);
}

// Step 2 lists anew, once the decided version stands on a quorum: either the listing shows the seal of a
// renamer that believes in a lower version, or that renamer will see the higher one. False: the name is
// changing.
Task<Settled> LookAgain(CleanPass& pass) {
  co_await ListEverywhere(pass);
  co_await ForgetOnFormerHomes(pass);
  const ServerStates homes = pass.HomesHeard();
  if (homes.size() < pass.homes.quorum()) co_return Settled::kUnheard;
  Accepted highest;
  for (const auto& [home, states] : homes) {
    const Accepted here = HighestAccepted(states);
    if (highest < here) highest = here;
  }
  co_return highest == pass.current ? Settled::kYes : Settled::kChanging;
}

bool PastHorizon(const CleanPass& pass) {
  return pass.Past(TombstoneMadeMs(pass.current.version, pass.servers),
                   pass.engine.options().tombstone_horizon);
}

// The tombstone that every home has, with nothing else anywhere, is forgotten after the horizon. A moved one
// never is: it becomes a plain one first.
Task<void> CollectTombstone(CleanPass& pass) {
  if (pass.current.kind != Accepted::kRemoved) co_return;
  // A tombstone that was too young when it was listed is not old enough now.
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
  // The folders of a removed directory must be gone, or names below would become unreachable.
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

// How many archives it was sealed with, and should have been.
size_t ArchivesOf(const Manifest& manifest, uint64_t size) {
  if (manifest.parts.empty()) return ArchivesIn(manifest.geometry, size);
  // Lanes without a chunk of any part have no server there.
  const auto named = std::count_if(manifest.servers.begin(), manifest.servers.end(),
                                   [](const std::string& id) { return !id.empty(); });
  return static_cast<size_t>(named) + manifest.debts.size();
}

// The cleaner sees only the names of archives; readers find out what is in them. Their number is compared
// with what the manifest says, which is read when there might be too few.
Task<void> NoteThin(CleanPass& pass) {
  const Accepted current = pass.current;
  if (current.kind != Accepted::kObject || !pass.AllServersHeard()) co_return;
  const auto archives =
      static_cast<size_t>(std::count_if(pass.servers.begin(), pass.servers.end(), [&](const auto& server) {
        return HasArchiveOf(server.second, current.version, current.oid);
      }));
  if (archives >= ArchivesMax(pass.engine, current.size)) co_return;
  // A version that was committed just now may still be promoted on other servers.
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

}  // namespace

Task<Result<CleanOutcome>> CleanName(Engine& engine, ObjectPath path) {
  CleanPass pass(engine, path);
  RenamesLeft renames = RenamesLeft::kDone;
  for (int round = 0; round < kCleanRoundsMax && renames == RenamesLeft::kDone; ++round) {
    Settled settled = co_await Settle(pass);
    if (settled == Settled::kYes) settled = co_await LookAgain(pass);
    XEC_FAILPOINT("clean.settled");
    if (settled == Settled::kUnheard)
      co_return Fail(Code::kNoQuorum, "{} cannot be cleaned now: too few of its homes answer", path.text());
    if (settled == Settled::kChanging) continue;
    renames = co_await ResolveRenames(pass);
  }
  if (renames != RenamesLeft::kNone) {
    ++pass.outcome.left;
    co_return pass.outcome;
  }
  co_await NoteThin(pass);
  co_await Sweep(pass);
  co_await RemoveOldAttributes(pass);
  co_await AbortSilentUploads(pass, engine.options().upload_grace);
  co_await AbortSilentDirectories(pass);
  co_await RemoveOldMarks(pass);
  co_await CollectTombstone(pass);
  co_await RemoveObjectDirectory(pass);
  // Servers that were not heard may have something left.
  if (!pass.AllServersHeard()) ++pass.outcome.left;
  co_return pass.outcome;
}

Task<void> GiveUpSilentUploads(Engine& engine, ObjectPath path, Duration silence) {
  CleanPass pass(engine, std::move(path));
  co_await ListEverywhere(pass);
  co_await AbortSilentUploads(pass, silence);
}

Task<Status> GiveUpUploads(Engine& engine, ObjectPath path, std::set<std::string> dead) {
  CleanPass pass(engine, std::move(path));
  co_await ListEverywhere(pass);
  if (pass.AllHomesHeard()) co_await AbortDeadUploads(pass, dead);
  if (pass.AllHomesHeard() && pass.outcome.left == 0) co_return OkStatus();
  co_return Fail(Code::kNoQuorum, "a home of {} does not answer", pass.path.text());
}

}  // namespace xec
