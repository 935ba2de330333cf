// SPDX-License-Identifier: LGPL-3.0-or-later
// VirtualExecutor: a single-threaded Executor with a virtual clock and a seed, for the simulator and for
// unit tests of anything with timers. Work runs only inside RunOne and its relatives; the clock stands
// still while work is ready and jumps to the next timer when none is. Same seed and same calls, same run.
//
// Not thread-safe, unlike other executors: everything runs on the thread that calls RunOne.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/random.hh"
#include "runtime/executor.hh"
#include "runtime/task.hh"

namespace xec {

struct VirtualOptions {
  uint64_t seed = 1;
  bool fifo = false;                         // true: ready work runs in the order it was posted
  WallMillis wall_base = 1'700'000'000'000;  // WallNow() when the virtual clock starts
};

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(VirtualOptions options = {});
  // Destroys what never ran.
  ~VirtualExecutor() override;
  VirtualExecutor(const VirtualExecutor&) = delete;
  VirtualExecutor& operator=(const VirtualExecutor&) = delete;

  void Post(Closure work) override { PostFor(0, std::move(work)); }
  TimerId RunAt(TimePoint when, Closure work) override { return RunAtFor(0, when, std::move(work)); }
  bool Cancel(TimerId timer) override;
  // Starts at kStart, so that a TimePoint{} is never a legal deadline in the future.
  TimePoint Now() const override { return now_; }
  WallMillis WallNow() const override;

  // Runs one piece of ready work (chosen by the seed, or the oldest); when none is ready, first moves the
  // clock to the next timer. False when there is neither work nor timer.
  bool RunOne();

  // Runs until there is neither work nor timer, or `limit` pieces have run. Answers how many ran; a result
  // equal to `limit` may mean that it did not get idle.
  size_t RunUntilIdle(size_t limit);

  // Runs until `done()` holds; false when it got idle or `limit` pieces ran first.
  bool RunUntil(const std::function<bool()>& done, size_t limit);

  // Runs everything due up to `when`, then sets the clock to it.
  void RunUntilTime(TimePoint when);

  // Runs a task to its end; nullopt when it does not end within `limit` pieces (it is destroyed then).
  template <typename T>
  std::optional<T> RunTask(Task<T> task, size_t limit = 10'000'000);

  size_t ready() const { return ready_.size(); }
  // Those that are not due yet.
  size_t timers() const { return waiting_; }
  uint64_t steps() const { return steps_; }

  static constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));

 private:
  friend class VirtualProcess;
  using Owner = uint64_t;  // 0 is the world itself
  struct Work {
    Owner owner = 0;
    TimerId timer = 0;  // 0: posted
    Closure closure;
  };

  // Of a timer until it has run or was cancelled.
  struct Slot {
    TimerId id = 0;  // 0: free
    bool waits = false;  // else it is due, and its work among what is ready
    Work work;
  };
  // In the order in which they come. Of one that was cancelled the slot has another id.
  struct Alarm {
    TimePoint when;
    TimerId id;
    bool operator>(const Alarm& other) const { return std::pair(when, id) > std::pair(other.when, other.id); }
  };

  void PostFor(Owner owner, Closure work);
  TimerId RunAtFor(Owner owner, TimePoint when, Closure work);
  TimerId NewTimer(size_t slot) { return ++timers_made_ * kSlotsMax + slot; }
  Slot& SlotOf(TimerId timer) { return slots_[timer % kSlotsMax]; }
  void Wait(Work work, TimePoint when);
  Closure Free(TimerId timer);
  void DropOwner(Owner owner);
  // Runs a task until it says that it has ended, or `limit` pieces have run.
  void RunAlone(Task<void> task, const bool& ended, size_t limit);
  bool Defer(Work& work);
  const Alarm* NextAlarm();
  void MoveDueTimers();

  // A timer's id is its slot and how many were made before it, so that ids are in order.
  static constexpr TimerId kSlotsMax = TimerId{1} << 24;

  const VirtualOptions options_;
  Random random_;
  TimePoint now_ = kStart;
  uint64_t steps_ = 0;
  uint64_t timers_made_ = 0;
  Owner next_owner_ = 1;
  std::vector<Work> ready_;
  std::vector<Slot> slots_;
  std::vector<size_t> free_slots_;
  size_t waiting_ = 0;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  std::unordered_map<Owner, TimePoint> asleep_;  // until then their work does not run
};

struct ProcessOptions {
  Duration wall_skew{0};       // added to the world's wall clock
  int64_t wall_drift_ppm = 0;  // microseconds gained per second of virtual time since the world's start
};

// One simulated process on a VirtualExecutor: its own wall clock, and it can be killed. The world outlives
// it.
class VirtualProcess final : public Executor {
 public:
  explicit VirtualProcess(VirtualExecutor& world, ProcessOptions options = {});
  // As Kill().
  ~VirtualProcess() override { Kill(); }
  VirtualProcess(const VirtualProcess&) = delete;
  VirtualProcess& operator=(const VirtualProcess&) = delete;

  void Post(Closure work) override;
  TimerId RunAt(TimePoint when, Closure work) override;
  bool Cancel(TimerId timer) override { return world_.Cancel(timer); }
  TimePoint Now() const override { return world_.Now(); }
  WallMillis WallNow() const override;

  // The process dies: its posted work and timers are destroyed without running, and so is what is posted
  // later. May be called from its own work. Its suspended coroutines are ended by TaskScope::Abandon.
  void Kill();
  bool killed() const { return killed_; }

  // The process is stopped (SIGSTOP) until then: nothing of it runs, while both clocks go on and what it has
  // sent still happens.
  void SleepUntil(TimePoint when);
  bool asleep() const;

  // Makes the wall clock jump.
  void SetWallSkew(Duration skew) { options_.wall_skew = skew; }

 private:
  VirtualExecutor& world_;
  ProcessOptions options_;
  const VirtualExecutor::Owner owner_;
  bool killed_ = false;
};

template <typename T>
std::optional<T> VirtualExecutor::RunTask(Task<T> task, size_t limit) {
  std::optional<T> result;
  bool ended = false;
  const auto keep = [](Task<T> inner, std::optional<T>& into, bool& end) -> Task<void> {
    into.emplace(co_await inner);
    end = true;
  };
  RunAlone(keep(std::move(task), result, ended), ended, limit);
  return result;
}

}  // namespace xec
