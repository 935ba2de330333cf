// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common.hh"

#include <algorithm>

namespace model {

int View::Holding(Version v) const {
  int n = 0;
  for (const Listing* l : at) n += l != nullptr && Top(*l).ver >= v;
  return n;
}

const File* View::Any(Kind kind) const {
  for (const Listing* l : at)
    if (l != nullptr)
      for (const File& f : *l)
        if (f.kind == kind) return &f;
  return nullptr;
}

const File* View::Any(Kind kind, int id) const {
  for (const Listing* l : at)
    if (l != nullptr)
      if (const File* f = Find(*l, kind, id)) return f;
  return nullptr;
}

// Lists the homes in `mask`, beginning at `first`, until `need` have answered.
Task<View> ListHomes(Context& c, int name, int first, int need, int mask) {
  View view;
  for (int i = 0; i < kHomes && view.heard < need; ++i) {
    int h = (first + i) % kHomes;
    if ((mask >> h & 1) == 0) continue;
    u32 r = co_await c.List(setup.homes[name][h], name);
    if (r == kSilent) continue;
    view.at[h] = &Interned(r);
    ++view.heard;
    File top = Top(*view.at[h]);
    if (top.ver > view.top.ver || (top.ver == view.top.ver && top.kind == kWitness)) view.top = top;
  }
  co_return view;
}

namespace {

// The seal in this listing that becomes u when it is renamed.
const File* SealFor(const Listing& files, File u) {
  if (u.kind == kTombstone) return nullptr;
  for (const File& f : files) {
    if (f.id != u.sealId()) continue;
    if (u.kind == kMoved && (f.kind == kMoveOut || f.kind == kAbortedOut)) return &f;
    if (u.kind != kMoved && (f.kind == kSealed || f.kind == kAborted)) return &f;
    if (u.kind == kWitness && u.pver != 0 && f.kind == kMoveIn) return &f;
  }
  return nullptr;
}

File Promoted(File seal, File u) {
  if (u.kind == kMoved) return u;
  if (seal.kind == kMoveIn) return u;
  return File{.kind = kPromoted, .name = u.name, .ver = u.ver, .oid = u.oid};
}

// A unique witness, then another look that u still is the highest somewhere else, then the rename: a witness
// written by a sleeper can't bring back what was removed and collected meanwhile.
Task<Outcome> CopyWitness(Context& c, int name, int server, File u) {
  File y{.kind = kUnproved, .name = u.name, .ver = u.ver, .oid = u.oid, .peer = u.peer, .pver = u.pver};
  y.nonce = static_cast<u8>(1 + (&c.me - c.world.clients.data()));
  u32 made = co_await c.Create(server, y);
  if (made != kOk) co_return Outcome::kUnavailable;
  bool proved = variant.noVerify;
  for (int g : setup.homes[name]) {
    if (proved || g == server) continue;
    u32 r = co_await c.List(g, name);
    if (r != kSilent && Top(Interned(r)).ver == u.ver) proved = true;
  }
  if (!proved) co_return Outcome::kUnsure;
  File w{.kind = kWitness, .name = u.name, .ver = u.ver, .oid = u.oid};
  if (u.kind == kWitness) w.peer = u.peer, w.pver = u.pver;
  u32 done = co_await c.Rename(server, y, w);
  co_return done == kOk ? Outcome::kAccepted : Outcome::kUnsure;
}

}  // namespace

// Makes one home accept u, which was seen accepted elsewhere (or, moved in, is owed to this name).
Task<Outcome> Roll(Context& c, int name, int server, File u, const Listing* shown) {
  for (int tries = 0; tries < 3; ++tries) {
    if (shown == nullptr) {
      u32 r = co_await c.List(server, name);
      if (r == kSilent) co_return Outcome::kUnavailable;
      shown = &Interned(r);
    }
    Version top = Top(*shown).ver;
    if (top > u.ver) co_return Outcome::kSuperseded;
    if (top == u.ver) co_return Outcome::kAccepted;
    if (const File* seal = SealFor(*shown, u)) {
      u32 r = co_await c.Rename(server, *seal, Promoted(*seal, u));
      if (r == kOk) co_return Outcome::kAccepted;
      if (r != kRefused) co_return Outcome::kUnavailable;
      shown = nullptr;
      continue;
    }
    if (u.gone()) {
      u32 r = co_await c.Create(server, u);
      co_return r == kOk ? Outcome::kAccepted : Outcome::kUnsure;
    }
    Outcome copied = co_await CopyWitness(c, name, server, u);
    co_return copied;
  }
  co_return Outcome::kUnsure;
}

// Rolls the highest version of the view forward to `need` of the homes heard.
Task<Settled> RollOut(Context& c, int name, View view, int need) {
  int have = view.Holding(view.top.ver);
  for (int h = 0; h < kHomes && have < need; ++h) {
    if (view.at[h] == nullptr || Top(*view.at[h]).ver == view.top.ver) continue;
    Outcome o = co_await Roll(c, name, setup.homes[name][h], view.top, view.at[h]);
    if (o == Outcome::kSuperseded) co_return Settled::kAgain;
    have += o == Outcome::kAccepted;
  }
  co_return have >= kQuorum ? Settled::kYes : Settled::kCannotTell;
}

namespace {

// Variant only (the first draft): no seal at the target; a witness is written and proved by a look at the
// source.
Task<bool> FinishByWitness(Context& c, File moved, File target, View view) {
  int have = 0;
  for (int h = 0; h < kHomes; ++h) {
    if (view.at[h] == nullptr) continue;
    if (Top(*view.at[h]).ver >= target.ver) {
      ++have;
      continue;
    }
    File y = target;
    y.kind = kUnproved;
    y.nonce = static_cast<u8>(1 + (&c.me - c.world.clients.data()));
    u32 made = co_await c.Create(setup.homes[moved.peer][h], y);
    if (made != kOk) continue;
    bool proved = false;
    for (int g : setup.homes[moved.name]) {
      if (proved) break;
      u32 r = co_await c.List(g, moved.name);
      if (r == kSilent) continue;
      const File* there = Find(Interned(r), kMoved, moved.id);
      proved = there != nullptr;
    }
    if (!proved) continue;
    u32 done = co_await c.Rename(setup.homes[moved.peer][h], y, target);
    have += done == kOk;
  }
  co_return have >= kQuorum;
}

// Seals that were proved and overtaken become witnesses as well, below what a quorum has.
Task<int> EndSeals(Context& c, File moved, File target, View view) {
  int ended = 0;
  for (int h = 0; h < kHomes && !variant.leaveSeals; ++h) {
    if (view.at[h] == nullptr || (moved.nonce >> h & 1) == 0) continue;
    const File* seal = Find(*view.at[h], kMoveIn, moved.id);
    if (seal == nullptr) continue;
    u32 done = co_await c.Rename(setup.homes[target.name][h], *seal, target);
    ended += done == kOk;
  }
  co_return ended;
}

}  // namespace

// F1: the target accepts the moved version (or something higher) on t+1 homes.
Task<bool> FinishTarget(Context& c, File moved) {
  File target{.kind = kWitness, .name = moved.peer, .ver = moved.pver, .oid = moved.oid, .peer = moved.name};
  target.pver = static_cast<Version>(moved.ver & ~3);
  for (int tries = 0; tries < 2; ++tries) {
    View view = co_await ListHomes(c, target.name, 0, kHomes, 7);
    if (view.heard < kQuorum) co_return false;
    if (view.Holding(target.ver) >= kQuorum) {
      co_await EndSeals(c, moved, target, view);
      co_return true;
    }
    if (variant.witnessFinish) {
      bool ok = co_await FinishByWitness(c, moved, target, view);
      co_return ok;
    }
    bool above = view.top.ver >= target.ver;
    // Only seals that the renamer had proved count as a first acceptance; the moved tombstone names them
    // (nonce): a create that was delayed may put a seal there after all is over.
    auto mayBegin = [&](int h) {
      bool sealed = view.at[h] != nullptr && Find(*view.at[h], kMoveIn, moved.id) != nullptr;
      return sealed && ((moved.nonce >> h & 1) != 0 || variant.noMask);
    };
    // They stood on t+1 homes before the commit and go only when the rename is finished (or void): so it was
    // finished, removed and collected long ago.
    if (!above && !mayBegin(0) && !mayBegin(1) && !mayBegin(2)) co_return true;
    File u = above ? view.top : target;
    int have = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int h = 0; h < kHomes; ++h) {
        if (view.at[h] == nullptr) continue;
        bool holds = Top(*view.at[h]).ver >= u.ver;
        bool first = holds || (!above && mayBegin(h));  // renames first: a copy needs one home that accepted
        if (first != (pass == 0) || (pass == 1 && have == 0)) continue;
        Outcome o = Outcome::kAccepted;
        if (!holds) o = co_await Roll(c, u.name, setup.homes[u.name][h], u, view.at[h]);
        have += o == Outcome::kAccepted || o == Outcome::kSuperseded;
      }
    }
    if (have >= kQuorum) {
      if (above) co_await EndSeals(c, moved, target, view);
      co_return true;
    }
  }
  co_return false;
}

