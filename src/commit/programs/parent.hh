// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10, the side of operations that put something into a directory: an upload, a rename, the making of
// a directory (docs/protocol/tree.md). The other side is removal_seal.hh.
#pragma once

#include "commit/engine/names.hh"

namespace xec {

struct ParentNeed {
  bool make = false;  // a parent that is gone is made anew; else it is kNotFound
  // When the caller's operation began. A directory that was renamed since has not taken it along: kConflict.
  TimePoint begun;
  // As of MakeDirectoryName.
  std::vector<DirectoryVersion> wanted_by = {};
};

// Before anything is sealed, so that most of what cannot be is refused at once: the parent of `path` lives,
// or is made. What this process has seen a moment ago is not asked again. Errors as below.
Task<Status> ExpectParent(Engine& engine, ObjectPath path, ParentNeed need);

// Once the caller has sealed `path` on a quorum of its homes: its parent lives, and nobody is about to remove
// or rename it without having seen the seals. After the commit StayInParent has to follow. Errors, nothing of
// the caller being visible: kNotFound, kNotDirectory, kConflict, kNoQuorum, kUnavailable.
Task<Status> StandInParent(Engine& engine, ObjectPath path, ParentNeed need);

// Once what the caller makes is committed, before its answer. `stood_at`: when StandInParent was begun. If
// that is longer ago than a look holds, another one follows, and a parent that is gone is made anew. Error:
// kUnknown.
Task<Status> StayInParent(Engine& engine, ObjectPath path, ParentNeed need, TimePoint stood_at);

}  // namespace xec
