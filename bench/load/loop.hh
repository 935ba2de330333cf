// SPDX-License-Identifier: LGPL-3.0-or-later
// The one thread on which all clients run, as coroutines. XrdCl's answers are moved to it, so what clients
// share needs no lock, and nothing of ours runs, blocks or is destroyed inside a callback of XrdCl.
#pragma once

#include <coroutine>
#include <functional>
#include <optional>

#include "runtime/task.hh"
#include "runtime/thread_pool.hh"
#include "server_xrootd/response.hh"

namespace xec::load {

class Loop {
 public:
  Loop() : pool_("xec-load", 1), gate_(ExecutorGate::Make(&pool_)) {}
  ~Loop() { gate_->Close(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  TimePoint Now() const { return pool_.Now(); }
  const ExecutorGatePtr& gate() const { return gate_; }

  // co_await loop.Enter(): goes on on the loop's thread.
  auto Enter() { return Timer{&pool_, {}}; }
  // co_await loop.SleepUntil(when): goes on then, at once when that is past. Only on the loop's thread.
  auto SleepUntil(TimePoint when) { return Timer{&pool_, when}; }

  // Runs make(0), ..., make(count - 1) on the loop, all at a time, and blocks the calling thread until they
  // have ended.
  void RunAll(int count, const std::function<Task<void>(int)>& make);

 private:
  struct Timer {
    Executor* executor;
    std::optional<TimePoint> when;
    bool await_ready() const { return when && *when <= executor->Now(); }
    void await_suspend(std::coroutine_handle<> handle) const {
      auto resume = [handle] { handle.resume(); };
      // This awaiter may be gone as soon as the executor has the closure.
      if (when) {
        executor->RunAt(*when, resume);
      } else {
        executor->Post(resume);
      }
    }
    void await_resume() const {}
  };

  ThreadPool pool_;
  ExecutorGatePtr gate_;
};

// One request to a server: started, then awaited once. Many may be in flight; each must have been awaited
// before it goes, since XrdCl has no way to cancel one and uses its buffer until the answer. Only on the
// loop's thread.
class Request {
 public:
  using Submit = UniqueFunction<XrdCl::XRootDStatus(XrdCl::ResponseHandler*)>;

  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { XEC_CHECK(state_ == State::kIdle, "a request is destroyed in flight"); }

  void Start(const Loop& loop, Submit submit);
  bool started() const { return state_ != State::kIdle; }

  bool await_ready() const { return state_ == State::kAnswered; }
  void await_suspend(std::coroutine_handle<> handle) { waiting_ = handle; }
  Reply await_resume();

 private:
  enum class State { kIdle, kInFlight, kAnswered };
  State state_ = State::kIdle;
  Reply reply_;
  std::coroutine_handle<> waiting_;
};

// Starts one request and waits for its answer.
Task<Reply> Ask(Loop& loop, Request::Submit submit);

}  // namespace xec::load
