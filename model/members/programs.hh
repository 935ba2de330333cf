// SPDX-License-Identifier: LGPL-3.0-or-later
// What processes do, phase by phase. A phase is replayed (coroutine.hh) and returns the next one.
#pragma once

#include "../coroutine.hh"
#include "world.hh"

namespace model {

// Replies of a batch, by server.
struct Replies {
  std::array<u32, kServers> at{};
  const Listing* Shown(int server) const {
    return at[server] >= kListingBase ? &Interned(at[server]) : nullptr;
  }
  int Heard() const;
  u8 With(u32 reply) const;  // servers, bits
  File Top() const;
};

// One process during one replay.
struct Context {
  World& world;
  Process& me;
  int replayed = 0;
  enum { kNothing, kBatch, kChoice } wants = kNothing;
  Batch batch{};
  int choices = 0, begun = 0;  // where the replies of the batch begin

  struct BatchReply {
    Context& c;
    Batch q;
    bool await_ready();
    void await_suspend(std::coroutine_handle<>) const {}  // never resumed: the next replay starts afresh
    Replies await_resume();
  };
  struct ChoiceReply {
    Context& c;
    int n;
    bool await_ready() {
      if (c.replayed < c.me.logged) return true;
      c.wants = kChoice, c.choices = n;
      return false;
    }
    void await_suspend(std::coroutine_handle<>) const {}
    u32 await_resume() { return c.me.log[c.replayed++]; }
  };

  BatchReply Ask(Batch q) { return {*this, q}; }
  BatchReply Look(u8 mask, int need) {
    return Ask({.type = kList, .mask = mask, .need = static_cast<u8>(need)});
  }
  BatchReply One(RequestType type, int server, File file, File to = {}) {
    return Ask({.type = type, .mask = static_cast<u8>(1 << server), .need = 1, .file = file, .to = to});
  }
  ChoiceReply Choose(int n) { return {*this, n}; }
  const List& list() const { return setup.lists[me.vars.list]; }
};

// The phases of clients.
enum : u8 { kFind = 1, kSeal, kBarrier, kCommit, kWithdraw };

enum class Settled : u8 { kYes, kAgain, kCannotTell };
struct Look {
  Replies replies;
  Settled settled = Settled::kYes;
};

// look.cc
Task<Look> LookAndSettle(Context& c, u8 homes, int quorum);
Task<Settled> RollOut(Context& c, const Replies& seen, u8 where, int need, u8 homes, u8* accepted = nullptr);
Task<bool> FenceSeal(Context& c, File seal, u8 homes);
void NoteBegin(Context& c);
void NoteSeen(Context& c, Version v);
bool Told(Context& c);  // an answer counts: its list is in force

// clients.cc, cleaner.cc, mover.cc
void MakeReady(World& w, Process& me, u8 sealed);  // it has sealed there and looked
Task<u8> PutStep(Context& c);
Task<u8> RemoveStep(Context& c);
Task<u8> ReadStep(Context& c);
Task<u8> ListStep(Context& c);
Task<u8> CleanStep(Context& c);
Task<u8> MoveStep(Context& c);

// Runs the process until it waits for replies or a choice (true), or has ended (false).
bool Advance(Context& c);

}  // namespace model
