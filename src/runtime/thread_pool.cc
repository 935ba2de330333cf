// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/thread_pool.hh"

#include <pthread.h>

#include "runtime/engine_thread.hh"

namespace xec {

ThreadPool::ThreadPool(std::string name, int threads)
    : name_(std::move(name)), workers_(static_cast<size_t>(threads)), awake_(workers_) {
  XEC_CHECK(threads > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  threads_.emplace_back([this] { RunTimers(); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(timer_mutex_);
    timers_stopping_ = true;
    timer_changed_.NotifyAll();
  }
  {
    MutexLock lock(work_mutex_);
    stopping_ = true;
    work_ready_.NotifyAll();
  }
  threads_.clear();
}

void ThreadPool::Post(Closure work) {
  bool wake = false;
  bool look = false;
  {
    MutexLock lock(work_mutex_);
    work_.push_back(std::move(work));
    wake = awake_ == 0;
    if (wake) {
      taken_ = Now();
    } else if (awake_ < workers_) {
      wake = work_.size() > kQueuedForEach * awake_ || Now() - taken_ > kLongStep;
      look = !wake && !std::exchange(look_is_set_, true);
    }
    if (wake) {
      ++awake_;
      ++woken_;
    }
  }
  // A thread woken under the lock would go to sleep again at once.
  if (wake) work_ready_.NotifyOne();
  if (look) SetLook();
}

void ThreadPool::SetLook() {
  MutexLock lock(timer_mutex_);
  const TimePoint when = Now() + kLookAfter;
  timers_.emplace(std::pair(when, kLook), Closure());
  if (when < timer_wake_) timer_changed_.NotifyOne();
}

// On the timer thread. Goes on until nothing is left to those that are awake.
void ThreadPool::Look() {
  bool wake = false;
  bool again = false;
  {
    MutexLock lock(work_mutex_);
    again = !work_.empty() && awake_ < workers_;
    wake = again && Now() - taken_ > kLongStep;
    if (wake) {
      ++awake_;
      ++woken_;
    }
    look_is_set_ = again;
  }
  if (wake) work_ready_.NotifyOne();
  if (again) SetLook();
}

void ThreadPool::Work() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  MarkEngineThread();
  MutexLock lock(work_mutex_);
  while (true) {
    while (work_.empty()) {
      if (stopping_) return;
      --awake_;
      while (!stopping_ && woken_ == 0) work_ready_.Wait(work_mutex_);
      if (woken_ > 0) {
        --woken_;
      } else {
        ++awake_;
      }
    }
    Closure work = std::move(work_.front());
    work_.pop_front();
    taken_ = Now();
    lock.Unlock();
    work();
    work = {};
    lock.Lock();
  }
}

TimerId ThreadPool::RunAt(TimePoint when, Closure work) {
  MutexLock lock(timer_mutex_);
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(work));
  timer_times_.emplace(id, when);
  // Almost every timer is cancelled long before its time: waking the thread for each costs more than the
  // thread looking in vain now and then.
  if (when < timer_wake_) timer_changed_.NotifyOne();
  return id;
}

bool ThreadPool::Cancel(TimerId timer) {
  Closure
      dropped;  // declared before the lock: destroyed after it is released, as its captures may run anything
  MutexLock lock(timer_mutex_);
  const auto time = timer_times_.find(timer);
  if (time == timer_times_.end()) return false;
  const auto at = timers_.find({time->second, timer});
  dropped = std::move(at->second);
  timers_.erase(at);
  timer_times_.erase(time);
  return true;
}

void ThreadPool::RunTimers() {
  pthread_setname_np(pthread_self(), "xec-timer");
  MutexLock lock(timer_mutex_);
  while (!timers_stopping_) {
    if (timers_.empty()) {
      timer_wake_ = TimePoint::max();
      timer_changed_.Wait(timer_mutex_);
      continue;
    }
    const TimePoint next = timers_.begin()->first.first;
    if (Now() < next) {
      timer_wake_ = next;
      timer_changed_.WaitUntil(timer_mutex_, next);
      continue;
    }
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    lock.Unlock();
    if (node.key().second == kLook) {
      Look();
    } else {
      Post(std::move(node.mapped()));
    }
    lock.Lock();
  }
}

TimePoint ThreadPool::Now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

WallMillis ThreadPool::WallNow() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace xec