// An archive of version v: promoted, or sealed on a home its writer did not reach (a complete archive all the
// same).
bool IsArchiveOf(const File& f, Version v) {
  if (f.kind == kPromoted) return f.ver == v;
  return (f.kind == kSealed || f.kind == kAborted) && f.id == Writer(v) && !variant.leaveSealed;
}

// F2: archives follow, on every server that held them. Returns how many servers answered "none left".
Task<int> MoveArchives(Context& c, File moved) {
  int clear = 0;
  for (int s : setup.homes[setup.placement[moved.oid]]) {
    u32 r = co_await c.List(s, moved.name);
    if (r == kSilent) continue;
    const File* archive = nullptr;
    for (const File& f : Interned(r))
      if (IsArchiveOf(f, static_cast<Version>(moved.ver & ~3))) archive = &f;
    clear += archive == nullptr;
    if (archive == nullptr) continue;
    // What a home accepts must never sink: it accepts the moved tombstone before its archive leaves.
    Outcome o = Outcome::kAccepted;
    bool home = HomeIndex(moved.name, s) >= 0 && !variant.sink;
    if (home) o = co_await Roll(c, moved.name, s, moved, &Interned(r));
    if (o != Outcome::kAccepted && o != Outcome::kSuperseded) continue;
    File to{.kind = kPromoted, .name = moved.peer, .ver = moved.pver, .oid = archive->oid};
    u32 done = co_await c.Rename(s, *archive, to);
    clear += done == kOk;
  }
  co_return clear;
}

