// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/workers.hh"

#include <algorithm>
#include <utility>

#include "base/contains.hh"

namespace xec {

void Workers::SetCount(size_t count) {
  std::vector<std::jthread> over;  // joined when the lock is free
  const MutexLock lock(mutex_);
  wanted_ = std::min(count, kCountMax);
  over = TakeEnded();
  for (; running_ < wanted_; ++running_) threads_.emplace_back([this] { Work(); });
  changed_.NotifyAll();
}

size_t Workers::count() const {
  const MutexLock lock(mutex_);
  return wanted_;
}

bool Workers::Post(Closure work) {
  const MutexLock lock(mutex_);
  if (work_.size() >= kWaitingMax) return false;
  work_.push_back(std::move(work));
  changed_.NotifyOne();
  return true;
}

std::vector<std::jthread> Workers::TakeEnded() {
  std::vector<std::jthread> over, rest;
  for (std::jthread& thread : threads_)
    (Contains(ended_, thread.get_id()) ? over : rest).push_back(std::move(thread));
  threads_ = std::move(rest);
  ended_.clear();
  return over;
}

void Workers::Work() {
  while (true) {
    Closure work;
    {
      MutexLock lock(mutex_);
      while (running_ <= wanted_ && work_.empty()) changed_.Wait(mutex_);
      if (running_ > wanted_) {
        --running_;
        ended_.push_back(std::this_thread::get_id());
        return;
      }
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace xec
