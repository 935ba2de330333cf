// SPDX-License-Identifier: LGPL-3.0-or-later
// What every process does: look, roll forward, fence a seal.
#include <algorithm>

#include "programs.hh"

namespace model {

int Replies::Heard() const {
  return static_cast<int>(std::count_if(at.begin(), at.end(), [](u32 r) { return r >= kListingBase; }));
}

u8 Replies::With(u32 reply) const {
  u8 mask = 0;
  for (int s = 0; s < kServers; ++s)
    if (at[s] == reply) mask |= static_cast<u8>(1 << s);
  return mask;
}

File Replies::Top() const {
  File top;
  for (int s = 0; s < kServers; ++s)
    if (const Listing* l = Shown(s))
      if (File f = model::Top(*l); f.ver > top.ver) top = f;
  return top;
}

bool Context::BatchReply::await_ready() {
  int size = std::popcount(q.mask);
  c.begun = c.replayed;
  bool over = c.replayed + size <= c.me.logged;
  if (over) {
    int pending = 0, heard = 0;
    for (int i = c.begun; i < c.begun + size; ++i) {
      pending += c.me.log[i] == kPending;
      heard += c.me.log[i] >= kListingBase;
    }
    over = pending == 0 || (q.type == kList && heard >= q.need);
  }
  if (!over) c.wants = kBatch, c.batch = q;
  return over || size == 0;
}

Replies Context::BatchReply::await_resume() {
  Replies r;
  for (int s = 0; s < kServers; ++s)
    if (q.mask >> s & 1) r.at[s] = c.me.log[c.replayed++];
  return r;
}

namespace {

enum class Outcome : u8 { kUnavailable, kAccepted, kSuperseded };

// A draft, then another look that u still is the highest somewhere else, then the rename.
Task<Outcome> CopyWitness(Context& c, int server, Version u, u8 homes) {
  File y{.kind = kDraft, .ver = u, .nonce = static_cast<u8>(1 + (&c.me - c.world.processes.data()))};
  Replies made = co_await c.One(kCreate, server, y);
  if (made.at[server] != kOk) co_return Outcome::kUnavailable;
  if (!variant.noVerify) {
    Replies other = co_await c.Look(static_cast<u8>(homes & ~(1 << server)), 1);
    File top = other.Top();
    if (top.ver > u) co_return Outcome::kSuperseded;
    if (top.ver != u) co_return Outcome::kUnavailable;
  }
  Replies done = co_await c.One(kRename, server, y, File{.kind = kWitness, .ver = u});
  co_return done.at[server] == kOk ? Outcome::kAccepted : Outcome::kUnavailable;
}

// Makes one home accept u, which was seen accepted elsewhere.
Task<Outcome> Roll(Context& c, int server, Version u, const Listing& shown, u8 homes) {
  Version top = Top(shown).ver;
  if (top > u) co_return Outcome::kSuperseded;
  if (top == u) co_return Outcome::kAccepted;
  Replies done;
  if (Gone(u)) {
    done = co_await c.One(kCreate, server, File{.kind = kTombstone, .ver = u});
  } else if (const File* seal = SealOf(shown, Writer(u))) {
    done = co_await c.One(kRename, server, *seal, File{.kind = kPromoted, .ver = u});
  } else {
    Outcome o = co_await CopyWitness(c, server, u, homes);
    co_return o;
  }
  co_return done.at[server] == kOk ? Outcome::kAccepted : Outcome::kUnavailable;
}

}  // namespace

// Rolls the highest that was seen forward to `need` of the homes in `where`; `accepted` are those that it was
// rolled to already.
Task<Settled> RollOut(Context& c, const Replies& seen, u8 where, int need, u8 homes, u8* accepted) {
  const Version u = seen.Top().ver;
  u8 have = accepted != nullptr ? *accepted : u8{0};
  for (int s = 0; s < kServers; ++s)
    if (seen.Shown(s) != nullptr && Top(*seen.Shown(s)).ver == u) have |= static_cast<u8>(1 << s);
  for (int s = 0; s < kServers && std::popcount(static_cast<u8>(have & where)) < need; ++s) {
    if ((where >> s & 1) == 0 || seen.Shown(s) == nullptr || (have >> s & 1) != 0) continue;
    Outcome o = co_await Roll(c, s, u, *seen.Shown(s), homes);
    if (o == Outcome::kSuperseded) co_return Settled::kAgain;
    if (o == Outcome::kAccepted) have |= static_cast<u8>(1 << s);
  }
  if (accepted != nullptr) *accepted = have;
  co_return std::popcount(static_cast<u8>(have & where)) >= need ? Settled::kYes : Settled::kCannotTell;
}

// LOOK of everybody that answers about the name.
Task<Look> LookAndSettle(Context& c, u8 homes, int quorum) {
  Look look;
  look.replies = co_await c.Look(homes, quorum);
  if (look.replies.Heard() < quorum) {
    look.settled = Settled::kCannotTell;
    co_return look;
  }
  if (look.replies.Top().kind != kNone)
    look.settled = co_await RollOut(c, look.replies, homes, quorum, homes);
  co_return look;
}

// Gives up a seal on all these homes: it becomes x, or is void where it never arrived. False: not all.
Task<bool> FenceSeal(Context& c, File seal, u8 homes) {
  for (int s = 0; s < kServers; ++s) {
    if ((homes >> s & 1) == 0) continue;
    bool fenced = false;
    for (int tries = 0; tries < 3 && !fenced; ++tries) {
      Replies r = co_await c.Look(static_cast<u8>(1 << s), 1);
      if (r.Shown(s) == nullptr) co_return false;
      const Listing& files = *r.Shown(s);
      for (const File& f : files)
        if (f.accepted() && !Gone(f.ver) && Writer(f.ver) == seal.id) co_return false;
      const File* here = SealOf(files, seal.id);
      if (here != nullptr && here->kind != kAborted) {
        File x = *here;
        x.kind = kAborted;
        (void)co_await c.One(kRename, s, *here, x);
      } else if (here != nullptr || HasMark(files, seal.id)) {
        fenced = true;
      } else {
        (void)co_await c.One(kCreate, s, File{.kind = kMark, .id = seal.id});
      }
    }
    if (!fenced) co_return false;
  }
  co_return true;
}

void NoteBegin(Context& c) { c.me.vars.floor = c.world.floor; }

bool Told(Context& c) { return c.me.vars.lapsed == 0 || variant.tellLate; }

void NoteSeen(Context& c, Version v) {
  World& w = c.world;
  if (Gone(v)) v = std::max(v, w.collected);
  if (v < c.me.vars.floor)
    w.Fail(Gone(v) ? "not found, although a version was committed"
                   : "an older or removed version is visible");
  w.Raise(v);
}

}  // namespace model
