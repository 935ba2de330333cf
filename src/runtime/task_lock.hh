// SPDX-License-Identifier: LGPL-3.0-or-later
// TaskLock: a lock of coroutines, which may be held across a co_await. Those that wait get it in the order in
// which they came; several may share it.
#pragma once

#include <deque>
#include <utility>

#include "base/mutex.hh"
#include "runtime/task.hh"

namespace xec {

// Thread-safe. Nobody holds it or waits when it goes.
class TaskLock {
 public:
  // Lets go of the lock when it goes, and runs whoever is next on this thread.
  class Held {
   public:
    explicit Held(TaskLock& lock) : lock_(&lock) {}
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() { LetGo(); }
    void LetGo() {
      if (lock_) std::exchange(lock_, nullptr)->LetGo();
    }

   private:
    TaskLock* lock_;
  };

  TaskLock() = default;
  TaskLock(const TaskLock&) = delete;
  TaskLock& operator=(const TaskLock&) = delete;

  // Alone.
  Task<Held> Take() { return Wait(false); }
  // Beside others that share it.
  Task<Held> Share() { return Wait(true); }

 private:
  struct Waiter {
    bool shares = false;
    UniqueFunction<void(bool)> go;
  };
  Task<Held> Wait(bool shares);
  void LetGo();

  Mutex mutex_;
  size_t holders_ XEC_GUARDED_BY(mutex_) = 0;
  bool shared_ XEC_GUARDED_BY(mutex_) = false;  // by its holders
  std::deque<Waiter> waiting_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
