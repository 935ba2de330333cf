// SPDX-License-Identifier: LGPL-3.0-or-later
// The renamer and the cleaner as a whole, and clients beside them.
#include "programs.hh"

namespace model {

namespace {

u32 ChildrenOf(u8 slot) {
  if (slot == kTopSlot) return 1u << kSlotA | 1u << kSlotS;
  return slot == kSlotS ? 1u << kSlotX : 0;
}

// Is there nothing that whoever finds the log could go on with?
bool IsOver(u8 code) {
  return code == kFine || code == kNotFound || code == kNotDirectory || code == kNotEmpty ||
         code == kExists || variant.alwaysOver;
}

Task<u8> BeginRename(Context& c) {
  Vars& v = c.me.vars;
  World& w = c.world;
  v.from = c.me.name / kSlots, v.to = c.me.to / kSlots;
  const u32 to = co_await c.Look(c.me.to);
  if (to == kFailed || KindOf(to) != kNothing) co_return kEnd;
  const u32 from = co_await c.Look(c.me.name);
  if (from == kFailed || KindOf(from) != kDirectory) co_return kEnd;
  v.begun = v.logged = static_cast<u8>(co_await c.Ask({.kind = kClock}));
  v.version = VersionOf(from);
  v.ops = static_cast<u8>(1 << c.me.op);
  Op& op = w.ops[c.me.op];
  op.version = v.version, op.from = v.from, op.to = v.to;
  for (int slot = 0; slot < kSlots; ++slot) {
    const Name& name = w.names[NameOf(v.from, slot)];
    // What lives below a name that is no directory is listed by nobody.
    const bool listed = slot != kSlotX || w.names[NameOf(v.from, kSlotS)].kind == kDirectory;
    if (name.kind == kObject && listed) op.below[slot] = w.content[name.version];
  }
  v.log = variant.noLog ? kLogs : NewLog(w, v.from, v.to, v.version, v.ops);
  if (variant.noLog) co_return kEnter;
  co_return static_cast<u8>(v.log == kLogs ? u8{kEnd} : u8{kWrite});
}

// What was there when it began, and that nobody removed, is not below the old name, which is gone.
void CheckOk(World& w, const Op& op) {
  const Name& top = w.names[NameOf(op.from, kTopSlot)];
  if (top.kind == kDirectory && top.version == op.version) w.Fail("OK, but the old directory is there");
  for (const u8 content : op.below) {
    for (int slot = 0; slot < kSlots && content != 0; ++slot) {
      const Name& name = w.names[NameOf(op.from, slot)];
      if (name.kind == kObject && w.content[name.version] == content)
        w.Fail("OK, but something is still below the old name");
    }
  }
}

// After this answer nobody may go on.
void TellFinal(Context& c) { c.world.ops[c.me.op].final = 1; }

Task<u8> WriteFirst(Context& c) {
  const u8 written = co_await WriteLog(c);
  if (written == kFine) co_return kEnter;
  if (written == kCannotTell) TellFinal(c);
  co_return kEnd;
}

// The end of CarryThrough, and of who called it.
Task<u8> EndCarrying(Context& c) {
  Vars& v = c.me.vars;
  u8 code = v.result;
  bool forgotten = true;
  if (IsOver(code)) forgotten = co_await DropLog(c, v.log);
  const bool goes_on = code == kNotEmpty && !forgotten && !variant.notForgotten;
  if (c.me.program == kCleaner) co_return kResume;
  const u32 now = co_await c.Ask({.kind = kClock});
  const int since = variant.fromBegun ? v.begun : v.logged;
  const bool alone = (static_cast<int>(now) - since <= 1 && !v.shared) || variant.noAlone;
  if (goes_on) code = kUnknown;
  if (code == kFine) CheckOk(c.world, c.world.ops[c.me.op]);
  // A cleaner whose clock is ahead may go on after "not empty": docs/protocol/rename-directory.md admits it.
  if (code == kNotEmpty && alone && setup.ahead == 0) TellFinal(c);
  co_return kEnd;
}

Task<u8> Put(Context& c) {
  const u8 slot = c.me.name % kSlots;
  const u8 parent = static_cast<u8>(c.me.name - slot + (slot == kSlotX ? kSlotS : kTopSlot));
  if (slot != kTopSlot) {
    const u8 made = co_await MakeDirectory(c, parent);
    if (made != kFine && made != kExists) co_return kEnd;
    const u32 above = co_await c.Look(parent);
    if (above == kFailed || KindOf(above) != kDirectory) co_return kEnd;
  }
  (void)co_await c.Ask({.kind = kPut, .name = c.me.name});
  co_return kEnd;
}

Task<u8> RemoveOne(Context& c) {
  const u32 info = co_await c.Look(c.me.name);
  const Kind wanted = c.me.program == kRemover ? kObject : kDirectory;
  if (info == kFailed || KindOf(info) != wanted) co_return kEnd;
  u8 names = 0, directories = 0;
  if (wanted == kDirectory) {
    const u8 listed = co_await ListChildren(c, c.me.name, &names, &directories);
    if (listed != kFine || names != 0) co_return kEnd;
  }
  (void)co_await c.Ask({.kind = kRemove, .name = c.me.name, .version = VersionOf(info)});
  co_return kEnd;
}

}  // namespace

Task<u8> ListChildren(Context& c, u8 directory, u8* names, u8* directories) {
  const u32 info = co_await c.Look(directory);
  if (info == kFailed) co_return kCannotTell;
  if (KindOf(info) == kNothing) co_return kNotFound;
  if (KindOf(info) == kObject) co_return kNotDirectory;
  const u32 children = ChildrenOf(directory % kSlots);
  for (int slot = 0; slot < kSlots; ++slot) {
    if ((children >> slot & 1) == 0) continue;
    const u32 child = co_await c.Look(NameOf(directory / kSlots, slot));
    if (child == kFailed) co_return kCannotTell;
    if (KindOf(child) != kNothing) *names |= static_cast<u8>(1 << slot);
    if (KindOf(child) == kDirectory) *directories |= static_cast<u8>(1 << slot);
  }
  co_return kFine;
}

Task<u8> ClientStep(Context& c) {
  if (c.me.program == kPutter) co_return co_await Put(c);
  if (c.me.program == kMaker) {
    (void)co_await MakeDirectory(c, c.me.name);
    co_return kEnd;
  }
  co_return co_await RemoveOne(c);
}

Task<u8> StepOf(Context& c) {
  switch (c.me.vars.phase) {
    case kStart:
      return c.me.program == kRenamer   ? BeginRename(c)
             : c.me.program == kCleaner ? FindLogs(c)
                                        : ClientStep(c);
    case kWrite: return WriteFirst(c);
    case kVoid: return DropVoidLogs(c);
    case kResume: return Resume(c);
    case kAnew: return LogAnew(c);
    case kForget: return ForgetFound(c);
    case kEnter: return EnterDirectory(c);
    case kKeep: return KeepYoung(c);
    case kRenew: return RenewLog(c);
    case kDropOld: return DropOldLog(c);
    case kItem: return MoveItem(c);
    case kLeave: return LeaveDirectory(c);
    default: return EndCarrying(c);
  }
}

}  // namespace model
