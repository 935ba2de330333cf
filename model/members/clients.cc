// SPDX-License-Identifier: LGPL-3.0-or-later
// PUT, exclusive PUT, REMOVE, READ and the listing of a folder. Each phase returns the next one.
#include <algorithm>

#include "programs.hh"

namespace model {

namespace {

// The operation begins: it goes by one of the lists that may be in use, until it ends.
Task<u8> Begin(Context& c, u8 next) {
  u32 list = co_await c.Choose(c.world.high - c.world.low + 1);
  c.me.vars.list = static_cast<u8>(c.world.low + list);
  NoteBegin(c);
  co_return next;
}

File OwnSeal(const Process& me) {
  bool exclusive = me.program == kCreator;
  return {.kind = exclusive ? kExclusive : kSealed, .ver = exclusive ? me.vars.ver : u8{0}, .id = me.id};
}

// Turns the seals into p (or makes tombstones): how many homes count; 0 if none has really accepted.
Task<u8> Promote(Context& c, Batch q, bool supersededCounts) {
  Replies done = co_await c.Ask(q);
  int accepted = std::popcount(done.With(kOk)), superseded = 0;
  u8 refused = done.With(kRefused);
  if (refused != 0 && accepted < c.list().quorum()) {
    Replies r = co_await c.Look(refused, std::popcount(refused));
    for (int s = 0; s < kServers; ++s) {
      if (r.Shown(s) == nullptr) continue;
      Version top = Top(*r.Shown(s)).ver;
      accepted += top == q.to.ver;
      superseded += top > q.to.ver && supersededCounts;
    }
  }
  co_return static_cast<u8>(accepted == 0 ? 0 : accepted + superseded);
}

// The look after sealing: a quorum must show the own seal without a mark.
bool Proved(const Context& c, const Replies& r) {
  int proved = 0;
  for (int s = 0; s < kServers; ++s) {
    if (r.Shown(s) == nullptr) continue;
    const File* own = SealOf(*r.Shown(s), c.me.id);
    proved += own != nullptr && own->kind != kAborted && !HasMark(*r.Shown(s), c.me.id);
  }
  return proved >= c.list().quorum();
}

// Every entry with a version counts, also seals.
Version Highest(const Replies& r) {
  Version highest = 0;
  for (int s = 0; s < kServers; ++s)
    if (r.Shown(s) != nullptr)
      for (const File& f : *r.Shown(s)) highest = std::max(highest, f.ver);
  return highest;
}

enum class Rivals : u8 { kNobody, kLater, kYield };

Rivals RivalsIn(const Context& c, const Replies& r) {
  Rivals rivals = Rivals::kNobody;
  for (int s = 0; s < kServers; ++s) {
    if (r.Shown(s) == nullptr) continue;
    for (const File& f : *r.Shown(s)) {
      if (f.accepted() && f.ver > c.me.vars.base) return Rivals::kYield;
      if (!f.seal() || f.id == c.me.id) continue;
      bool later = f.kind == kExclusive && f.ver > c.me.vars.ver;
      if (!later) return Rivals::kYield;
      rivals = Rivals::kLater;
    }
  }
  return rivals;
}

Task<u8> Barrier(Context& c) {
  Vars& v = c.me.vars;
  Replies r = co_await c.Look(v.sealed, c.list().quorum());
  if (!Proved(c, r)) co_return kWithdraw;
  if (c.me.program == kPutter) {
    v.ver = Above(std::max(Highest(r), c.world.collected), c.me.id);
    c.world.chosen[c.me.id] = v.ver;
    co_return kCommit;
  }
  Rivals rivals = RivalsIn(c, r);
  co_return rivals == Rivals::kYield ? kWithdraw : rivals == Rivals::kLater ? kBarrier : kCommit;
}

// The look-up of a creator: nothing may live.
Task<u8> FindNothing(Context& c) {
  Vars& v = c.me.vars;
  Look look = co_await LookAndSettle(c, c.list().homes, c.list().quorum());
  if (look.settled == Settled::kAgain) co_return kFind;
  if (look.settled != Settled::kYes) co_return kEnd;
  Version top = look.replies.Top().ver;
  if (!Gone(top)) {
    NoteSeen(c, top);
    co_return kEnd;
  }
  v.base = top;
  v.ver = Above(std::max(Highest(look.replies), c.world.collected), c.me.id);
  c.world.chosen[c.me.id] = v.ver;
  c.world.base[c.me.id] = v.base;
  co_return kSeal;
}

}  // namespace

void MakeReady(World& w, Process& me, u8 sealed) {
  me.vars = Vars{.phase = kCommit, .list = w.low, .sealed = sealed, .base = w.floor, .floor = w.floor};
  me.vars.ver = Above(w.floor, me.id);
  w.chosen[me.id] = me.vars.ver;
  w.base[me.id] = w.floor;
  w.by[me.id] = w.low;
  for (int s = 0; s < kServers; ++s)
    if (sealed >> s & 1) w.servers[s].Add(OwnSeal(me));
}

Task<u8> PutStep(Context& c) {
  Vars& v = c.me.vars;
  const u8 quorum = v.phase == kStart ? u8{0} : c.list().quorum();
  switch (v.phase) {
    case kStart: {
      u8 next = co_await Begin(c, c.me.program == kCreator ? kFind : kSeal);
      c.world.by[c.me.id] = v.list;
      co_return next;
    }
    case kFind: {
      u8 next = co_await FindNothing(c);
      co_return next;
    }
    case kSeal: {
      u8 all = static_cast<u8>(c.list().homes | setup.placement);
      Replies r = co_await c.Ask({.type = kCreate, .mask = all, .need = quorum, .file = OwnSeal(c.me)});
      v.sealed = r.With(kOk) & c.list().homes;
      co_return std::popcount(v.sealed) >= quorum ? kBarrier : kWithdraw;
    }
    case kBarrier: {
      u8 next = co_await Barrier(c);
      co_return next;
    }
    case kCommit: {
      File p{.kind = kPromoted, .ver = v.ver};
      u8 have = co_await Promote(
          c, {.type = kRename, .mask = v.sealed, .need = quorum, .file = OwnSeal(c.me), .to = p}, true);
      if (have < quorum || !Told(c)) co_return kEnd;
      if (v.ver <= v.floor) c.world.Fail("a put got a version below one already visible");
      c.world.Raise(v.ver);
      co_return kEnd;
    }
    case kWithdraw:
      (void)co_await c.Ask({.type = kRemove, .mask = v.sealed, .need = 0, .file = OwnSeal(c.me)});
      co_return kEnd;
  }
  co_return kEnd;
}

Task<u8> RemoveStep(Context& c) {
  Vars& v = c.me.vars;
  if (v.phase == kStart) {
    u8 next = co_await Begin(c, kFind);
    co_return next;
  }
  const u8 homes = c.list().homes, quorum = c.list().quorum();
  if (v.phase == kFind) {
    Look look = co_await LookAndSettle(c, homes, quorum);
    if (look.settled == Settled::kAgain) co_return kFind;
    if (look.settled != Settled::kYes) co_return kEnd;
    Version top = look.replies.Top().ver;
    NoteSeen(c, top);
    v.ver = Removed(top);
    co_return Gone(top) ? static_cast<u8>(kEnd) : static_cast<u8>(kCommit);
  }
  File t{.kind = kTombstone, .ver = v.ver};
  u8 have = co_await Promote(c, {.type = kCreate, .mask = homes, .need = quorum, .file = t, .to = t}, false);
  if (have >= quorum && Told(c)) c.world.Raise(v.ver);
  co_return kEnd;
}

Task<u8> ReadStep(Context& c) {
  Vars& v = c.me.vars;
  if (v.phase == kStart) {
    if (v.rounds >= setup.rounds) co_return kEnd;
    u8 next = co_await Begin(c, kFind);
    ++v.rounds;
    co_return next;
  }
  Look look = co_await LookAndSettle(c, c.list().homes, c.list().quorum());
  if (look.settled == Settled::kAgain) co_return kFind;
  if (look.settled == Settled::kYes) NoteSeen(c, look.replies.Top().ver);
  v.list = 0;
  co_return kStart;
}

// Lists the folder on all members but t: a name that nobody shows is not told.
Task<u8> ListStep(Context& c) {
  Vars& v = c.me.vars;
  if (v.phase == kStart) {
    u8 next = co_await Begin(c, kFind);
    co_return next;
  }
  const int all = std::popcount(c.list().members), miss = variant.missMore ? 2 : 1;
  Replies r = co_await c.Look(c.list().members, all - miss);
  if (r.Heard() >= all - miss && r.Top().kind == kNone) NoteSeen(c, 0);
  co_return kEnd;
}

}  // namespace model
