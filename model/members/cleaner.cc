// SPDX-License-Identifier: LGPL-3.0-or-later
// The cleaner: rolls forward, removes what is superseded, gives seals up, collects.
#include <algorithm>

#include "programs.hh"

namespace model {

namespace {

enum : u8 { kLookAll = 1, kSecond, kFence, kCollect, kForget };

u8 Asked(const Context& c) { return c.list().members | c.list().homes; }

// What needs "all homes" waits for a list that is in use alone, or beside its like.
bool MayForget(const Context& c) { return c.list().kind == kSettled; }

Task<u8> LookAndRoll(Context& c) {
  const u8 homes = c.list().homes;
  Replies r = co_await c.Look(homes, std::popcount(homes));
  const int heard = r.Heard(), quorum = c.list().quorum();
  if (heard < quorum) co_return kStart;
  c.me.vars.ver = r.Top().ver;
  if (r.Top().kind == kNone) co_return kSecond;
  // A tombstone goes to every home, others to homes that show something, and to a quorum.
  u8 where = 0;
  for (int s = 0; s < kServers; ++s)
    if (r.Shown(s) != nullptr && !r.Shown(s)->empty()) where |= static_cast<u8>(1 << s);
  const int showing = std::popcount(where);
  if (Gone(r.Top().ver) || showing < quorum) where = homes;
  const int need = Gone(r.Top().ver) ? heard : std::max(showing, quorum);
  Settled s = co_await RollOut(c, r, where, need, homes);
  if (s != Settled::kYes) co_return kStart;
  c.world.Raise(c.me.vars.ver);  // what is on a quorum counts as visible from here on
  co_return kSecond;
}

bool AcceptedSomewhere(const Replies& r, u8 where, int id, Version* ver) {
  for (int s = 0; s < kServers; ++s) {
    if ((where >> s & 1) == 0 || r.Shown(s) == nullptr) continue;
    for (const File& f : *r.Shown(s))
      if (f.accepted() && !Gone(f.ver) && Writer(f.ver) == id) return *ver = f.ver, true;
  }
  return false;
}

struct Duty {
  int server = -1;
  File file{}, to{};
  bool fence = false;
};

// The first thing to do that this look at all servers shows.
Duty Due(const Context& c, const Replies& r) {
  const Version u = c.me.vars.ver;
  for (int s = 0; s < kServers; ++s) {
    if (r.Shown(s) == nullptr) continue;
    const bool home = (c.list().homes >> s & 1) != 0;
    const File top = Top(*r.Shown(s));
    for (const File& f : *r.Shown(s)) {
      Version ver = 0;
      if (f.kind == kDraft) return {s, f};
      if (f.accepted() && f.ver < u && (!home || top.ver >= u)) return {s, f};
      // Made late, where there was a home: it is older than the horizon.
      if (!home && f.kind == kTombstone && MayForget(c) && c.world.low == c.me.vars.list) return {s, f};
      if (f.seal() && AcceptedSomewhere(r, c.list().homes, f.id, &ver)) {
        if (ver < u) return {s, f};
        return {s, f, File{.kind = kPromoted, .ver = ver}};
      }
      // An archive where there is no home, of a version that no home accepts, came late.
      const bool stray = !home && f.kind == kPromoted && f.ver > u && !variant.leaveStray;
      // The upload grace is longer than the lease: a writer that goes by the next list is not silent for it.
      const bool young = c.world.by[f.id] > c.me.vars.list && !variant.oldCleaner;
      if (f.seal() && !young) return {s, f, {}, true};
      if (stray)
        return {s, File{.kind = kPromoted, .ver = f.ver, .id = static_cast<u8>(Writer(f.ver))}, {}, true};
    }
  }
  return {};
}

// A look after the highest stands on a quorum; then one thing that it shows to be due.
Task<u8> Tidy(Context& c) {
  Vars& v = c.me.vars;
  Replies r = co_await c.Look(Asked(c), std::popcount(Asked(c)));
  Version top = 0;
  for (int s = 0; s < kServers; ++s)
    if ((c.list().homes >> s & 1) != 0 && r.Shown(s) != nullptr) top = std::max(top, Top(*r.Shown(s)).ver);
  if (r.Heard() < c.list().quorum() || top != v.ver) co_return kStart;
  const Duty due = Due(c, r);
  if (due.fence) {
    v.seal = due.file.id;
    co_return kFence;
  }
  if (due.server < 0) co_return Gone(top) && top != 0 ? static_cast<u8>(kCollect) : static_cast<u8>(kStart);
  if (due.to.kind != kNone) (void)co_await c.One(kRename, due.server, due.file, due.to);
  if (due.to.kind == kNone) (void)co_await c.One(kRemove, due.server, due.file);
  co_return kStart;
}

Task<u8> GiveUp(Context& c) {
  const u8 id = c.me.vars.seal, homes = c.list().homes;
  bool fenced = co_await FenceSeal(c, File{.kind = kAborted, .id = id}, homes);
  if (!fenced || !(MayForget(c) || variant.fenceJoint)) co_return kStart;
  for (const u8 where : {static_cast<u8>(Asked(c) & ~homes), homes}) {
    Replies r = co_await c.Look(where, std::popcount(where));
    if (r.Heard() < std::popcount(where)) co_return kStart;
    for (int s = 0; s < kServers; ++s) {
      if (r.Shown(s) == nullptr) continue;
      for (const File& f : *r.Shown(s)) {
        const bool data = where != homes && f.kind == kPromoted && Writer(f.ver) == id;
        if (data || (f.seal() && f.id == id)) (void)co_await c.One(kRemove, s, f);
      }
    }
  }
  co_return kStart;
}

// All homes have the tombstone and nothing else but marks. No other server has anything but that tombstone,
// which a late request may have made where there was a home.
Task<u8> Collect(Context& c) {
  Replies r = co_await c.Look(Asked(c), std::popcount(Asked(c)));
  if (r.Heard() < std::popcount(Asked(c))) co_return kStart;
  for (int s = 0; s < kServers; ++s) {
    if (r.Shown(s) == nullptr) continue;
    int stones = 0;
    for (const File& f : *r.Shown(s)) {
      if (f.kind == kMark) continue;
      if (f.kind != kTombstone || f.ver != c.me.vars.ver) co_return kStart;
      ++stones;
    }
    if ((c.list().homes >> s & 1) != 0 && stones == 0) co_return kStart;
  }
  co_return kForget;
}

// Removers and creators that chose a version before must be over. The horizon is longer than the lease: a
// tombstone that was made since another list came into use is not old enough while the list before is in use.
bool HorizonPassed(const Context& c) {
  const World& w = c.world;
  for (const Process& p : w.processes) {
    if (p.program == kRemover && p.vars.phase != kStart && p.vars.phase < kDead) return false;
    if (p.program == kCreator && p.vars.phase != kStart && p.vars.phase < kBarrier) return false;
  }
  for (int i = 0; i < w.lateCount; ++i)
    if (w.late[i].type == kCreate && w.late[i].file.kind != kSealed) return false;
  if (variant.oldCleaner && c.me.vars.list < w.high) return true;
  for (int s = 0; s < kServers; ++s)
    if ((c.list().homes >> s & 1) != 0 && w.low < w.high && w.made[s] >= w.high) return false;
  return true;
}

}  // namespace

Task<u8> CleanStep(Context& c) {
  Vars& v = c.me.vars;
  switch (v.phase) {
    case kStart: {
      if (v.rounds >= setup.rounds) co_return kEnd;
      u32 list = co_await c.Choose(c.world.high - c.world.low + 1);
      u8 rounds = static_cast<u8>(v.rounds + 1);
      v = Vars{.list = static_cast<u8>(c.world.low + list), .rounds = rounds};
      co_return kLookAll;
    }
    case kLookAll: {
      u8 next = co_await LookAndRoll(c);
      co_return next;
    }
    case kSecond: {
      u8 next = co_await Tidy(c);
      co_return next;
    }
    case kFence: {
      u8 next = co_await GiveUp(c);
      co_return next;
    }
    case kCollect: {
      u8 next = co_await Collect(c);
      // The horizon is judged at the moment of the decision.
      const bool may = (MayForget(c) || variant.collectJoint) && HorizonPassed(c);
      if (next != kForget || !may) co_return kStart;
      c.world.collected = std::max(c.world.collected, v.ver);
      c.world.Raise(v.ver);
      co_return kForget;
    }
    case kForget:
      (void)co_await c.Ask(
          {.type = kRemove, .mask = Asked(c), .need = 0, .file = File{.kind = kTombstone, .ver = v.ver}});
      co_return kStart;
  }
  co_return kEnd;
}

}  // namespace model
