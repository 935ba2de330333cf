// SPDX-License-Identifier: LGPL-3.0-or-later
// Gather<T>: the engine's one scatter-gather driver. The owner starts tasks (and timers), each with a tag,
// and takes their results one by one in the order of completion; a pure policy object decides after each
// what to start next and when it has heard enough. What is still running when the Gather is destroyed runs
// on to its end (an abandoned request owns its buffers) and its result is dropped.
//
// One coroutine owns a Gather and calls everything on it; completions arrive from any thread.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/mutex.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

// What a Gather hears of tasks without an answer.
struct NoAnswer {};

template <typename T>
class Gather {
 public:
  using Work = std::conditional_t<std::is_same_v<T, NoAnswer>, Task<void>, Task<T>>;
  struct Event {
    size_t tag;
    std::optional<T> value;  // nullopt: a timer
  };

  // `scope` runs the tasks and outlives this object.
  Gather(TaskScope& scope, Executor& executor)
      : scope_(scope), executor_(executor), state_(std::make_shared<State>()) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  ~Gather() {
    for (const TimerId timer : timers_) executor_.Cancel(timer);
    // Freed now, without the lock: they may hold memory, and the state lives as long as the slowest task.
    std::deque<Event> dropped;
    MutexLock lock(state_->mutex);
    dropped.swap(state_->events);
    state_->abandoned = true;
    state_->waiting = nullptr;
  }

  // Starts the task on this thread; its result becomes one event with `tag`.
  void Start(size_t tag, Work task) {
    ++pending_;
    scope_.Spawn(Run(tag, std::move(task), state_));
  }

  // Adds one event without a value at or after `when`. Not counted by pending().
  void StartTimer(size_t tag, TimePoint when) {
    timers_.push_back(
        executor_.RunAt(when, [state = state_, tag] { Deliver(*state, Event{tag, std::nullopt}); }));
  }

  // Tasks started whose event has not been taken yet.
  size_t pending() const { return pending_; }

  // Will Next answer at once?
  bool ready() const {
    MutexLock lock(state_->mutex);
    return !state_->events.empty();
  }

  // Will it answer with a result, at once or after what timers tell?
  bool has_result() const {
    MutexLock lock(state_->mutex);
    return std::ranges::any_of(state_->events, [](const Event& event) { return event.value.has_value(); });
  }

  // `co_await Next()` gives the next event. Something must be pending or a timer must be set, else it waits
  // for ever.
  auto Next() { return NextAwaiter{*this}; }

 private:
  struct State {
    Mutex mutex;
    bool abandoned XEC_GUARDED_BY(mutex) = false;
    std::deque<Event> events XEC_GUARDED_BY(mutex);
    std::coroutine_handle<> waiting XEC_GUARDED_BY(mutex);
  };
  struct NextAwaiter {
    Gather& gather;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> handle) noexcept {
      MutexLock lock(gather.state_->mutex);
      if (!gather.state_->events.empty()) return false;
      gather.state_->waiting = handle;
      return true;
    }
    Event await_resume() { return gather.Take(); }
  };

  static Task<void> Run(size_t tag, Work task, std::shared_ptr<State> state) {
    if constexpr (std::is_same_v<T, NoAnswer>) {
      co_await task;
      Deliver(*state, Event{tag, NoAnswer{}});
    } else {
      // Named first: g++ 12 destroys a value awaited inside a braced list twice.
      T value = co_await task;
      Deliver(*state, Event{tag, std::move(value)});
    }
  }

  static void Deliver(State& state, Event event) {
    std::coroutine_handle<> resume;
    {
      MutexLock lock(state.mutex);
      if (state.abandoned) return;
      state.events.push_back(std::move(event));
      resume = std::exchange(state.waiting, nullptr);
    }
    if (resume) resume.resume();
  }

  Event Take() {
    MutexLock lock(state_->mutex);
    Event event = std::move(state_->events.front());
    state_->events.pop_front();
    if (event.value) --pending_;
    return event;
  }

  TaskScope& scope_;
  Executor& executor_;
  std::shared_ptr<State> state_;
  std::vector<TimerId> timers_;
  size_t pending_ = 0;
};

}  // namespace xec
