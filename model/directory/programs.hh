// SPDX-License-Identifier: LGPL-3.0-or-later
// What processes do, phase by phase, as src/commit does it. A phase is replayed (coroutine.hh) and returns
// the next one.
#pragma once

#include "../coroutine.hh"
#include "world.hh"

namespace model {

enum Phase : u8 {
  kWrite = 1,
  kVoid,
  kResume,
  kAnew,
  kForget,
  kEnter,
  kItem,
  kLeave,
  kOver,
  kKeep,
  kRenew,
  kDropOld
};

// One process during one replay.
struct Context {
  World& world;
  Process& me;
  int replayed = 0;
  bool wants = false;
  Request request{};

  struct Reply {
    Context& c;
    bool await_ready() const { return c.replayed < c.me.logged; }
    void await_suspend(std::coroutine_handle<>) const {}  // never resumed: the next replay starts afresh
    u32 await_resume() const { return c.me.log[c.replayed++]; }
  };

  Reply Ask(Request q) {
    if (replayed >= me.logged) wants = true, request = q;
    return Reply{*this};
  }
  Reply Look(u8 name) { return Ask({.kind = kLook, .name = name}); }
};

// log.cc
Task<u8> WriteLog(Context& c);             // a Code
Task<bool> DropLog(Context& c, u8 log);    // as RemoveMoveLog: too few may have it for anybody to go on
Task<u8> FindLogs(Context& c);             // the phases of a cleaner before it carries a rename through
Task<u8> DropVoidLogs(Context& c);
Task<u8> Resume(Context& c);
Task<u8> LogAnew(Context& c);
Task<u8> KeepYoung(Context& c);
Task<u8> RenewLog(Context& c);
Task<u8> DropOldLog(Context& c);
Task<u8> ForgetFound(Context& c);

// move.cc
Task<u8> MakeDirectory(Context& c, u8 name);
Task<u8> EnterDirectory(Context& c);
Task<u8> MoveItem(Context& c);
Task<u8> LeaveDirectory(Context& c);

// clients.cc
Task<u8> ListChildren(Context& c, u8 directory, u8* names, u8* directories);
Task<u8> ClientStep(Context& c);
Task<u8> StepOf(Context& c);

// Runs the process until it waits for a request (true), or has ended.
bool Advance(Context& c);

}  // namespace model
