// SPDX-License-Identifier: LGPL-3.0-or-later
// Reading and changing names: look-ups, removal, directories (docs/protocol.md). Renames are in rename.hh.
#pragma once

#include <map>

#include "api/handles.hh"
#include "api/object_info.hh"
#include "commit/engine/engine.hh"
#include "commit/engine/names_at_rest.hh"
#include "protocol/look.hh"

namespace xec {

// The decided state of a name: what a read may rely on.
struct NameInfo {
  ObjectPath path;
  Accepted accepted;                    // Live(), removed or nothing
  std::vector<MemberIndex> holders;     // homes that are known to have accepted it
  std::map<MemberIndex, States> listings;  // of the homes that were heard

  // The highest version that any of them shows.
  std::optional<Version> HighestShown() const;
  std::vector<MemberIndex> HomesHeard() const;
};

// Looks at a quorum of homes and rolls the highest version forward where fewer have it. Finishes a move it
// meets before it says that a name is gone. Error: kNoQuorum ("cannot tell, retry").
Task<Result<NameInfo>> LookUp(Engine& engine, ObjectPath path);

// As LookUp, but kNotFound unless something lives there.
Task<Result<NameInfo>> LookUpLive(Engine& engine, ObjectPath path);

// Removes the object that it finds; whatever comes after that stays, however late this is done. Errors:
// kNotFound (proved), kIsDirectory, kNoQuorum, kUnknown; kNotCurrent, if that is not `only` this one.
Task<Result<ObjectGone>> RemoveObject(Engine& engine, ObjectPath path,
                                      std::optional<Version> only = std::nullopt);

// The same for an object that LookUp has just found, at a moment within the same request of a client: it is
// not looked up again. Errors: kNoQuorum, kUnknown.
Task<Result<ObjectGone>> RemoveSeen(Engine& engine, ObjectPath path, ObjectGone seen);

// kNotCurrent.
Error NotCurrent(const ObjectPath& path);

// The same with what is put until the answer: the tombstone has the time of the removal in its version. For
// names that are never directories.
Task<Result<ObjectGone>> RemoveObjectUntilNow(Engine& engine, ObjectPath path);

// A directory as it was made once: another one made later under its name is another one.
struct DirectoryVersion {
  ObjectPath path;
  Version version;
};

// Makes a directory. Of several that make one directory at the same time more than one may be told that it
// did. Errors: kAlreadyExists, kNotFound (no parent, unless parents are made), kNotDirectory (of the parent),
// kNoQuorum, kConflict (an upload of that name, or a rename to it, is under way or died), kUnknown. Only
// while all of `wanted_by` live (kNotFound): a maker may be slow, and others may have ended what it is for,
// and removed these, since.
Task<Status> MakeDirectoryName(Engine& engine, ObjectPath path, bool parents,
                               std::vector<DirectoryVersion> wanted_by = {});

// Makes the directory above all that `info` shows, with the user attributes of one that lives there; and
// missing parents.
// `last`: there is no other attempt, so that homes that are late are waited for. Errors: kAlreadyExists and
// kConflict (something came there since), kNotDirectory (the parent), kNoQuorum (also a home that is late,
// unless `last`), kUnknown.
Task<Status> MakeDirectoryAbove(Engine& engine, NameInfo info, bool last);

// Removes an empty directory, in which nobody makes anything either (promise P10). Errors: kNotFound,
// kNotDirectory, kNotEmpty, kConflict (it took too long), kNoQuorum, kUnknown.
Task<Status> RemoveDirectoryName(Engine& engine, ObjectPath path);

// kNotFound unless this very directory lives.
Task<Status> NeedDirectoryVersion(Engine& engine, DirectoryVersion directory);

// The end of a directory that was renamed, once nothing is in it any more: this very version goes; another
// one stays, however late this is done. Errors: kNoQuorum, kUnknown.
Task<Status> MarkRenamed(Engine& engine, NameInfo directory);

// All live names of a directory, sorted. Needs all members but t. Errors: kNotFound, kNotDirectory,
// kNoQuorum. `rests`: what the process's cleaner knows of names that have not changed since; it lives until
// the end.
Task<Result<std::vector<ListedName>>> ListDirectory(Engine& engine, ObjectPath path,
                                                    const NamesAtRest* rests = nullptr);

// Something that may come to live at a name at which nothing lives: the seal of an upload, a rename or a
// directory.
struct Making {
  ObjectPath path;
  State seal;
};
struct DirectoryContents {
  std::vector<ListedName> names;  // that live, sorted
  std::vector<Making> under_way;
  // Directories that do not live, but have a folder on some server: something may stand in it.
  std::vector<ObjectPath> gone;
  // By last component: the servers that show something of the name, whether it lives or not.
  std::map<std::string, std::vector<MemberIndex>> shown_on;
};
// What is in the directory, which is not looked up itself, after the call. Errors as above.
Task<Result<DirectoryContents>> LookInto(Engine& engine, ObjectPath path);

}  // namespace xec
