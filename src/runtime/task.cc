// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/task.hh"

#include <condition_variable>

namespace xec {
namespace {

thread_local bool engine_thread = false;

// Told once by one thread, waited for by another; shared, because the one that is waited for leaves last.
class Signal {
 public:
  void Give() {
    {
      std::lock_guard lock(mutex_);
      given_ = true;
    }
    ready_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  bool given_ = false;  // guarded by mutex_
};

void CheckMayBlock() { XEC_CHECK(!engine_thread, "an engine thread must not block"); }

}  // namespace

void MarkEngineThread() { engine_thread = true; }

void internal::BlockOn(Task<void> task) {
  CheckMayBlock();
  TaskScope scope;
  scope.Spawn(std::move(task));
  scope.Drain();
}

// The outermost frame of a spawned task: tells the scope when it ends, then destroys itself.
struct TaskScope::Root {
  struct promise_type {
    TaskScope* scope = nullptr;
    uint64_t id = 0;
    Root get_return_object() { return Root{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct FinalAwaiter {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        TaskScope* owner = self.promise().scope;
        const uint64_t ended = self.promise().id;
        self.destroy();
        owner->Ended(ended);
      }
      void await_resume() noexcept {}
    };
    FinalAwaiter final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;

  static Root Make(Task<void> task) { co_await task; }
};

TaskScope::~TaskScope() { XEC_CHECK(running() == 0, "{} tasks outlive their scope", running()); }

void TaskScope::Spawn(Task<void> task) {
  {
    std::lock_guard lock(mutex_);
    if (abandoning_) return;
  }
  Root root = Root::Make(std::move(task));
  root.handle.promise().scope = this;
  {
    std::lock_guard lock(mutex_);
    root.handle.promise().id = next_id_;
    roots_.emplace(next_id_++, root.handle.address());
  }
  root.handle.resume();
}

void TaskScope::Ended(uint64_t id) {
  UniqueFunction<void()> on_empty;
  {
    std::lock_guard lock(mutex_);
    roots_.erase(id);
    if (roots_.empty()) on_empty = std::exchange(on_empty_, {});
  }
  // Drain's owner may destroy the scope as soon as this has begun.
  if (on_empty) on_empty();
}

void TaskScope::Drain() {
  CheckMayBlock();
  auto empty = std::make_shared<Signal>();
  {
    std::lock_guard lock(mutex_);
    if (roots_.empty()) return;
    on_empty_ = [empty] { empty->Give(); };
  }
  empty->Wait();
}

void TaskScope::Abandon() {
  std::map<uint64_t, void*> roots;
  {
    std::lock_guard lock(mutex_);
    roots.swap(roots_);
    abandoning_ = true;
  }
  for (const auto& [id, address] : roots) std::coroutine_handle<>::from_address(address).destroy();
  std::lock_guard lock(mutex_);
  abandoning_ = false;
}

size_t TaskScope::running() const {
  std::lock_guard lock(mutex_);
  return roots_.size();
}

}  // namespace xec
