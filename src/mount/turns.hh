// SPDX-License-Identifier: LGPL-3.0-or-later
// Turns: many may use something at once, or one alone. It is no lock of base/mutex.hh because it is held over
// requests to servers; only requests for the same file or directory handle wait for it.
#pragma once

#include <mutex>

#include "base/check.hh"
#include "base/mutex.hh"

namespace xec {

// Thread-safe. Not recursive: a thread has one turn at a time. One that wants to be alone goes before those
// that come after it.
class Turns {
 public:
  Turns() = default;
  ~Turns() {
    const MutexLock lock(mutex_);
    XEC_CHECK(!alone_ && shared_ == 0, "what is used by turns goes while somebody has one");
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void BeginShared() {
    MutexLock lock(mutex_);
    while (alone_ || waiting_ > 0) changed_.Wait(mutex_);
    ++shared_;
  }
  void EndShared() {
    const MutexLock lock(mutex_);
    if (--shared_ == 0) changed_.NotifyAll();
  }
  void BeginAlone() {
    MutexLock lock(mutex_);
    ++waiting_;
    while (alone_ || shared_ > 0) changed_.Wait(mutex_);
    --waiting_;
    alone_ = true;
  }
  // Does not wait. False: others have a turn or wait for one.
  bool TryBeginAlone() {
    const MutexLock lock(mutex_);
    if (alone_ || shared_ > 0 || waiting_ > 0) return false;
    alone_ = true;
    return true;
  }
  void EndAlone() {
    const MutexLock lock(mutex_);
    alone_ = false;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t shared_ XEC_GUARDED_BY(mutex_) = 0;
  size_t waiting_ XEC_GUARDED_BY(mutex_) = 0;
  bool alone_ XEC_GUARDED_BY(mutex_) = false;
};

class [[nodiscard]] SharedTurn {
 public:
  explicit SharedTurn(Turns& turns) : turns_(turns) { turns_.BeginShared(); }
  ~SharedTurn() { turns_.EndShared(); }
  SharedTurn(const SharedTurn&) = delete;
  SharedTurn& operator=(const SharedTurn&) = delete;

 private:
  Turns& turns_;
};

class [[nodiscard]] AloneTurn {
 public:
  explicit AloneTurn(Turns& turns) : turns_(turns) { turns_.BeginAlone(); }
  // It has begun.
  AloneTurn(Turns& turns, std::adopt_lock_t) : turns_(turns) {}
  ~AloneTurn() { turns_.EndAlone(); }
  AloneTurn(const AloneTurn&) = delete;
  AloneTurn& operator=(const AloneTurn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace xec
