// SPDX-License-Identifier: LGPL-3.0-or-later
// ROLL: making one home accept a version that was seen accepted elsewhere (docs/protocol/roll-forward.md).
#pragma once

#include "archive/manifest.hh"
#include "commit/access.hh"

namespace xec {

enum class RollResult {
  kAccepted,
  kSuperseded,  // the home has something higher
  kOvertaken,   // another home has something higher, so this one was shown nothing
  kFailed,
};
// Does the home accept the version, or something higher?
inline bool Stands(RollResult rolled) {
  return rolled == RollResult::kAccepted || rolled == RollResult::kSuperseded;
}

// An object's version under the name that it has there.
struct VersionAt {
  ObjectPath path;
  Accepted version;
};

// Before a seal of the accepted version `goal` takes its place: its writer may have given this server up, and
// counted others. Such a seal has no end, or its lane is on the server that the accepted archives name, which
// shows it. It is removed. Only kNo: it may be promoted. `moved`: where a rename has brought the other
// archives, or will.
enum class GivenUp {
  kNo,
  kRemoved,
  kUnclear,  // it cannot be read well now
};
Task<GivenUp> RemoveIfGivenUp(Engine& engine, ObjectPath path, MemberIndex member, std::string entry,
                              Accepted goal, std::optional<VersionAt> moved = std::nullopt);

// `listing`: of this home, made in this operation, or nullopt. Never renames a source that no listing has
// shown, and never proves a witness without looking again elsewhere.
Task<RollResult> RollForward(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             std::optional<States> listing);

// Rolls look.highest() forward on `homes` in parallel, and on others that lack it in place of those that fail
// or are late, until a quorum has it, if there are enough. With kPassedOver no more than may be bad are
// waited for: the caller looks again.
struct RollOutcome {
  bool superseded = false;  // some home has something higher: look again
  std::vector<MemberIndex> accepted;
};
// `least`: as of ServerGather.
Task<RollOutcome> RollForwardAll(Engine& engine, ObjectPath path, const Look& look,
                                 std::vector<MemberIndex> homes, Late late_ones, Duration least = {});

// A new name for a draft of this version, made by one client. The cleaner removes drafts that were not
// written to for the operation limit.
State DraftOf(Engine& engine, const Accepted& version);

// Removes a draft whose creation was clearly refused: a disk that is full may have taken the file, though not
// what is in it. Without a clear answer it may still arrive after everything else was cleaned, and is left
// alone.
Task<void> DropRefusedDraft(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status created);

// What it means that the draft on `home` was, or was not, renamed to its proved name. Where somebody else has
// proved the same meanwhile, the draft is for nothing and removed.
Task<RollResult> ProvedBy(Engine& engine, MemberIndex home, ObjectPath path, State draft, Status renamed);

// What homes but this server make of `goal`: kAccepted, some home has it as the highest it accepts;
// kOvertaken; kFailed, neither. It is the second look of a client that is about to make a server show it.
// `least`: as of ServerGather; no more than t that are late are waited for.
Task<RollResult> StandingElsewhere(Engine& engine, ObjectPath path, MemberIndex server, Accepted goal,
                                   Duration least);

// Writes a witness of `goal`, or a copy of the tombstone it is, on `home`, whatever is there already; content
// from any home that has one. `least`: as of ServerGather.
Task<RollResult> MakeWitness(Engine& engine, ObjectPath path, MemberIndex home, Accepted goal,
                             Duration least = {});

// The text of the manifest at the end of an archive or witness. Error: kCorruption, or what the server said.
Task<Result<std::string>> ReadManifestText(Engine& engine, MemberIndex member, std::string file_path);

// The text of the manifest of a version that was accepted, from any home that lists an archive or witness of
// it; with an origin, from a witness that rename moved in. Error: kConflict if no home shows one any more;
// kUnavailable if some home cannot be asked or read, or is late.
Task<Result<std::string>> CopyManifest(Engine& engine, ObjectPath path, Accepted version, Late late_ones);

// The bytes of a witness that carries this manifest text (kind and lane adapted); `from` tells where the
// archives of a moved version may still be. Error: kCorruption.
Result<std::string> WitnessContent(std::string_view manifest_text,
                                   std::optional<ManifestFrom> from = std::nullopt);

}  // namespace xec
