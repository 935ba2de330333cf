// SPDX-License-Identifier: LGPL-3.0-or-later
// The blocking edge of the engine.
#pragma once

#include <optional>
#include <type_traits>

#include "runtime/engine_thread.hh"
#include "runtime/task.hh"

namespace xec {

namespace internal {

inline void BlockOn(Task<void> task) {
  CheckMayBlock();
  TaskScope scope;
  scope.Spawn(std::move(task));
  scope.Drain();
}

template <typename T>
Task<void> RunSync(Task<T> task, std::optional<T>* result) {
  T value = co_await task;
  result->emplace(std::move(value));
}

}  // namespace internal

// Runs the task and blocks this thread until it ends. Only at the synchronous edges (OSS, CLI, tests): CHECKs
// that this is no engine thread.
template <typename T>
T SyncWait(Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    internal::BlockOn(std::move(task));
  } else {
    std::optional<T> result;
    internal::BlockOn(internal::RunSync<T>(std::move(task), &result));
    return std::move(*result);
  }
}

}  // namespace xec
