// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/origin.hh"

#include <algorithm>

#include "archive/manifest.hh"
#include "commit/access.hh"
#include "commit/roll_forward.hh"
#include "commit/server_gather.hh"

namespace xec {
namespace {

using Listings = std::map<MemberIndex, States>;

// The origin that a moved-in witness of the version names; nullopt: no home has one any more, because the
// rename that brought it is complete.
Task<Result<std::optional<ManifestFrom>>> ReadFrom(Engine& engine, ObjectPath path, Listings listings,
                                                   std::string version, std::string oid) {
  std::map<MemberIndex, std::string> witnesses;  // by home; of one version a home has one
  std::vector<MemberIndex> homes;
  for (const auto& [home, states] : listings) {
    for (const State& state : states) {
      if (state.kind != StateKind::kWitness || state.origin.empty() || state.oid != oid) continue;
      if (!state.version || state.version->ToString() != version) continue;
      const bool first = witnesses.emplace(home, StatePath(path, FormatState(state))).second;
      if (first) homes.push_back(home);
    }
  }
  std::optional<Error> problem;
  std::optional<ManifestFrom> found;
  const bool read = co_await AskInTurn<Result<std::string>>(
      engine, std::move(homes),
      [&](MemberIndex home) { return ReadManifestText(engine, home, witnesses.at(home)); },
      [&](MemberIndex, const Result<std::string>& text) {
        Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
        if (manifest && manifest->from) found = std::move(manifest->from);
        const bool gone = !manifest && manifest.code() == Code::kNotFound;
        if (!manifest && !gone) problem = manifest.error();
        return found.has_value();
      });
  if (read) co_return std::move(found);
  if (problem) {
    co_return Fail(Code::kUnavailable, "cannot tell where {} was moved from: {}", path.text(),
                   problem->message);
  }
  co_return std::nullopt;
}

}  // namespace

Task<Result<std::vector<ObjectPath>>> PlacesOf(Engine& engine, NameInfo info) {
  std::vector<ObjectPath> places = {info.path};
  Listings listings = info.listings;
  std::string version = info.accepted.version.ToString();
  const std::string oid = info.accepted.oid;
  for (size_t hops = 0; hops < kOriginHopsMax; ++hops) {
    Result<std::optional<ManifestFrom>> from =
        co_await ReadFrom(engine, places.front(), listings, version, oid);
    if (!from) co_return from.error();
    if (!*from) break;
    Result<ObjectPath> path = ObjectPath::ParseStored((*from)->path);
    if (!path) co_return path.error();
    // The homes of a name that the object was moved away from keep their witnesses until all archives have
    // left.
    Look look = co_await LookAt(engine, *path, LookWidth::kQuorum);
    if (!look.HasQuorum()) {
      co_return Fail(Code::kUnavailable,
                     "cannot tell where the archives of {} are: too few homes of {} answer", info.path.text(),
                     path->text());
    }
    places.insert(places.begin(), std::move(*path));
    listings = look.listings();
    version = (*from)->version;
  }
  co_return std::move(places);
}

}  // namespace xec
