// SPDX-License-Identifier: LGPL-3.0-or-later
// The blocking edge of the engine; included by task.hh.
#pragma once

#include <optional>
#include <type_traits>

#include "runtime/task.hh"

namespace xec {

// Marks the calling thread as an engine thread, on which blocking is a bug (CHECKed by SyncWait).
void MarkEngineThread();

namespace internal {

void BlockOn(Task<void> task);

template <typename T>
Task<void> RunSync(Task<T> task, std::optional<T>* result) {
  T value = co_await task;
  result->emplace(std::move(value));
}

}  // namespace internal

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
