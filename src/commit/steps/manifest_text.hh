// SPDX-License-Identifier: LGPL-3.0-or-later
// The texts of manifests, as archives and witnesses on data servers have them.
#pragma once

#include "archive/manifest.hh"
#include "commit/engine/access.hh"
#include "runtime/buffer.hh"

namespace xec {

// The text of the manifest at the end of an archive or witness. Error: kCorruption, or what the server said.
Task<Result<std::string>> ReadManifestText(Engine& engine, MemberIndex member, std::string file_path);

// The same, and what it was read from.
struct ManifestEnd {
  Result<std::string> text;
  std::optional<Slice> judged;  // the bytes that this goes by; none where a read fell short
};
Task<ManifestEnd> ReadManifestEnd(Engine& engine, MemberIndex member, std::string file_path);

// What homes say of the manifest of a version: one of them (without text and problem: it does not show the
// version), or all, until one has it.
struct ManifestFound {
  std::optional<std::string> text;
  std::string origin;  // of the state that has it
  std::optional<Error> problem;
  size_t silent = 0;  // homes that could not be asked, or read, now
  size_t damaged = 0;  // homes that show the version, but no manifest of it
};
// Of the version as it is known: with an origin, by the states that name it. `least`: as of ServerGather.
Task<ManifestFound> FindManifest(Engine& engine, ObjectPath path, Accepted version, Duration least,
                                 Late late_ones);
// No home has shown a whole witness with the origin of a version, and so many may still have one or had one
// that is damaged. The rename that brought it committed with whole ones on a quorum, and each of these goes
// only when the rename is complete: if some of that quorum must have let go of theirs, it is.
bool IsMoveComplete(const Engine& engine, size_t open);

// The text of the manifest of a version that was accepted, from any home that lists an archive or witness of
// it; with an origin, from a witness that rename moved in. Error: kConflict if no home shows one any more;
// kUnavailable if some home cannot be asked or read, or is late.
Task<Result<std::string>> CopyManifest(Engine& engine, ObjectPath path, Accepted version, Late late_ones);

// The bytes of a witness that carries this manifest text (kind and lane adapted); `from` tells where the
// archives of a moved version may still be. Error: kCorruption.
Result<std::string> WitnessContent(std::string_view manifest_text,
                                   std::optional<ManifestFrom> from = std::nullopt);

}  // namespace xec
