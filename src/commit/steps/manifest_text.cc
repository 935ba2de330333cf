// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/manifest_text.hh"

#include <algorithm>

#include "archive/archive_writer.hh"
#include "commit/engine/archive_end.hh"
#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

Task<ManifestFound> ManifestOn(Engine& engine, ObjectPath path, MemberIndex home, Accepted version) {
  ManifestFound found;
  Result<States> states = co_await ListStates(engine, home, path);
  if (!states) {
    found.problem =
        Fail(Code::kUnavailable, "cannot tell what {} is: {}", path.text(), states.error().message);
    found.silent = 1;
    co_return std::move(found);
  }
  // The seal of the rename that brought it may become a whole witness.
  const bool moving_in = std::any_of(states->begin(), states->end(), [&](const State& state) {
    return state.kind == StateKind::kMoveIn && state.oid == version.origin;
  });
  if (moving_in) found.silent = 1;
  // A copy of a manifest that knows the origin will know it, too.
  std::stable_partition(states->begin(), states->end(),
                        [](const State& state) { return !state.origin.empty(); });
  for (const State& state : *states) {
    const bool holds = state.Accepted() && state.version == version.version && state.oid == version.oid &&
                       (version.origin.empty() || state.origin == version.origin);
    if (!holds) continue;
    Result<std::string> text = co_await ReadManifestText(engine, home, StatePath(path, FormatState(state)));
    // A home may accept a version with a file that its writer never knew it had: perhaps empty.
    const Result<Manifest> manifest = text ? Manifest::Parse(*text) : Result<Manifest>(text.error());
    if (manifest && manifest->object_id == version.oid) {
      found.text = std::move(*text);
      found.origin = state.origin;
      co_return std::move(found);
    }
    const bool unread = !manifest && manifest.code() != Code::kCorruption;
    (unread ? found.silent : found.damaged) = 1;
    found.problem = manifest ? Fail(Code::kCorruption, "{} on {} belongs to another object",
                                    FormatState(state), engine.server_id(home))
                             : Fail(Code::kUnavailable, "cannot read {} on {}: {}", FormatState(state),
                                    engine.server_id(home), manifest.error().message);
  }
  co_return std::move(found);
}

}  // namespace

Task<ManifestEnd> ReadManifestEnd(Engine& engine, MemberIndex member, std::string file_path) {
  const CallContext call = engine.MetadataCall();
  Result<ArchiveFilePtr> opened = co_await Open(call, engine.server(member), file_path, OpenMode::kRead);
  if (!opened) co_return ManifestEnd{opened.error(), std::nullopt};
  ArchiveEnd end = co_await ReadArchiveEnd(call, *opened);
  // Nothing is lost when a file opened for reading does not close well.
  const Status closed = co_await Close(call, *opened);
  (void)closed;
  if (end.index) co_return ManifestEnd{std::move(end.index->manifest), std::move(end.bytes)};
  Error error = end.index.error();
  if (!end.bytes) error = AsSilence(std::move(error));
  co_return ManifestEnd{std::move(error), std::move(end.bytes)};
}

Task<Result<std::string>> ReadManifestText(Engine& engine, MemberIndex member, std::string file_path) {
  ManifestEnd end = co_await ReadManifestEnd(engine, member, std::move(file_path));
  co_return std::move(end.text);
}

bool IsMoveComplete(const Engine& engine, size_t open) { return open <= engine.LateHomesMax(); }

Task<ManifestFound> FindManifest(Engine& engine, ObjectPath path, Accepted version, Duration least,
                                 Late late_ones) {
  ManifestFound found;
  co_await AskInTurn<ManifestFound>(
      engine, engine.Homes(path), [&](MemberIndex home) { return ManifestOn(engine, path, home, version); },
      [&](MemberIndex, ManifestFound& here) {
        if (here.problem) found.problem = std::move(here.problem);
        found.silent += here.silent;
        found.damaged += here.damaged;
        found.text = std::move(here.text);
        found.origin = std::move(here.origin);
        return found.text.has_value();
      },
      [&](size_t late) {
        const bool moved_in = !version.origin.empty();
        const bool complete = moved_in && IsMoveComplete(engine, found.silent + late + found.damaged);
        const bool enough = complete || UnlessTooMany(engine, late_ones)(late);
        if (enough) found.silent += late;
        return enough;
      },
      least);
  co_return std::move(found);
}

Task<Result<std::string>> CopyManifest(Engine& engine, ObjectPath path, Accepted version, Late late_ones) {
  const ManifestFound found = co_await FindManifest(engine, path, version, Duration{}, late_ones);
  if (found.text) co_return *found.text;
  if (found.problem) co_return *found.problem;
  if (found.silent > 0) {
    co_return Fail(Code::kUnavailable, "cannot tell what {} is: {} of its homes do not answer", path.text(),
                   found.silent);
  }
  // The answer is never "not found", since the version was accepted.
  co_return Fail(Code::kConflict, "{} was changed meanwhile: no home shows version {} any more; retry",
                 path.text(), version.version.ToString());
}

Result<std::string> WitnessContent(std::string_view manifest_text, std::optional<ManifestFrom> from) {
  XEC_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Parse(manifest_text));
  if (from) manifest.from = std::move(from);
  manifest.kind = ManifestKind::kWitness;
  manifest.lane.reset();
  XEC_ASSIGN_OR_RETURN(const std::string text, manifest.Serialize());
  XEC_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ArchiveWriter().Finish(text));
  return std::string(AsText(bytes));
}

}  // namespace xec
