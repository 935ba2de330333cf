// SPDX-License-Identifier: LGPL-3.0-or-later
// Renaming objects (docs/protocol/rename.md).
#pragma once

#include <optional>

#include "api/store.hh"
#include "commit/programs/parent.hh"

namespace xec {

struct RenameTerms {
  // What has to stand above `to`; nothing where users do not see it.
  std::optional<ParentNeed> parent = {};
  // Only what is at `from` while this very directory lives, else kNotFound; and nothing is replaced:
  // kNotEmpty.
  std::optional<DirectoryVersion> below = {};
  std::optional<Version> source = {};  // only this one, else kNotCurrent
  // What a look-up of the source has just shown, and lives: the first attempt goes by it.
  std::optional<NameInfo> seen = {};
  // kAlreadyExists, kNotCurrent; kConflict while something else is being put there.
  OnlyIf target = {};
};

// Moves the object `from` to `to`, replacing an object there; both change at one moment, the commit of the
// moved tombstone. User attributes go along (one set while the rename runs may be lost). Errors: kNotFound,
// kIsDirectory (either is one), kNotDirectory (the parent of `to`), kNoQuorum, kConflict (another rename of
// it is under way, or died and was not cleaned up yet), kUnknown; those of the terms.
Task<Result<Renamed>> RenameObject(Engine& engine, ObjectPath from, ObjectPath to, RenameTerms terms = {});

}  // namespace xec
