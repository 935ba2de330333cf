// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/origin.hh"

#include <algorithm>
#include <set>

#include "archive/manifest.hh"
#include "commit/engine/access.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/manifest_text.hh"

namespace xec {
namespace {

using Listings = std::map<MemberIndex, States>;

// What the moved-in witnesses of a version say about its origin.
struct Origin {
  std::optional<ManifestFrom> from;
  std::set<std::string> renames;  // that moved it in, by the names of these witnesses
  size_t damaged =
      0;  // witnesses that say nothing and never will: perhaps empty (docs/protocol/roll-forward.md)
  std::optional<Error> problem;  // of one that could not be read
  bool all_heard = false;  // of all homes, not only of a look-up's: none can know more
};

Task<Origin> ReadOrigin(Engine& engine, ObjectPath path, Listings listings, std::string version,
                        std::string oid, Late late_ones) {
  Origin origin;
  std::map<MemberIndex, std::string> witnesses;  // by home; of one version a home has one
  std::vector<MemberIndex> homes;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.kind != StateKind::kWitness || state.origin.empty() || state.oid != oid) continue;
      if (!state.version || state.version->ToString() != version) continue;
      origin.renames.insert(state.origin);
      const bool first = witnesses.emplace(home, StatePath(path, FormatState(state))).second;
      if (first) homes.push_back(home);
    }
  }
  co_await AskInTurn<Result<std::string>>(
      engine, std::move(homes),
      [&](MemberIndex home) { return ReadManifestText(engine, home, witnesses.at(home)); },
      [&](MemberIndex, const Result<std::string>& text) {
        Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
        if (manifest && manifest->from) origin.from = std::move(manifest->from);
        const bool gone = !manifest && manifest.code() == Code::kNotFound;
        const bool worse = !origin.problem || origin.problem->code == Code::kCorruption;
        if (!manifest && !gone && worse) origin.problem = manifest.error();
        if (!manifest && manifest.code() == Code::kCorruption) ++origin.damaged;
        return origin.from.has_value();
      },
      [&](size_t late) { return late_ones == Late::kPassedOver || late == 0; });
  co_return std::move(origin);
}

// The seals of renames to this name, by the renames.
std::set<std::string> MovingIn(const Listings& listings) {
  std::set<std::string> renames;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.kind == StateKind::kMoveIn) renames.insert(state.oid);
    }
  }
  return renames;
}

// None of the seals listed is whole. A rename commits with whole ones on a quorum of these homes, and each
// goes when the rename is complete, not before. So if all homes answer, none has a whole one, and no more are
// damaged than may be bad, at least one of that quorum let go of its own: the rename is complete.
Task<Origin> ReadOriginOfAll(Engine& engine, ObjectPath path, std::string version, std::string oid) {
  const Look all = co_await LookAt(engine, path, LookWidth::kAll);
  Origin origin =
      co_await ReadOrigin(engine, path, all.listings(), std::move(version), std::move(oid), Late::kWaitedFor);
  const std::set<std::string> moving = MovingIn(all.listings());
  const bool all_answer = all.listings().size() == all.homes().size();
  // Any of these renames may have brought the version, although no witness names it.
  origin.all_heard = all_answer && moving.empty();
  const bool others_whole = origin.damaged <= all.homes().size() - all.quorum();
  const bool under_way = std::any_of(moving.begin(), moving.end(), [&](const std::string& rename) {
    return origin.renames.contains(rename);
  });
  if (all_answer && others_whole && !under_way && origin.problem && origin.problem->code == Code::kCorruption)
    origin.problem.reset();
  co_return std::move(origin);
}

// The origin that a moved-in witness of the version names. If there is no such witness and all homes were
// heard, the rename that brought the version is complete.
Task<Result<Origin>> FindOrigin(Engine& engine, ObjectPath path, Listings listings, std::string version,
                                std::string oid) {
  Origin origin = co_await ReadOrigin(engine, path, std::move(listings), version, oid, Late::kPassedOver);
  // One home of a quorum knew it, but that home may have lost its disk since, and been given a copy of an
  // archive.
  if (!origin.from) origin = co_await ReadOriginOfAll(engine, path, std::move(version), std::move(oid));
  if (!origin.from && origin.problem) {
    co_return Fail(Code::kUnavailable, "cannot tell where {} was moved from: {}", path.text(),
                   origin.problem->message);
  }
  co_return std::move(origin);
}

}  // namespace

Task<Result<Places>> PlacesOf(Engine& engine, NameInfo info) {
  Places places;
  places.directories.push_back(info.path);
  Listings listings = info.listings;
  std::string version = info.accepted.version.ToString();
  const std::string oid = info.accepted.oid;
  for (size_t hops = 0; hops < kOriginHopsMax; ++hops) {
    Result<Origin> origin = co_await FindOrigin(engine, places.directories.front(), listings, version, oid);
    if (!origin) co_return origin.error();
    if (!origin->from) {
      places.complete = origin->all_heard;
      break;
    }
    Result<ObjectPath> path = ObjectPath::ParseStored(origin->from->path);
    if (!path) co_return path.error();
    // The homes of a name that the object was moved away from keep their witnesses until all archives have
    // left.
    Look look = co_await LookAt(engine, *path, LookWidth::kQuorum);
    if (!look.HasQuorum()) {
      co_return Fail(Code::kUnavailable,
                     "cannot tell where the archives of {} are: too few homes of {} answer", info.path.text(),
                     path->text());
    }
    places.directories.insert(places.directories.begin(), std::move(*path));
    listings = look.listings();
    version = origin->from->version;
  }
  co_return std::move(places);
}

}  // namespace xec
