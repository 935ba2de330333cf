// SPDX-License-Identifier: LGPL-3.0-or-later
// A task whose answer is waited for only so long.
#pragma once

#include <stop_token>

#include "base/result.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

namespace internal {

template <typename T, typename Setter>
Task<void> SetTo(Task<T> task, Setter set) {
  T value = co_await task;
  set(std::move(value));
}

}  // namespace internal

// An answer without a question. T: a Result or a Status.
template <typename T>
Task<T> Refuse(Error error) {
  co_return std::move(error);
}

// Answers what the task answers; or kDeadlineExceeded once `deadline` is past, or kCancelled once `stop` is
// requested. The task goes on to its end then, in `scope`, and its answer is destroyed; so it owns, or
// shares, all that it works with. `scope` and `executor` outlive it. T: a Result or a Status.
template <typename T>
Task<T> Within(TaskScope& scope, Executor& executor, TimePoint deadline, std::stop_token stop, Task<T> task) {
  OneShot<T> first;
  TimerId timer = 0;
  if (deadline != TimePoint::max()) {
    timer = executor.RunAt(deadline, [set = first.Setter()] {
      set(Fail(Code::kDeadlineExceeded, "the call took longer than its caller waits; it may have been done"));
    });
  }
  // The thread that requests the stop does not run what follows.
  const std::stop_callback on_stop(std::move(stop), [&executor, set = first.Setter()] {
    executor.Post([set] { set(Fail(Code::kCancelled, "the call was cancelled; it may have been done")); });
  });
  scope.Spawn(internal::SetTo<T>(std::move(task), first.Setter()));
  T answer = co_await first;
  if (timer != 0) executor.Cancel(timer);
  co_return std::move(answer);
}

}  // namespace xec
