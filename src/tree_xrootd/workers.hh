// SPDX-License-Identifier: LGPL-3.0-or-later
// Workers: threads that carry out blocking requests in the order in which they come. How many there are can
// be changed at any time.
#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.hh"
#include "runtime/unique_function.hh"

namespace xec {

// Thread-safe.
class Workers {
 public:
  static constexpr size_t kCount = 16;
  static constexpr size_t kCountMax = 256;
  static constexpr size_t kWaitingMax = 10'000;

  // Start it only after a daemon has forked.
  explicit Workers(size_t count) { SetCount(count); }
  // Ends when what is under way has ended; what waits is dropped.
  ~Workers() { SetCount(0); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // At most kCountMax. With 0, work waits until there are some again. Returns when those that are too many
  // have been told, not when they have ended their work.
  void SetCount(size_t count);
  size_t count() const;

  // False: so much waits that this work would not be begun in time; it is dropped.
  bool Post(Closure work);

 private:
  void Work();
  std::vector<std::jthread> TakeEnded() XEC_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Closure> work_ XEC_GUARDED_BY(mutex_);
  size_t wanted_ XEC_GUARDED_BY(mutex_) = 0;
  size_t running_ XEC_GUARDED_BY(mutex_) = 0;  // threads that have not chosen to end
  std::vector<std::thread::id> ended_ XEC_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ XEC_GUARDED_BY(mutex_);  // those of ended_ included
};

}  // namespace xec
