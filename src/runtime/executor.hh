// SPDX-License-Identifier: LGPL-3.0-or-later
// Executor: the engine's only source of threads, timers and time. ThreadPool (thread_pool.hh) is the real
// one; the simulator has a single-threaded one with a virtual clock.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/unique_function.hh"

namespace xec {

using Duration = std::chrono::nanoseconds;
// Monotonic time since an arbitrary start; only differences mean anything. Deadlines are TimePoints.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Milliseconds since 1970; may jump. Only the hybrid logical clock and mtimes use it.
using WallMillis = int64_t;

using TimerId = uint64_t;

class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `work` soon on some thread of this executor, never inline. Thread-safe.
  virtual void Post(Closure work) = 0;

  // Runs `work` at or after `when`, never inline. Thread-safe. The id is never 0.
  virtual TimerId RunAt(TimePoint when, Closure work) = 0;

  // True if the timer had not started and now never runs; its closure is destroyed. Thread-safe.
  virtual bool Cancel(TimerId timer) = 0;

  virtual TimePoint Now() const = 0;
  virtual WallMillis WallNow() const = 0;
};

}  // namespace xec
