// SPDX-License-Identifier: LGPL-3.0-or-later
// User attributes set after a version was written: files `a.<v>.<r>` in the object directory, r being the
// revision, their content an AttributeSet. All revisions on a quorum of homes count, merged; without any, the
// attributes in the manifest do.
#pragma once

#include "commit/engine/access.hh"
#include "commit/engine/names.hh"
#include "protocol/attribute_set.hh"

namespace xec {

// What was set for a version, on a quorum of homes. `set.over` names the other revisions that were seen, and
// are in it.
struct AttributeRevision {
  Version revision;
  AttributeSet set;
  std::vector<State> files;  // that were seen of all these revisions
};

// nullopt if nothing was ever set. Brings what it answers to a quorum of homes first. What a rename under way
// takes along may be older: this is for decisions, not for telling a client. Errors: kNoQuorum, kUnknown,
// kUnavailable and kCorruption; kUnsupported if those set at once are too many together for a file; kConflict
// if they, or the name, were changed meanwhile. Never kNotFound.
Task<Result<std::optional<AttributeRevision>>> ReadAttributes(Engine& engine, NameInfo info);

// As ReadAttributes, for telling a client: no rename of the name can lose what is answered. Waits a little
// for a rename under way and gives up one that died. Error also kNoQuorum ("cannot tell, retry") when neither
// helps.
Task<Result<std::optional<AttributeRevision>>> ReadAttributesToTell(Engine& engine, NameInfo info);

// A name that lives, and what was set for it, to be told.
struct NameAttributes {
  NameInfo info;
  std::optional<AttributeRevision> set;
};
// Errors: as of LookUpLive and ReadAttributesToTell; looks again when the name was changed meanwhile.
Task<Result<NameAttributes>> LookUpAttributes(Engine& engine, ObjectPath path);

// A change to the attributes of the version that `info` shows.
struct AttributeChange {
  AttributeChanges changes;
  std::optional<AttributeRevision> current;
  UserAttributes written;  // without `current`: those the version was written with
};
// Errors: kNotFound (nothing to remove), kInvalidArgument (too many, too large; removed ones count until the
// object is replaced), kNoQuorum, kUnknown: also if the name is being renamed or was changed meanwhile.
Task<Status> ChangeAttribute(Engine& engine, NameInfo info, AttributeChange change);

// Gives version `to_version` of another name, or a later one of this, the attributes of a version that is to
// be moved there, or replaced by it: on a quorum of homes. Errors: kNoQuorum, kUnknown.
Task<Status> CopyAttributes(Engine& engine, ObjectPath to, Version to_version, AttributeRevision revision);

// Gives the directory that lives there the attributes of another one, `from`, while that one lives; nothing
// if it is an object. Errors: kNotFound (`from`), kConflict (it is gone, or changes all the time), kNoQuorum,
// kUnknown.
Task<Status> CopyAttributesToDirectory(Engine& engine, ObjectPath to, AttributeRevision revision,
                                       DirectoryVersion from);

}  // namespace xec
