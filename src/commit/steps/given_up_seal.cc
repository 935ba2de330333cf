// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/given_up_seal.hh"

#include <algorithm>

#include "base/log.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/manifest_text.hh"
#include "protocol/archive_states.hh"

namespace xec {
namespace {

// Is the lane of a seal on another server by now, as what was accepted says and that server shows? The seal's
// own server may have been late, and the seal complete all the same when its writer had gone on elsewhere.
// An archive that was written before the seal says nothing of that: its own server may be the one that was
// given up, and it was accepted all the same while the others were away. `places`: the names of the version,
// the older first.
Task<bool> IsElsewhere(Engine& engine, std::vector<VersionAt> places, MemberIndex member, Manifest sealed) {
  std::optional<Manifest> told;
  for (VersionAt& place : places) {
    if (told) break;
    place.version.origin.clear();
    Result<std::string> text = co_await CopyManifest(engine, place.path, place.version, Late::kPassedOver);
    Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (manifest) told = std::move(*manifest);
  }
  if (!told || !sealed.lane || *sealed.lane >= told->servers.size()) co_return false;
  if (told->PaddingSize() < sealed.PaddingSize()) co_return false;
  const std::optional<MemberIndex> named = engine.FindMember(told->servers[*sealed.lane]);
  if (!named || *named == member) co_return false;
  for (const VersionAt& place : places) {
    std::vector<MemberIndex> only = {*named};
    const bool shown = co_await AskInTurn<Result<States>>(
        engine, std::move(only), [&](MemberIndex asked) { return ListStates(engine, asked, place.path); },
        [&](MemberIndex, const Result<States>& states) {
          return states && HasArchiveOf(*states, place.version.version, place.version.oid);
        },
        UnlessTooMany(engine, Late::kPassedOver));
    if (shown) co_return true;
  }
  co_return false;
}

// Does another read end in the same bytes? One read alone may be wrong.
Task<bool> EndsAgainIn(Engine& engine, MemberIndex member, std::string file_path, Slice end) {
  const ManifestEnd again = co_await ReadManifestEnd(engine, member, std::move(file_path));
  co_return again.judged.has_value() && std::ranges::equal(again.judged->span(), end.span());
}

}  // namespace

Task<GivenUp> RemoveIfGivenUp(Engine& engine, ObjectPath path, MemberIndex member, std::string entry,
                              Accepted goal, std::optional<VersionAt> moved) {
  const std::optional<State> state = ParseState(entry);
  const bool seal = state && (state->kind == StateKind::kSealed || state->kind == StateKind::kAborted);
  if (!seal) co_return GivenUp::kNo;
  const std::string file_path = StatePath(path, entry);
  const ManifestEnd end = co_await ReadManifestEnd(engine, member, file_path);
  Result<Manifest> manifest = end.text ? Manifest::Parse(*end.text) : Result<Manifest>(end.text.error());
  if (!manifest && manifest.code() != Code::kCorruption) co_return GivenUp::kNo;
  if (!manifest) {
    bool damaged = end.judged.has_value();
    if (damaged) damaged = co_await EndsAgainIn(engine, member, file_path, *end.judged);
    if (!damaged) co_return GivenUp::kUnclear;
  } else {
    std::vector<VersionAt> places;
    places.push_back({path, std::move(goal)});
    if (moved) places.push_back(std::move(*moved));
    const bool elsewhere = co_await IsElsewhere(engine, std::move(places), member, std::move(*manifest));
    if (!elsewhere) co_return GivenUp::kNo;
  }
  Log(LogLevel::kInfo, "commit", "removes {} of {} on {}: its server was given up while it was written",
      entry, path.text(), engine.server_id(member));
  const Status removed = co_await RemoveState(engine, member, path, entry);
  (void)removed;  // the next listing tells
  co_return GivenUp::kRemoved;
}

}  // namespace xec
