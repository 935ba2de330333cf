// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "base/result.hh"
#include "runtime/task.hh"

namespace xec {

// Whether the task has a value, for those who do not need the value.
template <typename T>
Task<Status> StatusOf(Task<Result<T>> task) {
  const Result<T> result = co_await std::move(task);
  co_return Status(result);
}

}  // namespace xec
