// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/virtual_executor.hh"

#include <algorithm>

namespace xec {
namespace {

WallMillis ToMillis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

VirtualExecutor::VirtualExecutor(VirtualOptions options) : options_(options), random_(options.seed) {}

VirtualExecutor::~VirtualExecutor() {
  // Destroying a closure may post or cancel: what it meets must be whole, so take everything out first.
  while (!ready_.empty() || !timers_.empty()) {
    std::vector<Work> ready = std::exchange(ready_, {});
    auto timers = std::exchange(timers_, {});
    timer_by_id_.clear();
  }
}

void VirtualExecutor::PostFor(Owner owner, Closure work) { ready_.push_back({owner, 0, std::move(work)}); }

TimerId VirtualExecutor::RunAtFor(Owner owner, TimePoint when, Closure work) {
  const TimerId id = next_timer_++;
  timer_by_id_[id] = timers_.emplace(std::pair(when, id), Work{owner, id, std::move(work)}).first;
  return id;
}

bool VirtualExecutor::Cancel(TimerId timer) {
  Closure dropped;  // destroyed last, when the tables are whole again
  if (const auto found = timer_by_id_.find(timer); found != timer_by_id_.end()) {
    dropped = std::move(found->second->second.closure);
    timers_.erase(found->second);
    timer_by_id_.erase(found);
    return true;
  }
  // Due, but not run yet.
  const auto due =
      std::find_if(ready_.begin(), ready_.end(), [&](const Work& w) { return w.timer == timer; });
  if (timer == 0 || due == ready_.end()) return false;
  dropped = std::move(due->closure);
  ready_.erase(due);
  return true;
}

WallMillis VirtualExecutor::WallNow() const { return options_.wall_base + ToMillis(now_ - kStart); }

void VirtualExecutor::MoveDueTimers() {
  while (!timers_.empty() && timers_.begin()->first.first <= now_) {
    timer_by_id_.erase(timers_.begin()->first.second);
    ready_.push_back(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
}

bool VirtualExecutor::RunOne() {
  MoveDueTimers();
  if (ready_.empty()) {
    if (timers_.empty()) return false;
    now_ = timers_.begin()->first.first;
    MoveDueTimers();
  }
  const size_t index = options_.fifo ? 0 : random_.Below(ready_.size());
  Work work = std::move(ready_[index]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  ++steps_;
  if (!Defer(work)) work.closure();
  return true;
}

// Work of a sleeper waits until it wakes up. False: its owner is awake.
bool VirtualExecutor::Defer(Work& work) {
  const auto sleeper = asleep_.find(work.owner);
  if (sleeper == asleep_.end() || sleeper->second <= now_) return false;
  if (work.timer == 0) work.timer = next_timer_++;
  const TimerId id = work.timer;
  timer_by_id_[id] = timers_.emplace(std::pair(sleeper->second, id), std::move(work)).first;
  return true;
}

size_t VirtualExecutor::RunUntilIdle(size_t limit) {
  size_t ran = 0;
  while (ran < limit && RunOne()) ++ran;
  return ran;
}

bool VirtualExecutor::RunUntil(const std::function<bool()>& done, size_t limit) {
  for (size_t ran = 0; !done(); ++ran) {
    if (ran == limit || !RunOne()) return done();
  }
  return true;
}

void VirtualExecutor::RunUntilTime(TimePoint when) {
  while (!ready_.empty() || (!timers_.empty() && timers_.begin()->first.first <= when)) RunOne();
  now_ = std::max(now_, when);
}

void VirtualExecutor::DropOwner(Owner owner) {
  std::vector<Work> dropped;  // destroyed last, when the tables are whole again
  std::vector<Work> kept;
  for (Work& work : ready_) (work.owner == owner ? dropped : kept).push_back(std::move(work));
  ready_ = std::move(kept);
  for (auto timer = timers_.begin(); timer != timers_.end();) {
    if (timer->second.owner == owner) {
      timer_by_id_.erase(timer->first.second);
      dropped.push_back(std::move(timer->second));
      timer = timers_.erase(timer);
    } else {
      ++timer;
    }
  }
}

VirtualProcess::VirtualProcess(VirtualExecutor& world, ProcessOptions options)
    : world_(world), options_(options), owner_(world.next_owner_++) {}

void VirtualProcess::Post(Closure work) {
  if (!killed_) world_.PostFor(owner_, std::move(work));
}

TimerId VirtualProcess::RunAt(TimePoint when, Closure work) {
  if (killed_) return world_.next_timer_++;
  return world_.RunAtFor(owner_, when, std::move(work));
}

WallMillis VirtualProcess::WallNow() const {
  const Duration elapsed = world_.Now() - VirtualExecutor::kStart;
  const WallMillis drift = ToMillis(elapsed) * options_.wall_drift_ppm / 1'000'000;
  return world_.WallNow() + ToMillis(options_.wall_skew) + drift;
}

void VirtualProcess::SleepUntil(TimePoint when) { world_.asleep_[owner_] = when; }

bool VirtualProcess::asleep() const {
  const auto sleeper = world_.asleep_.find(owner_);
  return sleeper != world_.asleep_.end() && world_.Now() < sleeper->second;
}

void VirtualProcess::Kill() {
  killed_ = true;
  world_.asleep_.erase(owner_);
  world_.DropOwner(owner_);
}

}  // namespace xec