// A moved-in witness is held until its rename is retired at the source, asked of all H homes: before that an
// archive may still move in, and would be accepted long after the version was removed and collected here.
Task<bool> HeldBySource(Context& c, File witness) {
  if (witness.pver == 0 || variant.noHold) co_return false;
  for (int s : setup.homes[witness.peer]) {
    u32 r = co_await c.List(s, witness.peer);
    if (r == kSilent || Find(Interned(r), kMoved, Writer(witness.ver)) != nullptr) co_return true;
  }
  co_return false;
}

// LOOK of everybody who answers about a name: t+1 homes, highest rolled forward, every rename met finished.
Task<Look> LookAndSettle(Context& c, int name, int first, int mask, bool finish) {
  Look look;
  for (int tries = 0; tries < 2; ++tries) {
    look.view = co_await ListHomes(c, name, first, mask == 7 ? kQuorum : kHomes, mask);
    look.settled = Settled::kCannotTell;
    if (look.view.heard < kQuorum) co_return look;
    look.settled = Settled::kYes;
    if (look.view.top.kind == kNone) co_return look;
    if (!variant.noRoll) look.settled = co_await RollOut(c, name, look.view, kQuorum);
    if (look.settled == Settled::kAgain) continue;
    if (look.settled == Settled::kCannotTell) co_return look;
    for (const Listing* l : look.view.at) {
      if (l == nullptr || !finish) continue;
      for (const File& f : *l) {
        if (f.kind != kMoved) continue;
        bool ok = co_await FinishTarget(c, f);
        if (!ok) look.settled = Settled::kCannotTell;
      }
    }
    co_return look;
  }
  co_return look;
}

// Gives up a seal: on all H homes it is turned to x, or marked void where it never arrived (mark, then list
// again).
Task<Fence> FenceSeal(Context& c, int name, int id, File hint) {
  int fenced = 0;
  for (int s : setup.homes[name]) {
    for (int tries = 0; tries < 4; ++tries) {
      u32 r = co_await c.List(s, name);
      if (r == kSilent) break;
      const Listing& files = Interned(r);
      for (const File& f : files)
        if (f.accepted() && !variant.abortMajority &&
            (hint.kind == kMoveOut ? f.kind == kMoved && f.id == id : !f.gone() && f.sealId() == id))
          co_return Fence::kPromotedSeen;
      Kind sealed = hint.kind == kMoveOut ? kMoveOut : kSealed,
           aborted = hint.kind == kMoveOut ? kAbortedOut : kAborted;
      if (const File* f = Find(files, sealed, id)) {
        File x = *f;
        x.kind = aborted;
        u32 done = co_await c.Rename(s, *f, x);
        if (done == kSilent || done == kLost) break;
        continue;
      }
      if (Find(files, aborted, id) != nullptr || Find(files, kMark, id) != nullptr || variant.noMark) {
        ++fenced;
        break;
      }
      u32 made =
          co_await c.Create(s, File{.kind = kMark, .name = static_cast<u8>(name), .id = static_cast<u8>(id)});
      if (made != kOk) break;
    }
  }
  co_return fenced >= (variant.abortMajority ? kQuorum : kHomes) ? Fence::kAll : Fence::kMissing;
}

void NoteBegin(Context& c) {
  c.me.vars.floor = c.world.floor;
  c.me.vars.movesBefore = 0;
  for (int i = 0; i < 4; ++i)
    if (c.world.moves[i].committed) c.me.vars.movesBefore |= static_cast<u8>(1 << i);
}

void NoteSeen(Context& c, int name, Version v) {
  World& w = c.world;
  bool gone = v == 0 || Sub(v) != 0 || w.isRemoval[Writer(v)];
  if (gone) v = std::max(v, w.collected[name]);
  if (v < c.me.vars.floor[name])
    w.Fail(gone ? "not found, although a version was committed"
                : "an older, moved or removed version is visible");
  w.Raise(name, v);
  for (int i = 0; i < 4; ++i) {
    const Move& m = w.moves[i];
    if (!m.seen) continue;
    // Who saw the source gone by this rename must find the target; who saw the target must find the source
    // gone.
    bool sure = (c.me.vars.movesBefore >> i & 1) != 0 || ((v & ~3) == (m.v1 & ~3) && Sub(v) != 3);
    if (m.src == name && v >= m.v1 && sure) w.Raise(m.dst, m.b);
    if (m.dst == name && v == m.b) w.Raise(m.src, m.v1);
  }
}

}  // namespace model
