// SPDX-License-Identifier: LGPL-3.0-or-later
// The cleaner of one name: rolls forward, finishes renames, gives up seals, removes what is superseded,
// collects.
#include <algorithm>

#include "common.hh"

namespace model {

namespace {

enum : u8 { kLook = 1, kResolve, kDrop, kAbort, kCollect };

// C1: everything reachable accepts the highest version.
Task<u8> LookAndRoll(Context& c) {
  Vars& v = c.me.vars;
  View view = co_await ListHomes(c, c.me.name, 0, kHomes, 7);
  if (view.heard < kQuorum) co_return kStart;
  v.ver = view.top.ver;
  if (v.ver == 0) co_return kResolve;
  Settled s = co_await RollOut(c, c.me.name, view, kHomes);
  if (s != Settled::kYes) co_return kStart;
  c.world.Raise(c.me.name, v.ver);  // what is on t+1 homes counts as visible from here on
  if (variant.oneLook) {
    const File* open = view.Any(kMoveOut);
    if (open == nullptr && view.Any(kMoved) == nullptr && view.Any(kAbortedOut) == nullptr) co_return kDrop;
  }
  co_return kResolve;
}

// A committed (or possibly committed) move met at its source. True when nothing of it is left to do here.
Task<bool> ResolveMoved(Context& c, View view, File m) {
  int clean = 0;
  for (int h = 0; h < kHomes; ++h) {
    if (view.at[h] == nullptr) continue;
    const File* seal = Find(*view.at[h], kMoveOut, m.id);
    if (seal == nullptr) seal = Find(*view.at[h], kAbortedOut, m.id);
    u32 r = kOk;
    if (seal != nullptr) r = co_await c.Rename(setup.homes[m.name][h], *seal, m);
    clean += r == kOk;
  }
  bool finished = variant.noFinish;
  if (!finished) finished = co_await FinishTarget(c, m);
  if (!finished) co_return false;
  // What is on its way in must have arrived before "nothing is left to move out" can be said.
  for (const Listing* l : view.at) {
    if (l == nullptr || variant.noInbound) continue;
    for (const File& f : *l) {
      if (f.kind != kWitness || f.ver != (m.ver & ~3)) continue;
      bool held = co_await HeldBySource(c, f);
      if (held) co_return false;
    }
  }
  int clear = kHomes;
  if (!variant.noFinish) clear = co_await MoveArchives(c, m);
  if (!variant.retireEarly && (clean < kHomes || clear < kHomes)) co_return false;
  // Retire: the move is complete. By rename, never by removal: on a home that missed something higher the
  // moved tombstone is all that hides the older version.
  for (int s : setup.homes[m.name]) {
    File t{.kind = kTombstone, .name = m.name, .ver = MoveDone(m.ver)};
    bool remove = variant.retireRemove && c.me.vars.ver > m.ver;
    if (remove) (void)co_await c.Remove(s, m);
    if (!remove) (void)co_await c.Rename(s, m, t);
  }
  co_return true;
}

// The seal of a rename at its target: the source decides.
Task<bool> ResolveMoveIn(Context& c, File q) {
  View source = co_await ListHomes(c, q.peer, 0, kHomes, 7);
  if (source.heard < kQuorum) co_return false;
  if (const File* m = source.Any(kMoved, q.id)) {
    File moved = *m;
    if (source.Holding(moved.ver) < kQuorum) {
      Settled s = co_await RollOut(c, q.peer, source, kQuorum);
      if (s != Settled::kYes) co_return false;
    }
    bool ok = co_await FinishTarget(c, moved);
    // The seal stays until the source has retired the move: where something higher made the witness
    // unnecessary it is all that keeps this name from being collected before the last archive has moved in.
    if (!ok || !variant.dropSeal) co_return false;
  } else {
    Fence f = co_await FenceSeal(c, q.peer, q.id, File{.kind = kMoveOut});
    if (f != Fence::kAll) co_return false;
  }
  for (int s : setup.homes[q.name]) (void)co_await c.Remove(s, q);
  co_return true;
}

// Variant only: the time assumption that the seal at the source replaces.
bool RenamerActive(const World& w) {
  for (const Client& c : w.clients)
    if (c.program == kRenamer && c.vars.phase != kStart && c.vars.phase != kEnd) return true;
  for (int i = 0; i < w.delayedCount; ++i)
    if (w.delayed[i].type == kCreate && w.delayed[i].file.kind == kMoved) return true;
  return false;
}

// C2: a fresh look, AFTER the highest version stands on t+1 homes: either it shows the seal of a renamer that
// still believes in a lower version, or that renamer will see the higher one.
Task<u8> Resolve(Context& c) {
  int name = c.me.name;
  View view = co_await ListHomes(c, name, 0, kHomes, 7);
  if (view.heard < kQuorum || view.top.ver != c.me.vars.ver) co_return kStart;
  if (variant.grace && RenamerActive(c.world)) co_return kStart;
  if (const File* m = view.Any(kMoved)) {
    (void)co_await ResolveMoved(c, view, *m);
    co_return kStart;
  }
  const File* out = view.Any(kMoveOut);
  if (out == nullptr) out = view.Any(kAbortedOut);
  if (out != nullptr) {
    File r = *out;
    Fence f = co_await FenceSeal(c, name, r.id, File{.kind = kMoveOut});
    if (f == Fence::kAll) {
      r.kind = kAbortedOut;
      for (int s : setup.homes[name]) (void)co_await c.Remove(s, r);
    }
    co_return kStart;
  }
  if (const File* q = view.Any(kMoveIn)) {
    (void)co_await ResolveMoveIn(c, *q);
    co_return kStart;
  }
  co_return kDrop;
}

// What of one listing may go (kind kNone: nothing). `to` is set when it is promoted instead.
File Droppable(const Listing& files, Version u, bool lookForWitness, File* to) {
  File top = Top(files);
  for (const File& f : files) {
    bool archiveHere = false, otherWitness = false;
    for (const File& g : files) {
      archiveHere = archiveHere || (g.kind == kPromoted && g.ver == u);
      otherWitness = otherWitness || (g.kind == kWitness && g.ver == u && g.pver != 0);
    }
    bool low = f.ver != 0 && f.ver < u;
    if (f.kind == kUnproved) return f;
    if (low && (f.kind == kPromoted || f.kind == kTombstone)) return f;
    if (f.kind == kWitness && lookForWitness == (f.pver != 0)) {
      if (low || (f.ver == u && (archiveHere || (f.pver == 0 && otherWitness)))) return f;
    }
    bool sealed = f.kind == kSealed || f.kind == kAborted;
    if (sealed && top.kind == kWitness && top.ver == u && f.id == Writer(u)) {
      *to = File{.kind = kPromoted, .name = f.name, .ver = u, .oid = f.oid};
      return f;
    }
  }
  return File{};
}

// C3: removes lower versions by exact name, only where the highest is accepted (or on a server that is no
// home).
Task<u8> Drop(Context& c) {
  Vars& v = c.me.vars;
  int name = c.me.name;
  if (v.choice >= setup.servers) {
    v.choice = 0;
    co_return kAbort;
  }
  int s = v.choice;
  for (int i = 0; i < 4; ++i) {
    u32 r = co_await c.List(s, name);
    if (r == kSilent) break;
    const Listing& files = Interned(r);
    if (HomeIndex(name, s) >= 0 && Top(files).ver < v.ver) break;
    File to;
    File f = Droppable(files, v.ver, false, &to);
    if (f.kind == kNone) {
      f = Droppable(files, v.ver, true, &to);
      if (f.kind == kNone) break;
      bool held = false;
      if (f.kind == kWitness) held = co_await HeldBySource(c, f);
      if (held) break;
    }
    if (to.kind != kNone) {
      (void)co_await c.Rename(s, f, to);
    } else {
      (void)co_await c.Remove(s, f);
    }
  }
  ++v.choice;
  co_return kDrop;
}

// C4: a sealed archive of a put that was promoted nowhere seen: given up on all homes, or left. One that was
// superseded is removed.
Task<u8> AbortSeals(Context& c) {
  int name = c.me.name;
  View view = co_await ListHomes(c, name, 0, kHomes, 7);
  const File* seal = view.Any(kSealed);
  if (seal == nullptr) seal = view.Any(kAborted);
  if (seal == nullptr) co_return kCollect;
  File s = *seal;
  Fence f = co_await FenceSeal(c, name, s.id, s);
  if (f == Fence::kAll) {
    s.kind = kAborted;
    for (int h : setup.homes[name]) (void)co_await c.Remove(h, s);
  }
  // Promoted elsewhere: the home that still has the seal gets the archive into place; the next pass drops it
  // if lower.
  if (f == Fence::kPromotedSeen) {
    Version chosen = 0;
    for (const Listing* l : view.at)
      if (l != nullptr)
        for (const File& a : *l)
          if ((a.kind == kPromoted || a.kind == kWitness) && a.sealId() == s.id) chosen = a.ver;
    for (int h = 0; h < kHomes && chosen != 0; ++h) {
      if (view.at[h] == nullptr) continue;
      const File* x = Find(*view.at[h], kSealed, s.id);
      if (x == nullptr) x = Find(*view.at[h], kAborted, s.id);
      File p{.kind = kPromoted, .name = s.name, .ver = chosen, .oid = s.oid};
      if (x != nullptr) (void)co_await c.Rename(setup.homes[name][h], *x, p);
    }
  }
  co_return kStart;
}

// Removers choose a version before they write: they must be over before a tombstone is collected (the
// horizon).
bool HorizonPassed(const World& w) {
  for (const Client& c : w.clients)
    if (c.program == kRemover && c.vars.phase != kStart && c.vars.phase != kEnd) return false;
  for (int i = 0; i < w.delayedCount; ++i)
    if (w.delayed[i].type == kCreate && w.delayed[i].file.kind == kTombstone) return false;
  return true;
}

// C5: all H homes have the plain tombstone and nothing else but marks; no other server has anything.
Task<u8> Collect(Context& c) {
  Vars& v = c.me.vars;
  bool ready = true;
  File t;
  for (int s = 0; s < setup.servers && ready; ++s) {
    u32 r = co_await c.List(s, c.me.name);
    ready = r != kSilent;
    if (!ready) break;
    int stones = 0;
    for (const File& f : Interned(r)) {
      if (f.kind == kTombstone && f.ver == v.ver) t = f, ++stones;
      if ((f.kind != kTombstone || f.ver != v.ver) && f.kind != kMark && !variant.collectEarly) ready = false;
    }
    if (HomeIndex(c.me.name, s) >= 0 && stones == 0) ready = false;
  }
  if (!ready || t.kind == kNone) co_return kStart;
  v.done = 1;
  co_return kCollect;
}

}  // namespace

Task<u8> CleanStep(Context& c) {
  Vars& v = c.me.vars;
  switch (v.phase) {
    case kStart: {
      if (v.rounds >= setup.rounds) co_return kEnd;
      (void)co_await c.Choose(1);
      u8 rounds = static_cast<u8>(v.rounds + 1);
      v = Vars{};
      v.rounds = rounds;
      co_return kLook;
    }
    case kLook: {
      u8 next = co_await LookAndRoll(c);
      co_return next;
    }
    case kResolve: {
      u8 next = co_await Resolve(c);
      co_return next;
    }
    case kDrop: {
      u8 next = co_await Drop(c);
      co_return next;
    }
    case kAbort: {
      u8 next = co_await AbortSeals(c);
      co_return next;
    }
    case kCollect: {
      if (v.done != 0) {
        File t{.kind = kTombstone, .name = c.me.name, .ver = v.ver};
        for (int s : setup.homes[c.me.name]) (void)co_await c.Remove(s, t);
        co_return kStart;
      }
      u8 next = co_await Collect(c);
      // The horizon is judged at the moment of the decision.
      co_return next == kCollect && !HorizonPassed(c.world) ? static_cast<u8>(kStart) : next;
    }
  }
  co_return kEnd;
}

}  // namespace model
