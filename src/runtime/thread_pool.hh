// SPDX-License-Identifier: LGPL-3.0-or-later
// The real Executor: a fixed number of worker threads and one timer thread.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hh"
#include "runtime/executor.hh"

namespace xec {

// So much work waits for each thread that is awake before another one is woken: to wake one costs more than
// most of what is posted, and several that are up for little stand in each other's way.
constexpr size_t kQueuedForEach = 4;
// When no work was taken for so long, those that are awake are in the middle of something that takes its
// time: whatever is posted then wakes another one.
constexpr Duration kLongStep = std::chrono::microseconds(200);
// So long after work was left to threads that are awake it is looked whether they have come to it: what is
// posted just after something long was begun may be the last for a while.
constexpr Duration kLookAfter = std::chrono::milliseconds(5);

class ThreadPool final : public Executor {
 public:
  // Starts `threads` workers named `name` (at most 15 bytes). Start it only after a daemon has forked.
  ThreadPool(std::string name, int threads);
  // Runs what is already posted, drops timers, joins. Nobody may post any more by then.
  ~ThreadPool() override;

  void Post(Closure work) override;
  TimerId RunAt(TimePoint when, Closure work) override;
  bool Cancel(TimerId timer) override;
  TimePoint Now() const override;
  WallMillis WallNow() const override;

 private:
  void Work();
  void SetLook();
  void Look();
  void RunTimers();

  const std::string name_;
  const size_t workers_;

  Mutex work_mutex_;
  CondVar work_ready_;
  std::deque<Closure> work_ XEC_GUARDED_BY(work_mutex_);
  size_t awake_ XEC_GUARDED_BY(work_mutex_);  // workers that run or were told to
  size_t woken_ XEC_GUARDED_BY(work_mutex_) = 0;  // those of these that are not up yet
  TimePoint taken_ XEC_GUARDED_BY(work_mutex_);  // when work was taken last, or the first was woken
  bool look_is_set_ XEC_GUARDED_BY(work_mutex_) = false;  // the timer thread will Look
  bool stopping_ XEC_GUARDED_BY(work_mutex_) = false;

  Mutex timer_mutex_;
  CondVar timer_changed_;
  std::map<std::pair<TimePoint, TimerId>, Closure> timers_ XEC_GUARDED_BY(timer_mutex_);
  std::map<TimerId, TimePoint> timer_times_ XEC_GUARDED_BY(timer_mutex_);
  // When the timer thread wakes up by itself, while it sleeps.
  TimePoint timer_wake_ XEC_GUARDED_BY(timer_mutex_) = TimePoint::max();
  static constexpr TimerId kLook = 0;  // a timer of our own
  TimerId next_timer_ XEC_GUARDED_BY(timer_mutex_) = kLook + 1;
  bool timers_stopping_ XEC_GUARDED_BY(timer_mutex_) = false;

  std::vector<std::jthread> threads_;
};

}  // namespace xec
