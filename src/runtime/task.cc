// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/task.hh"

#include "base/mutex.hh"
#include "runtime/engine_thread.hh"

namespace xec {
namespace {

// Told once by one thread, waited for by another; shared, because the one that is waited for leaves last.
class Signal {
 public:
  void Give() {
    {
      MutexLock lock(mutex_);
      given_ = true;
    }
    ready_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!given_) ready_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar ready_;
  bool given_ XEC_GUARDED_BY(mutex_) = false;
};

}  // namespace

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
    MutexLock lock(mutex_);
    if (abandoning_) return;
  }
  Root root = Root::Make(std::move(task));
  root.handle.promise().scope = this;
  {
    MutexLock lock(mutex_);
    root.handle.promise().id = next_id_;
    roots_.emplace(next_id_++, root.handle.address());
  }
  root.handle.resume();
}

void TaskScope::Ended(uint64_t id) {
  UniqueFunction<void()> on_empty;
  {
    MutexLock lock(mutex_);
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
    MutexLock lock(mutex_);
    if (roots_.empty()) return;
    on_empty_ = [empty] { empty->Give(); };
  }
  empty->Wait();
}

void TaskScope::Abandon() {
  std::map<uint64_t, void*> roots;
  {
    MutexLock lock(mutex_);
    roots.swap(roots_);
    abandoning_ = true;
  }
  for (const auto& [id, address] : roots) std::coroutine_handle<>::from_address(address).destroy();
  MutexLock lock(mutex_);
  abandoning_ = false;
}

size_t TaskScope::running() const {
  MutexLock lock(mutex_);
  return roots_.size();
}

}  // namespace xec
