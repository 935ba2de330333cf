// SPDX-License-Identifier: LGPL-3.0-or-later
// What a client of the object model asks for, one request at a time (coroutine.hh).
#pragma once

#include "coroutine.hh"
#include "world.hh"

namespace model {

// One client during one replay.
struct Context {
  World& world;
  Client& me;
  int replayed = 0;
  enum { kNothing, kRequest, kChoice } wants = kNothing;
  Request request{};
  int choices = 0;

  struct Reply {
    Context& c;
    bool await_ready() const { return c.replayed < c.me.logged; }
    void await_suspend(std::coroutine_handle<>) const {}  // never resumed: the next replay starts afresh
    u32 await_resume() const { return c.me.log[c.replayed++]; }
  };

  Reply Ask(Request q) {
    if (replayed >= me.logged) wants = kRequest, request = q;
    return Reply{*this};
  }
  Reply Choose(int n) {
    if (replayed >= me.logged) wants = kChoice, choices = n;
    return Reply{*this};
  }
  Reply List(int server, int name) {
    return Ask({.type = kList, .server = static_cast<u8>(server), .name = static_cast<u8>(name)});
  }
  Reply Create(int server, File f) {
    return Ask({.type = kCreate, .server = static_cast<u8>(server), .file = f});
  }
  Reply Remove(int server, File f) {
    return Ask({.type = kRemove, .server = static_cast<u8>(server), .file = f});
  }
  Reply Rename(int server, File f, File to) {
    return Ask({.type = kRename, .server = static_cast<u8>(server), .file = f, .to = to});
  }
};

// Runs the client until it waits for a request or a choice (true), or has ended (false).
bool Advance(Context& c);

}  // namespace model
