// SPDX-License-Identifier: LGPL-3.0-or-later
// What every client does: look, roll forward, finish a rename, fence a seal.
#pragma once

#include "task.hh"

namespace model {

// Listings of the homes of one name; null = no answer.
struct View {
  std::array<const Listing*, kHomes> at{};
  int heard = 0;
  File top{};
  int Holding(Version v) const;             // homes whose highest is at least v
  const File* Any(Kind kind) const;         // first file of that kind at any home
  const File* Any(Kind kind, int id) const;
};

enum class Outcome : u8 { kUnavailable, kAccepted, kSuperseded, kUnsure };
enum class Settled : u8 { kYes, kAgain, kCannotTell };
enum class Fence : u8 { kMissing, kAll, kPromotedSeen };
struct Look {
  View view;
  Settled settled = Settled::kYes;
};

Task<View> ListHomes(Context& c, int name, int first, int need, int mask);
Task<Outcome> Roll(Context& c, int name, int server, File u, const Listing* shown);
Task<Settled> RollOut(Context& c, int name, View view, int need);
Task<bool> FinishTarget(Context& c, File moved);
Task<int> MoveArchives(Context& c, File moved);
bool IsArchiveOf(const File& f, Version v);
Task<bool> HeldBySource(Context& c, File witness);
Task<Look> LookAndSettle(Context& c, int name, int first, int mask, bool finish);
Task<Fence> FenceSeal(Context& c, int name, int id, File hint);

Task<u8> PutStep(Context& c);
Task<u8> RemoveStep(Context& c);
Task<u8> RenameStep(Context& c);
Task<u8> ReadStep(Context& c);
Task<u8> CleanStep(Context& c);

enum : u8 { kStart = 0, kEnd = 99 };

// Ghosts at the begin of an operation, and at its end when it says that `name` stands at version v.
void NoteBegin(Context& c);
void NoteSeen(Context& c, int name, Version v);

}  // namespace model
