// SPDX-License-Identifier: LGPL-3.0-or-later
// SteppedWalk: does a long walk in steps. The walk is one coroutine that awaits its turn between two pieces
// of its work (runtime/turn.hh), and rests there between two steps. So a walk through folders within folders
// need not be written as a machine of states.
#pragma once

#include <memory>

#include "jobs/alarm.hh"
#include "jobs/job.hh"
#include "runtime/turn.hh"

namespace xec {

// One owner, which awaits each call before the next. Both references outlive the walk.
class SteppedWalk {
 public:
  using Walk = std::function<Task<void>(Turn)>;

  // `walk` is begun by the first step; it ends soon after a turn that is false.
  SteppedWalk(TaskScope& scope, Executor& executor, Walk walk);

  // Lets the walk go on until the step's limits. True: the walk has ended.
  Task<bool> Step(JobStep step);
  // Has the walk end at its next turn, and waits for that. Before this object goes, unless it has ended.
  Task<void> End();

  const WalkPoint& point() const { return state_->point; }
  uint64_t units() const { return state_->units; }  // turns of the last step

 private:
  // The walk and its owner hand it to each other by the alarms; never both use it.
  struct State {
    explicit State(Executor& the_executor)
        : executor(the_executor), to_walk(the_executor), to_owner(the_executor) {}
    bool MayGoOn() const { return units < step.units_max && executor.Now() < step.until && !step.stopped(); }

    Executor& executor;
    Alarm to_walk, to_owner;
    JobStep step;
    uint64_t units = 0;
    WalkPoint point;
    bool ending = false;
    bool ended = false;
  };
  static Task<void> Run(std::shared_ptr<State> state, Walk walk);
  static Task<bool> TakeTurn(std::shared_ptr<State> state, WalkPoint point);

  TaskScope& scope_;
  Walk walk_;  // until it is begun
  const std::shared_ptr<State> state_;
};

}  // namespace xec
