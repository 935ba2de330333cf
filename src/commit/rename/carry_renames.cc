// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/rename/carry_renames.hh"

#include <algorithm>
#include <set>

#include "archive/manifest.hh"
#include "commit/engine/names.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/steps/move.hh"

namespace xec {
namespace {

using Listings = std::map<MemberIndex, States>;

Error TooFew(const ObjectPath& path) {
  return Fail(Code::kUnavailable, "too few homes of {} take what is known of a rename that is not complete",
              path.text());
}

bool KnowsOf(const State& state, const std::string& rid) {
  return state.origin == rid || (state.kind == StateKind::kMoveIn && state.oid == rid);
}

const State* FindOne(const States& states, const std::string& rid) {
  const auto found =
      std::find_if(states.begin(), states.end(), [&](const State& state) { return KnowsOf(state, rid); });
  return found == states.end() ? nullptr : &*found;
}

// Has it committed, and is it not retired?
Task<Result<bool>> GoesOn(Engine& engine, ObjectPath source, std::string rid) {
  const Look look = co_await LookAt(engine, source, LookWidth::kAll, kCleanerPatience);
  if (!look.HasQuorum()) co_return CannotTell(engine, source, look);
  const std::vector<Accepted> moves = MovesIn(look.listings());
  co_return std::any_of(moves.begin(), moves.end(), [&](const Accepted& moved) { return moved.oid == rid; });
}

// The content of a seal, from a home that has one or a witness.
Task<Result<std::string>> ContentFrom(Engine& engine, MemberIndex home, std::string file) {
  const Result<std::string> text = co_await ReadManifestText(engine, home, std::move(file));
  if (!text) co_return text.error();
  const Result<Manifest> manifest = Manifest::Parse(*text);
  if (!manifest) co_return manifest.error();
  co_return WitnessContent(*text, manifest->from);
}

// As a seal, never as a witness: a request to make one that arrives late must not look like a version.
Task<Status> CarryIn(Engine& engine, ObjectPath path, Listings listings, std::string rid) {
  size_t have = 0;
  for (const auto& [home, states] : listings) have += FindOne(states, rid) != nullptr ? 1 : 0;
  const size_t quorum = engine.HomeQuorum(path);
  if (have >= quorum) co_return OkStatus();
  const Result<std::optional<ObjectPath>> source = co_await ReadOrigin(engine, path, listings, rid);
  if (!source) co_return source.error();
  if (!*source) co_return OkStatus();  // whole nowhere: its writer died over it
  const Result<bool> goes_on = co_await GoesOn(engine, **source, rid);
  if (!goes_on) co_return goes_on.error();
  if (!*goes_on) co_return OkStatus();
  Result<std::string> content = TooFew(path);
  for (const auto& [home, states] : listings) {
    const State* const known = FindOne(states, rid);
    if (known != nullptr && !content)
      content = co_await ContentFrom(engine, home, StatePath(path, FormatState(*known)));
  }
  if (!content) co_return content.error();
  const std::string seal = FormatState(MoveInState(rid));
  for (const auto& [home, states] : listings) {
    if (have >= quorum || FindOne(states, rid) != nullptr) continue;
    Status made = co_await KeepLongName(engine, home, path);
    if (made)
      made = co_await CreateFile(engine.MetadataCall(), engine.server(home), StatePath(path, seal), *content,
                                 engine.SyncBeforeCommit());
    if (made) made = co_await KeepLongName(engine, home, path);
    have += made ? 1 : 0;
  }
  if (have < quorum) co_return TooFew(path);
  co_return OkStatus();
}

}  // namespace

Task<Status> CarryRenames(Engine& engine, ObjectPath path, Listings listings) {
  const std::vector<Accepted> moves = MovesIn(listings);
  for (const Accepted& moved : moves) {
    const Result<MoveRecord> record =
        co_await ReadRecordFrom(engine, path, moved, engine.Homes(path), Late::kWaitedFor);
    // Whole on no home: it was complete before, and what is left was cut short.
    if (!record && record.code() != Code::kUnavailable) continue;
    const bool carried = co_await KeepMoved(engine, path, moved, Late::kWaitedFor);
    if (!carried) co_return TooFew(path);
  }
  std::set<std::string> coming;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (!state.origin.empty()) coming.insert(state.origin);
      if (state.kind == StateKind::kMoveIn) coming.insert(state.oid);
    }
  }
  for (const std::string& rid : coming) {
    const Status carried = co_await CarryIn(engine, path, listings, rid);
    if (!carried) co_return carried;
  }
  co_return OkStatus();
}

}  // namespace xec
