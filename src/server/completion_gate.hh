// SPDX-License-Identifier: LGPL-3.0-or-later
// CompletionGate: lets go of requests that a server answers after its process has closed down. A local server
// cannot be told to stop: a system call ends when it ends, and its answer must not meet an engine or executor
// that is gone.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "server/decorator.hh"

namespace xec {

// Thread-safe.
class CompletionGate {
 public:
  // After it returns no completion runs, nor ever will. Waits for those that run now; not from one of them.
  void Close();

  // What is done between Enter, if it says true, and Leave is waited for by Close.
  bool Enter();
  void Leave();

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

class GateCore {
 public:
  explicit GateCore(std::shared_ptr<CompletionGate> gate) : gate_(std::move(gate)) {}

  template <typename T>
  void Around(const Request&, Start<T> start, Done<T> done) {
    start([gate = gate_, done = std::move(done)](Result<T> result) mutable {
      if (!gate->Enter()) return;
      done(std::move(result));
      gate->Leave();
    });
  }

 private:
  const std::shared_ptr<CompletionGate> gate_;
};

// Sends the answers of `inner` through the gate.
class GatedServer final : public DecoratedServer<GateCore> {
 public:
  GatedServer(DataServerPtr inner, std::shared_ptr<CompletionGate> gate);
  ~GatedServer() override;
};

}  // namespace xec
