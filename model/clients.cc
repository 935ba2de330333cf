// SPDX-License-Identifier: LGPL-3.0-or-later
// PUT, REMOVE, RENAME and READ, phase by phase. Each returns its next phase.
#include <algorithm>
#include <bit>

#include "common.hh"

namespace model {

namespace {

enum : u8 { kSeal = 1, kLook, kLookTarget, kCommit, kFinish, kMove, kFinishEarly };

int Count(u8 mask) { return std::popcount(mask); }

// Creates one seal on every home; the mask of homes that said OK.
Task<u8> SealHomes(Context& c, int name, File seal) {
  u8 sealed = 0;
  for (int h = 0; h < kHomes; ++h) {
    u32 r = co_await c.Create(setup.homes[name][h], seal);
    if (r == kOk) sealed |= static_cast<u8>(1 << h);
  }
  co_return sealed;
}

// Homes of the view where the own seal stands and nobody marked it void.
u8 StillSealed(const View& view, Kind kind, int id) {
  u8 mask = 0;
  for (int h = 0; h < kHomes; ++h) {
    if (view.at[h] == nullptr) continue;
    bool there = Find(*view.at[h], kind, id) != nullptr;
    if (there && (Find(*view.at[h], kMark, id) == nullptr || variant.noMark)) mask |= static_cast<u8>(1 << h);
  }
  return mask;
}

// Turns the seals into `to` on the sealed homes. Bit 3 of the result: a reply was missing.
Task<u8> PromoteHomes(Context& c, int name, File seal, File to, u8 homes, bool supersededCounts) {
  u8 done = 0, real = 0, unknown = 0;
  for (int pass = 0; pass < 2 && Count(done) < kQuorum; ++pass) {
    for (int h = 0; h < kHomes; ++h) {
      if ((homes >> h & 1) == 0 || (done >> h & 1) != 0) continue;
      u8 bit = static_cast<u8>(1 << h);
      int s = setup.homes[name][h];
      u32 r = seal.kind == kNone ? co_await c.Create(s, to) : co_await c.Rename(s, seal, to);
      if (r == kOk) done |= bit, real = 1;
      if (r == kSilent || r == kLost) unknown = 1;
      if (r != kRefused) continue;
      u32 listed = co_await c.List(s, name);
      if (listed == kSilent) continue;
      bool here = false;
      for (const File& f : Interned(listed))
        here = here || (f.accepted() && f.ver == to.ver && f.sealId() == to.sealId());
      if (here) done |= bit, real = 1;
      if (!here && supersededCounts && Top(Interned(listed)).ver > to.ver) done |= bit;
    }
  }
  co_return static_cast<u8>((real != 0 ? done : 0) | unknown << 3);
}

File SealOf(const Client& me, Kind kind, int name) {
  File f{.kind = kind, .name = static_cast<u8>(name), .id = me.id};
  if (kind == kSealed) f.oid = me.id;
  if (kind == kMoveOut) f.peer = me.target;
  if (kind == kMoveIn) f.peer = me.name;
  return f;
}

}  // namespace

Task<u8> PutStep(Context& c) {
  Vars& v = c.me.vars;
  int name = c.me.name;
  File seal = SealOf(c.me, kSealed, name);
  switch (v.phase) {
    case kStart: (void)co_await c.Choose(1); co_return kSeal;
    case kSeal:
      v.sealed = co_await SealHomes(c, name, seal);
      NoteBegin(c);
      co_return kLook;
    case kLook: {
      View view = co_await ListHomes(c, name, 0, kHomes, v.sealed);
      v.sealed = StillSealed(view, kSealed, c.me.id);
      if (Count(v.sealed) < kQuorum) co_return kEnd;
      v.ver = Above(std::max(view.top.ver, c.world.collected[name]), c.me.id);
      c.world.chosen[c.me.id] = v.ver;
      co_return kCommit;
    }
    case kCommit: {
      File p{.kind = kPromoted, .name = c.me.name, .ver = v.ver, .oid = c.me.id};
      u8 done = co_await PromoteHomes(c, name, seal, p, v.sealed, true);
      if (Count(done & 7) < kQuorum) co_return kEnd;
      if (v.ver <= v.floor[name]) c.world.Fail("a put got a version below one already committed");
      c.world.Raise(name, v.ver);
      co_return kEnd;
    }
  }
  co_return kEnd;
}

Task<u8> RemoveStep(Context& c) {
  Vars& v = c.me.vars;
  int name = c.me.name;
  switch (v.phase) {
    case kStart:
      (void)co_await c.Choose(1);
      NoteBegin(c);
      co_return kLook;
    case kLook: {
      Look look = co_await LookAndSettle(c, name, 0, 7, true);
      if (look.settled != Settled::kYes) co_return kEnd;
      File top = look.view.top;
      if (top.kind == kNone || top.gone()) {
        NoteSeen(c, name, top.ver);
        co_return kEnd;
      }
      v.ver = Removed(top.ver);
      co_return kCommit;
    }
    case kCommit: {
      File t{.kind = kTombstone, .name = c.me.name, .ver = v.ver};
      u8 done = co_await PromoteHomes(c, name, File{}, t, 7, false);
      if (Count(done & 7) < kQuorum) co_return kEnd;
      if (v.ver <= v.floor[name]) c.world.Fail("a remove got a version below one already committed");
      c.world.Raise(name, v.ver);
      co_return kEnd;
    }
  }
  co_return kEnd;
}

namespace {

// R2: look at the source after the own seals stand; the version to move, or an end of the operation.
Task<u8> LookAtSource(Context& c) {
  Vars& v = c.me.vars;
  Look look = co_await LookAndSettle(c, c.me.name, 0, variant.lookBeforeSeal ? 7 : v.sealed, true);
  if (look.settled != Settled::kYes) co_return kEnd;
  if (!variant.noSourceSeal && !variant.lookBeforeSeal) v.sealed = StillSealed(look.view, kMoveOut, c.me.id);
  if (Count(v.sealed) < kQuorum) co_return kEnd;
  // A rival that may still move this version: both seal before they look, so at least one of two sees the
  // other.
  for (const Listing* l : look.view.at) {
    if (l == nullptr) continue;
    for (const File& f : *l) {
      bool rival = (f.kind == kMoveOut && !variant.rivalBlind) ||
                   (f.kind == kAbortedOut && !variant.rivalBlind && !variant.rivalNoX);
      if (rival && f.id != c.me.id) co_return kEnd;
    }
  }
  File top = look.view.top;
  if (top.kind == kNone || top.gone()) {
    NoteSeen(c, c.me.name, top.ver);
    co_return kEnd;
  }
  v.ver = top.ver;
  v.oid = top.oid;
  co_return kLookTarget;
}

File MovedFile(const Client& me) {
  const Vars& v = me.vars;
  File m{.kind = kMoved, .name = me.name, .ver = MovedAway(v.ver), .id = me.id};
  m.oid = v.oid, m.peer = me.target, m.pver = v.bver, m.nonce = v.sealedIn;
  return m;
}

// R4: seals of the source become the moved tombstone; the commit point is its (t+1)-th home.
Task<u8> CommitRename(Context& c) {
  Vars& v = c.me.vars;
  File seal = variant.noSourceSeal ? File{} : SealOf(c.me, kMoveOut, c.me.name);
  u8 done = co_await PromoteHomes(c, c.me.name, seal, MovedFile(c.me), v.sealed, false);
  if (Count(done & 7) < kQuorum) co_return kEnd;
  co_return variant.earlyFinish ? static_cast<u8>(kMove) : static_cast<u8>(kFinish);
}

}  // namespace

Task<u8> RenameStep(Context& c) {
  Vars& v = c.me.vars;
  switch (v.phase) {
    case kStart:
      (void)co_await c.Choose(1);
      NoteBegin(c);
      co_return variant.lookBeforeSeal ? kLook : kSeal;
    case kSeal: {
      u8 in = 7;
      if (!variant.noTargetSeal) in = co_await SealHomes(c, c.me.target, SealOf(c.me, kMoveIn, c.me.target));
      if (Count(in) < kQuorum) co_return kEnd;
      v.sealedIn = in;
      v.sealed = 7;
      if (!variant.noSourceSeal)
        v.sealed = co_await SealHomes(c, c.me.name, SealOf(c.me, kMoveOut, c.me.name));
      if (Count(v.sealed) < kQuorum) co_return kEnd;
      co_return variant.lookBeforeSeal ? kCommit : kLook;
    }
    case kLook: {
      if (variant.lookBeforeSeal) v.sealed = 7;
      u8 next = co_await LookAtSource(c);
      co_return next;
    }
    case kLookTarget: {
      View view = co_await ListHomes(c, c.me.target, 0, kQuorum, 7);
      if (view.heard < kQuorum) co_return kEnd;
      v.bver = Above(std::max(view.top.ver, c.world.collected[c.me.target]), c.me.id);
      c.world.chosen[c.me.id] = v.bver;
      co_return variant.lookBeforeSeal ? kSeal : variant.earlyFinish ? kFinishEarly : kCommit;
    }
    case kFinishEarly: (void)co_await FinishTarget(c, MovedFile(c.me)); co_return kCommit;
    case kCommit: {
      u8 next = co_await CommitRename(c);
      co_return next;
    }
    case kFinish: {
      bool ok = co_await FinishTarget(c, MovedFile(c.me));
      if (!ok) co_return kEnd;
      World& w = c.world;
      if (v.bver <= v.floor[c.me.target])
        w.Fail("a rename got a version below one already committed at its target");
      w.Raise(c.me.name, MovedAway(v.ver));
      w.Raise(c.me.target, v.bver);
      w.moves[c.me.id].answered = 1;
      co_return kMove;
    }
    case kMove: (void)co_await MoveArchives(c, MovedFile(c.me)); co_return kEnd;
  }
  co_return kEnd;
}

// Reads any of the names, asking any two of the three homes.
Task<u8> ReadStep(Context& c) {
  Vars& v = c.me.vars;
  if (v.phase == kStart) {
    if (v.rounds >= setup.reads) co_return kEnd;
    u32 choice = co_await c.Choose(setup.names * kHomes);
    v.choice = static_cast<u8>(choice);
    ++v.rounds;
    NoteBegin(c);
    co_return kLook;
  }
  int name = v.choice / kHomes;
  Look look = co_await LookAndSettle(c, name, v.choice % kHomes, 7, !variant.readNoFinish);
  if (look.settled == Settled::kYes) NoteSeen(c, name, look.view.top.ver);
  co_return kStart;
}

}  // namespace model
