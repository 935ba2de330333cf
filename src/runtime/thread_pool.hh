// SPDX-License-Identifier: LGPL-3.0-or-later
// The real Executor: a fixed number of worker threads and one timer thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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

  std::mutex work_mutex_;
  std::condition_variable work_ready_;
  std::deque<Closure> work_;  // guarded by work_mutex_
  size_t awake_;  // workers that run or were told to; guarded by work_mutex_
  size_t woken_ = 0;  // those of these that are not up yet; guarded by work_mutex_
  TimePoint taken_;  // when work was taken last, or the first was woken; guarded by work_mutex_
  bool look_is_set_ = false;  // the timer thread will Look; guarded by work_mutex_
  bool stopping_ = false;  // guarded by work_mutex_

  std::mutex timer_mutex_;
  std::condition_variable timer_changed_;
  std::map<std::pair<TimePoint, TimerId>, Closure> timers_;  // guarded by timer_mutex_, as all below
  std::map<TimerId, TimePoint> timer_times_;
  TimePoint timer_wake_ = TimePoint::max();  // when the timer thread wakes up by itself, while it sleeps
  static constexpr TimerId kLook = 0;  // a timer of our own
  TimerId next_timer_ = kLook + 1;
  bool timers_stopping_ = false;

  std::vector<std::jthread> threads_;
};

}  // namespace xec
