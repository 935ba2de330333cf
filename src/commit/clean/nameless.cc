// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/nameless.hh"

#include <algorithm>
#include <optional>
#include <utility>

#include "commit/clean/clean_times.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

// Is it the valid seal, not aborted, of an upload, of a directory that is made, or of a rename at its source?
bool IsSeal(const State& state) {
  return state.kind == StateKind::kSealed || state.kind == StateKind::kDirectorySeal ||
         state.kind == StateKind::kMoveOut;
}

// Is it a revision, or a draft of one? It is of no use if its version lives nowhere.
bool IsOfAttributes(const State& state) {
  return state.kind == StateKind::kAttributes || state.kind == StateKind::kAttributesDraft;
}

// A moved tombstone is none of these: it still says where the object went.
bool IsPlainTombstone(const State& state) { return state.kind == StateKind::kTombstone && !state.target; }

struct Found {
  MemberIndex member;
  Entry entry;
  std::optional<State> state;  // nullopt: a part of the name
};
using Debris = std::vector<Found>;

bool IsPlainTombstone(const Found& found) { return found.state && IsPlainTombstone(*found.state); }

// Does it only say that an upload was given up, or that a directory was to be removed? That says nothing if
// they are gone.
bool IsPlainMark(const State& state) {
  return state.kind == StateKind::kAbortMark || state.kind == StateKind::kRemovalSeal;
}

// Has it nothing but tombstones, such marks, and parts of the name?
bool HasOnlyTombstones(const Debris& debris) {
  return std::all_of(debris.begin(), debris.end(), [](const Found& found) {
    return !found.state || IsPlainTombstone(found) || IsPlainMark(*found.state);
  });
}

bool HasTombstone(const Debris& debris) {
  return std::any_of(debris.begin(), debris.end(),
                     [](const Found& found) { return IsPlainTombstone(found); });
}

// Is the entry, of an object directory whose name no server tells, old debris?
bool IsOldDebris(const Engine& engine, const Found& found) {
  const std::optional<State>& state = found.state;
  const bool tombstone = IsPlainTombstone(found);
  const bool of_upload = state && (state->kind == StateKind::kSealed || state->kind == StateKind::kAborted);
  // A draft is of no use where no server tells the name, since nobody can prove it any more. Where nothing
  // lives a rename has nothing to move, and a revision belongs to nothing. A seal that was silent for so long
  // is of no use either: a process that promotes one makes the parts of the name before it looks. Nor is the
  // tombstone of a version that is nowhere else: its maker was late, with a removal that is forgotten. A seal
  // of a rename at its target that was never written was never counted, and tells nothing to a process that
  // finishes the rename. (Without syncs it may have lost its content with the power; so may all else of its
  // rename.)
  const bool unwritten = state && state->kind == StateKind::kMoveIn && found.entry.size == 0;
  const bool of_the_dead =
      state && (of_upload || tombstone || IsPlainMark(*state) || state->kind == StateKind::kUnproved ||
                IsMakingDirectory(*state) || IsMovingOut(*state) || IsOfAttributes(*state) || unwritten);
  if (!IsLongNamePart(found.entry.name) && !of_the_dead) return false;
  const Duration horizon = engine.options().tombstone_horizon;
  const Duration wait = of_upload ? std::max(horizon, engine.options().upload_grace) : horizon;
  const int64_t version_ms = tombstone ? state->version->WallMillis() : 0;
  return IsPast(engine.executor().WallNow(), std::max(found.entry.mtime_s * 1000, version_ms), wait);
}

// Aborts the seals of a name that nobody tells, wherever they stand. False: there are none.
Task<bool> AbortNamelessSeals(Engine& engine, std::string object_directory, Debris debris) {
  bool any = false;
  for (const Found& found : debris) {
    if (!found.state || !IsSeal(*found.state)) continue;
    any = true;
    const std::string from = object_directory + "/" + found.entry.name;
    const std::string to = object_directory + "/" + FormatState(AbortedState(*found.state));
    const Status aborted = co_await Rename(engine.MetadataCall(), engine.server(found.member), from, to);
    (void)aborted;  // if it failed, the next pass finds it again
  }
  co_return any;
}

// Answers what is in the object directory, if all of it is debris that is old enough. nullopt: it is not, or
// a server tells the name by now, or does not answer.
Task<std::optional<Debris>> ListNameless(Engine& engine, std::string object_directory) {
  Debris debris;
  ServerGather<Result<std::vector<Entry>>> gather(engine, RequestKind::kMetadata, kCleanerPatience);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, List(engine.MetadataCall(), engine.server(member), object_directory));
  size_t heard = 0;
  while (gather.timely() > 0) {
    auto event = co_await gather.Next();
    if (!event.value) continue;
    const Result<std::vector<Entry>>& listed = *event.value;
    if (!listed && listed.code() != Code::kNotFound) co_return std::nullopt;
    ++heard;
    if (!listed) continue;
    std::vector<std::string> names;
    for (const Entry& entry : *listed) {
      names.push_back(entry.name);
      Found found{.member = event.member, .entry = entry, .state = ParseState(entry.name)};
      if (!IsOldDebris(engine, found)) co_return std::nullopt;
      debris.push_back(std::move(found));
    }
    if (ReadLongName(names)) co_return std::nullopt;
  }
  const bool all = heard == engine.server_count() && engine.MembersInForce();
  if (!all) co_return std::nullopt;
  co_return std::move(debris);
}

}  // namespace

Task<CleanOutcome> CleanNameless(Engine& engine, std::string object_directory) {
  CleanOutcome outcome;
  outcome.left = 1;
  std::optional<Debris> listed = co_await ListNameless(engine, object_directory);
  // Servers are not listed at one moment: a state that a tombstone hides may have come to one of them after
  // it was listed, and the tombstone to another one before.
  const bool hides = listed && HasTombstone(*listed);
  if (hides) listed = co_await ListNameless(engine, object_directory);
  if (!listed) co_return outcome;
  const Debris debris = std::move(*listed);
  // The maker of a seal that only slept must find none of them. The next pass removes what no seal stands
  // beside.
  const bool seals = co_await AbortNamelessSeals(engine, object_directory, debris);
  if (seals) co_return outcome;
  // A tombstone goes last, as where the name is known: everything else may still be rolled forward.
  const bool tombstones_go = HasOnlyTombstones(debris);
  outcome.left = 0;
  for (const Found& found : debris) {
    if (IsPlainTombstone(found) && !tombstones_go) continue;
    const DataServerPtr& server = engine.server(found.member);
    const std::string path = object_directory + "/" + found.entry.name;
    Status removed;
    if (found.entry.directory) removed = co_await RemoveDirectory(engine.MetadataCall(), server, path);
    if (!found.entry.directory) removed = co_await Remove(engine.MetadataCall(), server, path);
    ++(removed ? outcome.removed : outcome.left);
  }
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const Status removed = co_await RemoveDirectory(
        engine.MetadataCall(), engine.server(static_cast<MemberIndex>(i)), object_directory);
    if (!removed && removed.code() != Code::kNotFound) ++outcome.left;
  }
  co_return outcome;
}

}  // namespace xec
