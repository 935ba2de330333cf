// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/background.hh"

namespace xec {

Task<bool> Background::Pause(Duration time) {
  OneShot<bool> over;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) co_return false;
    id = next_++;
    pausing_.emplace(id, over.Setter());
  }
  const TimerId timer = executor_.RunAt(executor_.Now() + time, [set = over.Setter()] { set(true); });
  const bool in_time = co_await over;
  executor_.Cancel(timer);
  MutexLock lock(mutex_);
  pausing_.erase(id);
  co_return in_time && !stopped_;
}

void Background::Stop() {
  std::map<uint64_t, UniqueFunction<void(bool)>> pausing;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    pausing.swap(pausing_);
  }
  for (auto& [id, end] : pausing) end(false);
}

bool Background::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace xec
