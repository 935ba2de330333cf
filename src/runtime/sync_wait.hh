// SPDX-License-Identifier: LGPL-3.0-or-later
// The blocking edge of the engine; included by task.hh.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <type_traits>

#include "runtime/task.hh"

namespace xec {

// Marks the calling thread as an engine thread, on which blocking is a bug (CHECKed by SyncWait).
void MarkEngineThread();
void CheckMayBlock();

namespace internal {

template <typename T>
struct SyncState {
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value;

  void Finish() {
    std::lock_guard lock(mutex);
    done = true;
    ready.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    ready.wait(lock, [this] { return done; });
  }
};

template <typename T>
Task<void> RunSync(Task<T> task, std::shared_ptr<SyncState<T>> state) {
  if constexpr (std::is_void_v<T>) {
    co_await task;
  } else {
    T value = co_await task;
    state->value.emplace(std::move(value));
  }
  state->Finish();
}

}  // namespace internal

template <typename T>
T SyncWait(Task<T> task) {
  CheckMayBlock();
  auto state = std::make_shared<internal::SyncState<T>>();
  TaskScope scope;
  scope.Spawn(internal::RunSync<T>(std::move(task), state));
  state->Wait();
  scope.Drain();
  if constexpr (!std::is_void_v<T>) return std::move(*state->value);
}

}  // namespace xec
