// SPDX-License-Identifier: LGPL-3.0-or-later
// The states of a name on one server are the entries of its object directory (docs/protocol.md). This is the
// only place that formats or parses them. Nothing is ever overwritten; every entry name belongs to one version
// or one upload.
//
//   s.<oid>                    sealed: a complete archive whose version is not chosen yet
//   e.<v>.<oid>                sealed for exclusive creation
//   p.<v>.<oid>.<size>         promoted archive                              accepted
//   y.<v>.<oid>.<nonce>        witness not proved yet ("dir" for <oid>: of a directory)
//   w.<v>.<oid>.<size>         witness: manifest only                        accepted
//   d.<v>                      directory                                     accepted
//   t.<v>                      tombstone                                     accepted
//   i.<v>m.<b>.<nonce>         intent to move v to another name as version b (content: that name)
//   t.<v>m.<b>                 tombstone of v, moved away as b               accepted
//   x.<oid>, x.<v>.<oid>       aborted
//   m.<oid>, m.<v>.<oid>       abort mark: a late creation here is void
//   b.<v>.<r>.<nonce>          user attributes being written
//   a.<v>.<r>                  user attributes of v, revision r
//   n.<i>.<n>.<part>           part of a long name
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/version.hh"

namespace xec {

enum class StateKind {
  kSealed,
  kPromoted,
  kUnproved,
  kWitness,
  kDirectory,
  kTombstone,
  kIntent,
  kAborted,
  kAbortMark,
  kAttributesDraft,
  kAttributes,
};

// A directory's unproved witness carries this instead of an object id.
inline constexpr std::string_view kDirectoryOid = "dir";

struct State {
  StateKind kind = StateKind::kSealed;
  std::optional<Version> version;  // absent for s, x and m of a plain upload
  std::string oid;                 // of s, e, p, y, w, x, m
  uint64_t size = 0;               // object size, of p and w
  std::string nonce;               // of y, i and b: 8 hex digits
  std::optional<Version> target;   // of i and of a moved tombstone: the version at the new name; of a, b: the revision
  // About the entry itself, from the listing; not part of the name.
  uint64_t entry_bytes = 0;
  int64_t mtime_s = 0;

  bool Accepted() const;
  bool operator==(const State&) const = default;
};

std::string FormatState(const State& state);
// nullopt for what is no state (parts of long names, foreign files).
std::optional<State> ParseState(std::string_view entry);

// Constructors of the common ones.
State SealedState(std::string oid);
State ExclusiveSealedState(Version version, std::string oid);
State PromotedState(Version version, std::string oid, uint64_t size);
State WitnessState(Version version, std::string oid, uint64_t size);
State DirectoryState(Version version);
State TombstoneState(Version version);
State AbortedState(const State& sealed);
State AbortMarkState(const State& sealed);

}  // namespace xec
