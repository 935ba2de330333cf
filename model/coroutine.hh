// SPDX-License-Identifier: LGPL-3.0-or-later
// Coroutines that are replayed: a client's phase runs from its start with the replies logged so far and stops
// at the first request that has no reply yet. So a state of the world is plain data that can be copied and
// hashed. Code of a phase may run many times: ghosts may be touched only after its last request.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <utility>

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

}  // namespace model
