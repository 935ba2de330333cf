// SPDX-License-Identifier: LGPL-3.0-or-later
// The mover: decides the next list, waits until nobody goes by the one before, walks and sweeps. And the
// comparison of a disk that was replaced.
#include <algorithm>

#include "programs.hh"

namespace model {

namespace {

enum : u8 { kWait = 1, kSweep, kWalk, kSecondWalk, kDecide, kCompare };

// Servers that were homes by the list before, and are none now.
u8 Left(const Context& c) {
  if (c.me.vars.list == 0) return 0;
  return static_cast<u8>(setup.lists[c.me.vars.list - 1].homes & ~c.list().homes);
}

// A majority of the joint list may have committed, after the walk, without a quorum of the homes that are
// left.
bool NeedsSecondWalk(const Context& c) {
  if (c.list().kind != kSwept || variant.noSecondWalk) return false;
  const int certain = setup.lists[c.me.vars.list - 1].quorum() - std::popcount(Left(c));
  return certain < c.list().quorum();
}

u8 AfterSweep(const Context& c) {
  return c.list().kind == kJoint ? kWalk : NeedsSecondWalk(c) ? kSecondWalk : kDecide;
}

// Removes what is no archive from servers that are no homes any more, until a listing shows none.
Task<u8> Sweep(Context& c) {
  const u8 left = Left(c);
  Replies r = co_await c.Look(left, std::popcount(left));
  if (r.Heard() < std::popcount(left)) co_return kSweep;
  bool clean = true;
  for (int s = 0; s < kServers; ++s) {
    if (r.Shown(s) == nullptr) continue;
    for (const File& f : *r.Shown(s)) {
      if (f.kind != kWitness && f.kind != kTombstone && f.kind != kDraft && f.kind != kMark) continue;
      clean = false;
      (void)co_await c.One(kRemove, s, f);
    }
  }
  if (!clean && !variant.blindSweep) co_return kSweep;
  co_return AfterSweep(c);
}

// Uploads whose seals fewer than a majority shows, and that no home has accepted.
u8 LoneSeals(const Context& c, const Replies& r) {
  u8 lone = 0;
  for (u8 id = 1; id < kWriters; ++id) {
    int shown = 0;
    bool accepted = false;
    for (int s = 0; s < kServers; ++s) {
      if (r.Shown(s) == nullptr) continue;
      shown += SealOf(*r.Shown(s), id) != nullptr;
      for (const File& f : *r.Shown(s))
        accepted = accepted || (f.accepted() && !Gone(f.ver) && Writer(f.ver) == id);
    }
    if (shown != 0 && !accepted && shown < c.list().quorum()) lone |= static_cast<u8>(1 << id);
  }
  return lone;
}

// A seal that fewer than a majority shows was made by the list before, and its promotion may come late: those
// that go by the next list would not see it. It is given up on all homes, unless one has accepted it.
Task<bool> GiveUpSeals(Context& c, const Replies& r) {
  const u8 lone = LoneSeals(c, r);
  for (u8 id = 1; id < kWriters; ++id) {
    if ((lone >> id & 1) == 0) continue;
    bool fenced = co_await FenceSeal(c, File{.kind = kAborted, .id = id}, c.list().homes);
    if (!fenced) co_return false;
  }
  co_return true;
}

// LOOK UP by the joint list; moreover a quorum of the next homes accepts the highest.
Task<u8> WalkName(Context& c) {
  const u8 homes = c.list().homes, next = c.list().next;
  Replies r = co_await c.Look(homes, c.list().quorum());
  if (r.Heard() < c.list().quorum()) co_return kWalk;
  if (LoneSeals(c, r) != 0 && !variant.noFence) {
    // What this look shows is rolled forward: the home that alone has accepted the upload may be silent
    // later.
    r = co_await c.Look(homes, std::popcount(homes));
    if (r.Heard() < std::popcount(homes)) co_return kWalk;
    bool fenced = co_await GiveUpSeals(c, r);
    if (!fenced) co_return kWalk;
  }
  if (r.Top().kind == kNone) co_return kDecide;
  u8 accepted = 0;
  Settled s = Settled::kYes;
  if (!variant.noQuorum) s = co_await RollOut(c, r, next, std::popcount(next) / 2 + 1, homes, &accepted);
  if (s == Settled::kYes) s = co_await RollOut(c, r, homes, c.list().quorum(), homes, &accepted);
  co_return s == Settled::kYes ? static_cast<u8>(kDecide) : static_cast<u8>(kWalk);
}

// The name is decided on a quorum without the disk that was replaced.
Task<u8> Compare(Context& c) {
  const u8 others = static_cast<u8>(c.list().homes & ~(1 << (c.world.wiped - 1)));
  Look look = co_await LookAndSettle(c, others, c.list().quorum());
  if (look.settled != Settled::kYes) co_return kCompare;
  // What was counted on the disk before is not told: the comparison waits until every process has noticed.
  for (Process& p : c.world.processes)
    if (p.program != kMover && p.vars.phase != kStart && p.vars.phase < kDead) p.vars.lapsed = 1;
  c.world.wiped = 0;
  co_return kStart;
}

}  // namespace

Task<u8> MoveStep(Context& c) {
  Vars& v = c.me.vars;
  World& w = c.world;
  switch (v.phase) {
    case kStart: {
      (void)co_await c.Choose(1);
      v = Vars{.list = w.high};
      if (w.wiped != 0) co_return kCompare;
      if (c.list().kind != kSettled) co_return kWait;
      if (v.list + 1 == static_cast<int>(setup.lists.size())) co_return kEnd;
      w.high = static_cast<u8>(v.list + 1);
      co_return kStart;
    }
    case kWait: {
      (void)co_await c.Choose(1);
      const bool skip = c.list().kind == kJoint ? variant.noWaitWalk : variant.noWaitSweep;
      if (w.high == v.list && !skip) w.low = w.high;
      if (w.high != v.list) co_return kStart;
      co_return c.list().kind == kJoint&& variant.noWalk ? static_cast<u8>(kDecide)
      : Left(c) != 0 && !variant.noSweep                 ? static_cast<u8>(kSweep)
                                                         : AfterSweep(c);
    }
    case kSweep: {
      u8 next = co_await Sweep(c);
      co_return next;
    }
    case kWalk: {
      u8 next = co_await WalkName(c);
      co_return next;
    }
    case kSecondWalk: {
      Look look = co_await LookAndSettle(c, c.list().homes, c.list().quorum());
      co_return look.settled == Settled::kYes ? static_cast<u8>(kDecide) : static_cast<u8>(kSecondWalk);
    }
    case kDecide:
      (void)co_await c.Choose(1);
      if (w.high == v.list) {
        w.low = std::max(w.low, static_cast<u8>(v.list - 1));  // nobody goes by a list that is two behind
        w.high = static_cast<u8>(v.list + 1);
      }
      co_return kStart;
    case kCompare: {
      u8 next = co_await Compare(c);
      co_return next;
    }
  }
  co_return kEnd;
}

}  // namespace model
