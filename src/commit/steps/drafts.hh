// SPDX-License-Identifier: LGPL-3.0-or-later
// Drafts: what a home is given under a name of its own first, which counts for nobody, and takes its place
// only if another home still shows what it is a copy of.
#pragma once

#include "commit/engine/access.hh"

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

}  // namespace xec
