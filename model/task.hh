// SPDX-License-Identifier: LGPL-3.0-or-later
// Coroutines that are replayed: a client's phase runs from its start with the replies logged so far and stops
// at the first request that has no reply yet. So a state of the world is plain data that can be copied and
// hashed. Code of a phase may run many times: ghosts may be touched only after its last request.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <utility>

#include "world.hh"

namespace model {

template <class T>
class Task {
 public:
  struct promise_type {
    T value{};
    std::coroutine_handle<> caller;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().caller ? h.promise().caller : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T v) { value = std::move(v); }
    void unhandled_exception() { std::abort(); }
  };

  explicit Task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  Task(Task&& o) noexcept : handle_(std::exchange(o.handle_, {})) {}
  ~Task() {
    if (handle_) handle_.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() { return std::move(handle_.promise().value); }
  // True when it ran to its end.
  bool Run() {
    handle_.resume();
    return handle_.done();
  }
  T& value() { return handle_.promise().value; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

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
