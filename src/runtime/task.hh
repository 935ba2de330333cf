// SPDX-License-Identifier: LGPL-3.0-or-later
// Coroutines of the engine. A Task<T> is lazy: it starts when awaited (or spawned) and resumes its awaiter
// when done. It runs on whichever engine thread completes what it waits for, one thread at a time, so
// locals need no lock. Tasks never throw: an escaping exception aborts.
//
// Rules: a coroutine takes its parameters by value or refers to what outlives it; it never blocks; it
// holds no mutex across co_await; it never co_awaits a temporary braced list, nor within ?: (g++ 12
// destroys temporaries twice).
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.hh"
#include "base/mutex.hh"
#include "runtime/unique_function.hh"

namespace xec {

template <typename T>
class Task;

namespace internal {

// A task that ends before its awaiter has come to rest does not resume it: the awaiter sees that and goes on
// by itself. So a loop that awaits what is there already needs no stack for each turn, whether or not the
// compiler makes jumps of calls between coroutines (it does not with sanitizers, or without optimization).
struct TaskPromiseBase {
  enum class Stage : uint8_t { kStarted, kAwaited, kEnded };
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::atomic<Stage> stage = Stage::kStarted;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      TaskPromiseBase& promise = self.promise();
      // The frame may go as soon as the awaiter knows.
      const std::coroutine_handle<> awaiter = promise.continuation;
      const Stage before = promise.stage.exchange(Stage::kEnded, std::memory_order_acq_rel);
      return before == Stage::kAwaited ? awaiter : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
};

template <typename T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T Take() { return std::move(*value); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void Take() {}
};

}  // namespace internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  struct Awaiter {
    Handle handle;
    bool await_ready() const noexcept { return false; }
    // False: it has ended meanwhile.
    bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
      using Stage = internal::TaskPromiseBase::Stage;
      promise_type& promise = handle.promise();
      promise.continuation = awaiting;
      handle.resume();
      return promise.stage.exchange(Stage::kAwaited, std::memory_order_acq_rel) != Stage::kEnded;
    }
    T await_resume() { return handle.promise().Take(); }
  };
  Awaiter operator co_await() const& noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  Handle handle_;
};

namespace internal {
template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}
}  // namespace internal

// The detached tasks of one owner (a store, a simulated gateway). Thread-safe.
//
// A long-lived object owns a scope and calls Drain() before it goes; the simulator "crashes" a gateway with
// Abandon(), which destroys the suspended coroutines as a kill -9 would end them.
class TaskScope {
 public:
  TaskScope() = default;
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  // CHECKs that nothing is left running.
  ~TaskScope();

  // Starts the task now, on this thread, and forgets it; its frame goes when it ends.
  void Spawn(Task<void> task);

  // Blocks until every spawned task has ended. Never call it on an engine thread.
  void Drain();

  // Destroys all suspended tasks. What their destructors spawn (the dead do not tidy up) is destroyed
  // unstarted. Only where a single thread runs everything (simulator, unit tests).
  void Abandon();

  size_t running() const;

 private:
  struct Root;
  friend struct Root;
  void Ended(uint64_t id);

  mutable Mutex mutex_;
  // Frames of running roots, in the order of their start. Not known by their addresses: a frame's memory may
  // be another one's before its end is told.
  std::map<uint64_t, void*> roots_ XEC_GUARDED_BY(mutex_);
  uint64_t next_id_ XEC_GUARDED_BY(mutex_) = 0;
  UniqueFunction<void()> on_empty_ XEC_GUARDED_BY(mutex_);  // set by Drain
  bool abandoning_ XEC_GUARDED_BY(mutex_) = false;
};

// One value handed from a callback to one waiting coroutine: Set() once from any thread, co_await once.
// The awaiting coroutine may be destroyed first (simulated crash); Set() is then without effect.
template <typename T>
class OneShot {
 public:
  OneShot() : state_(std::make_shared<State>()) {}
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;
  ~OneShot() {
    MutexLock lock(state_->mutex);
    state_->waiting = nullptr;
  }

  // A callable that sets the value; the first call wins, later calls are ignored (a deadline against a
  // reply). It keeps the shared state alive, not the coroutine.
  auto Setter() const {
    return [state = state_](T value) {
      std::coroutine_handle<> resume;
      {
        MutexLock lock(state->mutex);
        if (state->set) return;
        state->set = true;
        state->value.emplace(std::move(value));
        resume = std::exchange(state->waiting, nullptr);
      }
      if (resume) resume.resume();
    };
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) noexcept {
    MutexLock lock(state_->mutex);
    if (state_->set) return false;
    state_->waiting = handle;
    return true;
  }
  T await_resume() { return std::move(*state_->value); }

 private:
  struct State {
    Mutex mutex;
    bool set XEC_GUARDED_BY(mutex) = false;
    std::optional<T> value;  // set under mutex, and then the waiter's
    std::coroutine_handle<> waiting XEC_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_;
};

}  // namespace xec
