// SPDX-License-Identifier: LGPL-3.0-or-later
// The states of a name on one server are the entries of its object directory (docs/protocol.md, "States").
// This is the only place that formats or parses them. Nothing is ever overwritten; every entry name belongs
// to one version or one upload.
//
//   s.<oid>                    sealed: a complete archive whose version is not chosen yet
//   e.<v>.<oid>                sealed for exclusive creation
//   p.<v>.<oid>.<size>         promoted archive                              accepted
//   y.<v>.<oid>.<nonce>        copy not proved yet: of a witness, of a directory ("dir" for <oid>) or of a
//   moved
//                              tombstone (<rid> for <oid>)
//   w.<v>.<oid>.<size>         witness: manifest only                        accepted
//   w.<v>.<oid>.<size>.<rid>   witness that rename <rid> moved in            accepted
//   ....etag-<etag>            at the end of a p or w: the ETag that the version was given
//   ....set-<settings>         behind that: its settings (FormatSettings)
//   f.<v>.<oid>                directory seal: a directory is being made here, <oid> by a fresh id
//   d.<v>                      directory                                     accepted
//   g.<v>.<oid>                removal seal: directory <v> is to be removed or renamed, <oid> by a fresh id
//   t.<v>                      tombstone; t.<v>r: v was removed; t.<v>d: the move of v is complete
//                                                                            accepted
//   t.<v>m.<rid>.<b>.h<marks>  v was moved away by rename <rid> as version b (content: a move record);
//   <marks>
//                              (MarksOf) says which homes of the new name had proved their q
//                                                                            accepted
//   r.<rid>                    rename <rid>, sealed at its source (content: a move record)
//   q.<rid>                    rename <rid>, sealed at its target (content: a witness)
//   x.<oid>, x.<v>.<oid>       aborted upload
//   x.r.<rid>                  aborted rename, at its source
//   x.f.<v>.<oid>              aborted directory seal
//   m.<oid>, m.<v>.<oid>       abort mark of an upload or (m.<rid>) a rename: a late creation here is void
//   b.<v>.<r>.<nonce>          user attributes being written
//   a.<v>.<r>.set-<settings>   user attributes of v, revision r; settings that were changed up to it, perhaps
//                              none
//   a.<v>.<r>                  the same of a program that did not tell them here
//   n.<i>.<n>.<part>           part of a long name
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/settings.hh"
#include "protocol/version.hh"

namespace xec {

enum class StateKind {
  kSealed,
  kPromoted,
  kUnproved,
  kWitness,
  kDirectorySeal,
  kDirectory,
  kRemovalSeal,
  kTombstone,
  kMoveOut,
  kMoveIn,
  kAborted,
  kAbortedOut,
  kAbortedDirectory,
  kAbortMark,
  kAttributesDraft,
  kAttributes,
};

// What clients of S3 know a version by, where whoever made it says so: 1 to kEtagSizeMax letters, digits and
// dashes, without quotes.
inline constexpr size_t kEtagSizeMax = 64;
bool IsEtag(std::string_view text);

// What the maker of a version has given it beside its bytes. It stays with the version, whoever makes
// archives and witnesses of it.
struct Given {
  std::string etag = {};  // "" if there is none
  Settings settings = {};
  bool operator==(const Given&) const = default;
};

// A directory's unproved witness carries this instead of an object id.
inline constexpr std::string_view kDirectoryOid = "dir";

struct State {
  StateKind kind = StateKind::kSealed;
  std::optional<Version> version;  // absent for s, x and m of a plain upload
  std::string oid;  // of s, e, p, y, w, f, g, x, m; of r, q, x.r and a moved tombstone the rename's id
  uint64_t size = 0;  // object size, of p and w
  std::string nonce;  // of y and b: 8 hex digits
  std::optional<Version> target;  // of a moved tombstone: the version at the new name; of a, b: the revision
  std::string proved;  // of a moved tombstone: the marks of homes
  std::string origin;  // of a moved-in witness: the rename's id
  Given given;  // of p and w
  std::optional<Settings> changed;  // of a: since v was made, up to r; nullopt: the name does not tell
  // About the entry itself, from the listing; not part of the name.
  uint64_t entry_bytes = 0;
  int64_t mtime_s = 0;
  bool entry_directory = false;

  bool Accepted() const;
  // A tombstone that says where its version went.
  bool IsMoved() const { return kind == StateKind::kTombstone && target.has_value(); }
  // Is the entry a directory (made by one mkdir), not a file? The tombstone of a complete move may be either:
  // the listing knows.
  bool IsMark() const;
  // Can it mean something on a server that is no home of the name? Archives: those of the version that lives
  // belong there, and the cleaner knows the others. And seals of renames at their target: whether they are
  // over only the source can tell.
  bool CountsElsewhere() const;
  bool operator==(const State&) const = default;
};

std::string FormatState(const State& state);
// nullopt for what is no state (parts of long names, foreign files).
std::optional<State> ParseState(std::string_view entry);

// Constructors of the common ones.
State SealedState(std::string oid);
State ExclusiveSealedState(Version version, std::string oid);
State PromotedState(Version version, std::string oid, uint64_t size, Given given = {});
State WitnessState(Version version, std::string oid, uint64_t size, Given given = {});
State DirectorySealState(Version version, std::string oid);
State DirectoryState(Version version);
// `version`: of the directory.
State RemovalSealState(Version version, std::string oid);
State TombstoneState(Version version);
State MoveOutState(std::string rid);
State MoveInState(std::string rid);
// `version` is the ordinary one that is moved away.
State MovedState(Version version, std::string rid, Version target, std::string proved);
// Of s, e, f or r.
State AbortedState(const State& sealed);
State AbortMarkState(const State& sealed);

}  // namespace xec
