// SPDX-License-Identifier: LGPL-3.0-or-later
// MoveContents of src/commit/rename/rename_directory.cc, and what RenameObject does for it.
#include "programs.hh"

namespace model {

namespace {

constexpr int kTriesMax = 2;

bool GoesOn(u8 code) { return code == kFine || code == kNotFound || code == kNotEmpty; }

// The end of one directory; what is below the first one is over with it, or goes on with the next name.
u8 Done(Context& c, u8 code) {
  Vars& v = c.me.vars;
  const bool changed_kind = code == kNotDirectory && variant.kindGoesOn;
  if (v.depth == 1 && (GoesOn(code) || changed_kind)) {
    v.depth = 0;
    return kItem;
  }
  v.result = code;
  // Whoever finds it so may die before it can say so.
  for (int op = 0; op < kOps; ++op)
    if ((v.ops >> op & 1) != 0 && (code == kNotEmpty || code == kExists)) c.world.ops[op].inTheWay = 1;
  return kOver;
}

u8 SlotAt(const Vars& v) { return v.depth == 0 ? kTopSlot : kSlotS; }

// Does the directory that is renamed as a whole live?
Task<u8> NeedTop(Context& c) {
  const u32 top = co_await c.Look(NameOf(c.me.vars.from, kTopSlot));
  if (top == kFailed) co_return kCannotTell;
  co_return KindOf(top) == kDirectory&& VersionOf(top) == c.me.vars.version ? kFine : kNotFound;
}

Task<u8> MakeTarget(Context& c, u8 name, bool whole) {
  const u8 made = co_await MakeDirectory(c, name);
  if (made != kExists) co_return made;
  const u32 info = co_await c.Look(name);
  if (info == kFailed) co_return kCannotTell;
  if (KindOf(info) == kDirectory) co_return kFine;
  if (KindOf(info) == kObject) co_return whole ? kExists : kNotEmpty;
  co_return kConflict;
}

// From the seals to just before the commit. `seen`: the version at the target.
Task<u8> Prepare(Context& c, u8 from, u8 to, u8 version, u8* seen, bool* changed) {
  (void)co_await c.Ask({.kind = kSeal, .name = from, .to = to});
  const u32 source = co_await c.Ask({.kind = kLookSealed, .name = from});
  if (source == kFailed) co_return kCannotTell;
  if ((source & kOwnSeal) == 0 || (source & kRival)) co_return kConflict;
  *changed = KindOf(source) != kObject || VersionOf(source) != version;
  if (*changed) co_return kConflict;
  if (!variant.moveBlind && !variant.checkFirst) {
    const u8 lives = co_await NeedTop(c);
    if (lives != kFine) co_return lives;
  }
  if (variant.noTargetLook) co_return kFine;
  const u32 target = co_await c.Ask({.kind = kLookSealed, .name = to});
  if (target == kFailed) co_return kCannotTell;
  if ((target & kOwnSeal) == 0) co_return kConflict;
  if (KindOf(target) != kNothing) co_return kNotEmpty;
  *seen = VersionOf(target);
  co_return kFine;
}

Task<u8> MoveObject(Context& c, u8 from, u8 to) {
  for (int tries = 1;; ++tries) {
    if (variant.checkFirst) {
      const u8 lives = co_await NeedTop(c);
      if (lives != kFine) co_return lives;
    }
    const u32 source = co_await c.Look(from);
    if (source == kFailed) co_return kCannotTell;
    if (KindOf(source) == kNothing) co_return kNotFound;
    if (KindOf(source) == kDirectory) co_return kIsDirectory;
    const u32 target = co_await c.Look(to);
    if (target == kFailed) co_return kCannotTell;
    if (KindOf(target) == kDirectory) co_return kIsDirectory;
    u8 seen = VersionOf(target);
    bool changed = false;
    u8 moved = co_await Prepare(c, from, to, VersionOf(source), &seen, &changed);
    if (moved == kFine) {
      const u32 r = co_await c.Ask(
          {.kind = kCommit, .name = from, .to = to, .version = VersionOf(source), .seen = seen});
      if (r == kOk) co_return kFine;
      if (r == kLost) co_return kUnknown;
      moved = kConflict;
    }
    (void)co_await c.Ask({.kind = kUnseal, .name = from, .to = to});
    if (!changed || tries == kTriesMax) co_return moved;
  }
}

}  // namespace

Task<u8> MakeDirectory(Context& c, u8 name) {
  const u32 info = co_await c.Look(name);
  if (info == kFailed) co_return kCannotTell;
  if (KindOf(info) != kNothing) co_return kExists;
  const u8 slot = name % kSlots;
  if (slot != kTopSlot) {
    const u8 parent = static_cast<u8>(name - slot + (slot == kSlotX ? kSlotS : kTopSlot));
    const u32 above = co_await c.Look(parent);
    if (above == kFailed) co_return kCannotTell;
    if (KindOf(above) == kObject) co_return kNotDirectory;
    if (KindOf(above) == kNothing) {
      const u8 made = co_await MakeDirectory(c, parent);
      if (made != kFine && made != kExists) co_return made;
      const u32 again = co_await c.Look(parent);
      if (again == kFailed) co_return kCannotTell;
      if (KindOf(again) != kDirectory) co_return KindOf(again) == kObject ? kNotDirectory : kConflict;
    }
  }
  const u32 r = co_await c.Ask({.kind = kMkdir, .name = name});
  if (r == kLost) co_return kUnknown;
  co_return r == kOk ? kFine : kConflict;
}

Task<u8> EnterDirectory(Context& c) {
  Vars& v = c.me.vars;
  const u8 from = NameOf(v.from, SlotAt(v)), to = NameOf(v.to, SlotAt(v));
  const u32 info = co_await c.Look(from);
  if (info == kFailed) co_return Done(c, kCannotTell);
  if (KindOf(info) == kNothing) co_return Done(c, kNotFound);
  if (!variant.resumeBlind) {
    const u8 lives = co_await NeedTop(c);
    if (lives != kFine) co_return Done(c, lives);
  }
  const u8 made = co_await MakeTarget(c, to, v.depth == 0);
  if (made != kFine) co_return Done(c, made);
  Frame frame{.next = kSlotA, .version = VersionOf(info)};
  const u8 listed = co_await ListChildren(c, from, &frame.names, &frame.directories);
  if (listed != kFine) co_return Done(c, listed);
  v.frames[v.depth] = frame;
  co_return kItem;
}

Task<u8> MoveItem(Context& c) {
  Vars& v = c.me.vars;
  Frame& f = v.frames[v.depth];
  while (f.next < kSlots && (f.names >> f.next & 1) == 0) ++f.next;
  if (f.next == kSlots) co_return kLeave;
  if (setup.renew && !v.kept) co_return kKeep;
  v.kept = 0;
  const u8 slot = f.next++;
  if (f.directories >> slot & 1) {
    v.depth = 1;
    v.frames[1] = Frame{};
    co_return kEnter;
  }
  const u8 from = NameOf(v.from, slot), to = NameOf(v.to, slot);
  const u32 there = co_await c.Look(to);
  if (there == kFailed) co_return Done(c, kCannotTell);
  if (KindOf(there) != kNothing && !variant.noTargetLook) co_return kItem;
  const u8 moved = co_await MoveObject(c, from, to);
  if (GoesOn(moved)) co_return kItem;
  v.depth = 0;
  co_return Done(c, moved);
}

Task<u8> LeaveDirectory(Context& c) {
  Vars& v = c.me.vars;
  const u8 from = NameOf(v.from, SlotAt(v));
  if (variant.unlogEarly && v.depth == 0) (void)co_await DropLog(c, v.log);
  const u32 info = co_await c.Look(from);
  if (info == kFailed) co_return Done(c, kCannotTell);
  if (KindOf(info) == kNothing) co_return Done(c, kNotFound);
  if (KindOf(info) == kObject) co_return Done(c, kNotDirectory);
  u8 names = 0, directories = 0;
  const u8 listed = co_await ListChildren(c, from, &names, &directories);
  if (listed != kFine) co_return Done(c, listed);
  if (names != 0) co_return Done(c, kNotEmpty);
  const u8 version = v.frames[v.depth].version;
  if (VersionOf(info) != version && !variant.byName) co_return Done(c, kNotFound);
  const u32 r =
      co_await c.Ask({.kind = variant.byName ? kRemoveName : kRemove, .name = from, .version = version});
  co_return Done(c, r == kOk ? kFine : kUnknown);
}

}  // namespace model
