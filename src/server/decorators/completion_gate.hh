// SPDX-License-Identifier: LGPL-3.0-or-later
// CompletionGate: lets go of requests that a server answers after its process has closed down. A local server
// cannot be told to stop: a system call ends when it ends, and its answer must not meet an engine or executor
// that is gone.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.hh"
#include "server/decorators/decorator.hh"

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
  Mutex mutex_;
  CondVar left_;
  int inside_ XEC_GUARDED_BY(mutex_) = 0;
  bool closed_ XEC_GUARDED_BY(mutex_) = false;
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
