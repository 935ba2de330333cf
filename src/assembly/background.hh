// SPDX-License-Identifier: LGPL-3.0-or-later
// Pauses for loops in the background that end at once when their owner wants to go. Thread-safe.
#pragma once

#include <map>

#include "base/mutex.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

class Background {
 public:
  // `executor` outlives this object; every Pause ends before this object goes (Stop, then drain the scope).
  explicit Background(Executor& executor) : executor_(executor) {}

  // Waits for `time`; false when Stop was called before or meanwhile.
  Task<bool> Pause(Duration time);

  // Ends all pauses, now and for ever.
  void Stop();
  bool stopped() const;

 private:
  Executor& executor_;
  mutable Mutex mutex_;
  bool stopped_ XEC_GUARDED_BY(mutex_) = false;
  uint64_t next_ XEC_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, UniqueFunction<void(bool)>> pausing_ XEC_GUARDED_BY(mutex_);  // ends the pause
};

}  // namespace xec
