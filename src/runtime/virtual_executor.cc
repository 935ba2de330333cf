// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/virtual_executor.hh"

#include <algorithm>

#include "base/check.hh"

namespace xec {
namespace {

WallMillis ToMillis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

VirtualExecutor::VirtualExecutor(VirtualOptions options) : options_(options), random_(options.seed) {}

VirtualExecutor::~VirtualExecutor() {
  // Destroying a closure may post or cancel: what it meets must be whole, so take everything out first.
  while (!ready_.empty() || waiting_ > 0) {
    std::vector<Work> ready = std::exchange(ready_, {});
    std::vector<Slot> slots = std::exchange(slots_, {});
    free_slots_.clear();
    waiting_ = 0;
  }
}

void VirtualExecutor::PostFor(Owner owner, Closure work) { ready_.push_back({owner, 0, std::move(work)}); }

TimerId VirtualExecutor::RunAtFor(Owner owner, TimePoint when, Closure work) {
  Work timed{owner, 0, std::move(work)};
  if (free_slots_.empty()) {
    free_slots_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const TimerId id = timed.timer = NewTimer(free_slots_.back());
  XEC_CHECK(slots_.size() < kSlotsMax);
  free_slots_.pop_back();
  SlotOf(id).id = id;
  Wait(std::move(timed), when);
  return id;
}

// The work's timer has its slot.
void VirtualExecutor::Wait(Work work, TimePoint when) {
  alarms_.push({when, work.timer});
  Slot& slot = SlotOf(work.timer);
  slot.waits = true;
  slot.work = std::move(work);
  ++waiting_;
}

// The timer has run or never will. Its closure if it was still waiting: to be destroyed last, when the tables
// are whole again.
Closure VirtualExecutor::Free(TimerId timer) {
  Slot& slot = SlotOf(timer);
  if (slot.waits) --waiting_;
  slot.id = 0;
  slot.waits = false;
  free_slots_.push_back(timer % kSlotsMax);
  return std::move(slot.work.closure);
}

bool VirtualExecutor::Cancel(TimerId timer) {
  const bool known = timer != 0 && timer % kSlotsMax < slots_.size() && SlotOf(timer).id == timer;
  if (!known) return false;
  const bool due = !SlotOf(timer).waits;
  Closure dropped = Free(timer);
  if (due) {
    const auto work =
        std::find_if(ready_.begin(), ready_.end(), [&](const Work& w) { return w.timer == timer; });
    dropped = std::move(work->closure);
    ready_.erase(work);
  }
  return true;
}

WallMillis VirtualExecutor::WallNow() const { return options_.wall_base + ToMillis(now_ - kStart); }

// Of those that were not cancelled; null: there is none.
const VirtualExecutor::Alarm* VirtualExecutor::NextAlarm() {
  while (!alarms_.empty()) {
    const Alarm& next = alarms_.top();
    const Slot& slot = SlotOf(next.id);
    if (slot.id == next.id && slot.waits) return &next;
    alarms_.pop();
  }
  return nullptr;
}

void VirtualExecutor::MoveDueTimers() {
  for (const Alarm* next = NextAlarm(); next != nullptr && next->when <= now_; next = NextAlarm()) {
    Slot& slot = SlotOf(next->id);
    alarms_.pop();
    slot.waits = false;
    --waiting_;
    ready_.push_back(std::move(slot.work));
  }
}

bool VirtualExecutor::RunOne() {
  MoveDueTimers();
  if (ready_.empty()) {
    const Alarm* const next = NextAlarm();
    if (next == nullptr) return false;
    now_ = next->when;
    MoveDueTimers();
  }
  const size_t index = options_.fifo ? 0 : random_.Below(ready_.size());
  Work work = std::move(ready_[index]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  ++steps_;
  if (Defer(work)) return true;
  if (work.timer != 0) (void)Free(work.timer);
  work.closure();
  return true;
}

// Work of a sleeper waits until it wakes up. False: its owner is awake.
bool VirtualExecutor::Defer(Work& work) {
  const auto sleeper = asleep_.find(work.owner);
  if (sleeper == asleep_.end() || sleeper->second <= now_) return false;
  if (work.timer == 0) {
    RunAtFor(work.owner, sleeper->second, std::move(work.closure));
  } else {
    Wait(std::move(work), sleeper->second);
  }
  return true;
}

void VirtualExecutor::RunAlone(Task<void> task, const bool& ended, size_t limit) {
  TaskScope scope;
  scope.Spawn(std::move(task));
  RunUntil([&] { return ended; }, limit);
  scope.Abandon();
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
  const auto is_due = [&](const Alarm* next) { return next != nullptr && next->when <= when; };
  while (!ready_.empty() || is_due(NextAlarm())) RunOne();
  now_ = std::max(now_, when);
}

void VirtualExecutor::DropOwner(Owner owner) {
  std::vector<Closure> dropped;  // destroyed last, when the tables are whole again
  std::vector<Work> kept;
  for (Work& work : ready_) {
    if (work.owner != owner) {
      kept.push_back(std::move(work));
      continue;
    }
    if (work.timer != 0) (void)Free(work.timer);
    dropped.push_back(std::move(work.closure));
  }
  ready_ = std::move(kept);
  for (Slot& slot : slots_) {
    if (slot.waits && slot.work.owner == owner) dropped.push_back(Free(slot.id));
  }
}

VirtualProcess::VirtualProcess(VirtualExecutor& world, ProcessOptions options)
    : world_(world), options_(options), owner_(world.next_owner_++) {}

void VirtualProcess::Post(Closure work) {
  if (!killed_) world_.PostFor(owner_, std::move(work));
}

TimerId VirtualProcess::RunAt(TimePoint when, Closure work) {
  if (killed_) return world_.NewTimer(VirtualExecutor::kSlotsMax - 1);  // of no slot
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
