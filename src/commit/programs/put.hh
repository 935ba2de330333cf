// SPDX-License-Identifier: LGPL-3.0-or-later
// The commit of an upload whose archives are sealed (docs/protocol/put.md and exclusive.md).
#pragma once

#include "commit/engine/server_gather.hh"
#include "commit/programs/parent.hh"
#include "protocol/look.hh"

namespace xec {

// What an exclusive creation needs before it may seal. Errors: kAlreadyExists, kIsDirectory, kNoQuorum.
struct ExclusiveStart {
  // Nothing, or the tombstone that was found. Not known: CommitPut settles it.
  std::optional<Accepted> base;
  Version version;  // goes into the names of the seals; or a later one, if they are made later
};
// Proves that nothing lives under the name; or, if `current` is given, that this version does, which is then
// to be replaced: kNotCurrent.
Task<Result<ExclusiveStart>> SettleExclusive(Engine& engine, ObjectPath path,
                                             std::optional<Version> current = std::nullopt);
// Asks one home only, and goes on without a base where that shows nothing: whether anything lives is settled
// by the look after sealing, so what this misses costs an upload, and no promise. Else as SettleExclusive.
Task<Result<ExclusiveStart>> StartExclusive(Engine& engine, ObjectPath path);

// Of an upload that may replace: kIsDirectory if a directory lives under the name, before the client sends
// anything. Asks one home only; what this misses is found by the look after sealing.
Task<Status> NeedNoDirectory(Engine& engine, ObjectPath path);

struct PutRequest {
  ObjectPath path;
  State seal;                         // s.<oid>, or e.<v>.<oid> of an exclusive creation
  uint64_t size = 0;                  // of the object
  std::vector<MemberIndex> archives;  // servers on which the archive was closed (and synced) without error
  size_t archives_min = 0;            // fewer standing seals than this: nothing becomes visible
  // Of an exclusive creation, if it was settled (ExclusiveStart): nothing, a tombstone, or what it replaces,
  // and nothing else.
  std::optional<Accepted> exclusive_base;
  // Of an exclusive creation: what was removed since the base was settled may be another one. Not for a
  // caller that has found by the base what it commits.
  bool base_may_rise = false;
  // Homes that may yet take an archive: as soon as one of them is well, no more homes than may be bad are
  // waited for, and kNoQuorum tells that too few were left.
  std::vector<MemberIndex> other_homes = {};
  // Where to say what the look showed under the name; null: nobody wants to know.
  Accepted* shown = nullptr;
  // What has to stand above the name (promise P10); not of names that users do not see.
  std::optional<ParentNeed> parent = std::nullopt;
  // Its ETag is "" or one that IsEtag accepts.
  Given given = {};
};

// Is one of them not known to be silent?
bool AnyIsWell(Engine& engine, const std::vector<MemberIndex>& homes);

// Promotes the sealed archives. OK: the version is committed (promise P1). Errors: kIsDirectory; kConflict
// (an exclusive creation yields, a directory of that name is being made, or the cleaner gave the upload up:
// nothing visible); kAlreadyExists; kNotFound, kNotDirectory (the parent);
// kNoQuorum or kUnavailable before anything became visible; kUnknown when the outcome is open: "unknown,
// retry". In every case but OK the seals are left to AbandonUpload and the cleaner.
Task<Result<Version>> CommitPut(Engine& engine, PutRequest request);

// Gives an upload up: removes its seals in parallel, so that nothing of it stands in the way of an exclusive
// creation; what cannot be removed now is left to engine.given_up_files(). For the writer itself only, before
// CommitPut or after CommitPut failed with anything but kUnknown: nobody else promotes a seal that was
// promoted nowhere, and the writer never will. Everybody else has to fence all homes first (fence.hh).
Task<void> AbandonUpload(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> archives);

}  // namespace xec
