// SPDX-License-Identifier: LGPL-3.0-or-later
// The locks of XEC: those of the standard library, with annotations by which clang sees what a lock guards,
// and with a place in the order of lock_order.hh. A scope holds one with MutexLock:
//
//   const MutexLock lock(mutex_);
//   while (!ready_) changed_.Wait(mutex_);
//
// In a coroutine the scope ends before any co_await: the coroutine may go on on another thread. The names of
// the annotations are those of clang's thread safety analysis; `./dev check` (tools/check_locks.py) runs it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/lock_order.hh"

#ifdef __clang__
#define XEC_LOCK_ANNOTATION(annotation) __attribute__((annotation))
#else
#define XEC_LOCK_ANNOTATION(annotation)
#endif
// Of a member, after its name: it is used only while the lock is held.
#define XEC_GUARDED_BY(lock) XEC_LOCK_ANNOTATION(guarded_by(lock))
// Of a function, after its parameters: its caller holds the lock; does not hold it.
#define XEC_REQUIRES(lock) XEC_LOCK_ANNOTATION(requires_capability(lock))
#define XEC_EXCLUDES(lock) XEC_LOCK_ANNOTATION(locks_excluded(lock))

namespace xec {

// Not recursive. `where` is for the sentence about a breach of the order.
class XEC_LOCK_ANNOTATION(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  constexpr explicit Mutex(LockRank rank) : rank_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock(std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_capability()) {
    if (LockTaken != nullptr) LockTaken(this, rank_, where);
    mutex_.lock();
  }
  void Unlock() XEC_LOCK_ANNOTATION(release_capability()) {
    mutex_.unlock();
    if (LockLetGo != nullptr) LockLetGo(this);
  }

 private:
  friend class CondVar;
  std::mutex mutex_;
  const LockRank rank_ = LockRank::kLeaf;
};

// Many threads may hold it at once (ReaderLock), or one alone (WriterLock).
class XEC_LOCK_ANNOTATION(capability("mutex")) SharedMutex {
 public:
  SharedMutex() = default;
  explicit SharedMutex(LockRank rank) : rank_(rank) {}
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock(std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_capability()) {
    if (LockTaken != nullptr) LockTaken(this, rank_, where);
    mutex_.lock();
  }
  void Unlock() XEC_LOCK_ANNOTATION(release_capability()) {
    mutex_.unlock();
    if (LockLetGo != nullptr) LockLetGo(this);
  }
  void LockShared(std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_shared_capability()) {
    if (LockTaken != nullptr) LockTaken(this, rank_, where);
    mutex_.lock_shared();
  }
  void UnlockShared() XEC_LOCK_ANNOTATION(release_shared_capability()) {
    mutex_.unlock_shared();
    if (LockLetGo != nullptr) LockLetGo(this);
  }

 private:
  std::shared_mutex mutex_;
  const LockRank rank_ = LockRank::kLeaf;
};

// Holds a Mutex to the end of its scope, but for the time from an Unlock to the Lock after it. One thread's.
class [[nodiscard]] XEC_LOCK_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex, std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock(where);
  }
  ~MutexLock() XEC_LOCK_ANNOTATION(release_capability()) {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Lock(std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_capability()) {
    mutex_.Lock(where);
    held_ = true;
  }
  void Unlock() XEC_LOCK_ANNOTATION(release_capability()) {
    held_ = false;
    mutex_.Unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

class [[nodiscard]] XEC_LOCK_ANNOTATION(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex, std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.LockShared(where);
  }
  ~ReaderLock() XEC_LOCK_ANNOTATION(release_capability()) { mutex_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class [[nodiscard]] XEC_LOCK_ANNOTATION(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex, std::source_location where = std::source_location::current())
      XEC_LOCK_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock(where);
  }
  ~WriterLock() XEC_LOCK_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Waits let go of the mutex and hold it again when they end, which they may do for no reason: look at what is
// waited for in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) XEC_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    changed_.wait(held);
    held.release();
  }
  // False: the time has come.
  template <typename Clock, typename Duration>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> time) XEC_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    const std::cv_status ended = changed_.wait_until(held, time);
    held.release();
    return ended == std::cv_status::no_timeout;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace xec
