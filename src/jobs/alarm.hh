// SPDX-License-Identifier: LGPL-3.0-or-later
// Alarm: one coroutine waits, until a time or until somebody rings. Thread-safe.
#pragma once

#include "base/mutex.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

class Alarm {
 public:
  // `executor` outlives this object, and this object outlives the waiter.
  explicit Alarm(Executor& executor) : executor_(executor) {}

  // Ends at `until`, or at the first Ring since the last Wait ended. One coroutine at a time.
  Task<void> Wait(TimePoint until);
  // The coroutine goes on on this thread.
  void Ring();

 private:
  Executor& executor_;
  Mutex mutex_;
  bool rung_ XEC_GUARDED_BY(mutex_) = false;
  UniqueFunction<void(bool)> wake_ XEC_GUARDED_BY(mutex_) = {};  // of the waiter
};

}  // namespace xec
