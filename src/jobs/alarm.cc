// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/alarm.hh"

namespace xec {

Task<void> Alarm::Wait(TimePoint until) {
  OneShot<bool> over;
  {
    MutexLock lock(mutex_);
    if (std::exchange(rung_, false)) co_return;
    wake_ = over.Setter();
  }
  TimerId timer = 0;
  if (until != TimePoint::max()) timer = executor_.RunAt(until, [set = over.Setter()] { set(true); });
  (void)co_await over;
  if (timer != 0) executor_.Cancel(timer);
  MutexLock lock(mutex_);
  wake_ = {};
  rung_ = false;
}

void Alarm::Ring() {
  UniqueFunction<void(bool)> wake;
  {
    MutexLock lock(mutex_);
    rung_ = true;
    wake = std::exchange(wake_, {});
  }
  if (wake) wake(true);
}

}  // namespace xec
