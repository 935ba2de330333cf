// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/task_lock.hh"

#include <vector>

namespace xec {

Task<TaskLock::Held> TaskLock::Wait(bool shares) {
  OneShot<bool> turn;
  {
    MutexLock lock(mutex_);
    const bool free = holders_ == 0 || (shares && shared_);
    if (free && waiting_.empty()) {
      ++holders_;
      shared_ = shares;
      lock.Unlock();
      co_return Held(*this);
    }
    waiting_.push_back({shares, turn.Setter()});
  }
  co_await turn;
  co_return Held(*this);
}

// The next ones hold it before they run, so that nobody overtakes them.
void TaskLock::LetGo() {
  std::vector<UniqueFunction<void(bool)>> next;
  {
    MutexLock lock(mutex_);
    --holders_;
    while (!waiting_.empty() && (holders_ == 0 || (shared_ && waiting_.front().shares))) {
      shared_ = waiting_.front().shares;
      ++holders_;
      next.push_back(std::move(waiting_.front().go));
      waiting_.pop_front();
    }
  }
  for (UniqueFunction<void(bool)>& go : next) go(true);
}

}  // namespace xec
