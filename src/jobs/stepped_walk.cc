// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/stepped_walk.hh"

namespace xec {

SteppedWalk::SteppedWalk(TaskScope& scope, Executor& executor, Walk walk)
    : scope_(scope), walk_(std::move(walk)), state_(std::make_shared<State>(executor)) {}

Task<void> SteppedWalk::Run(std::shared_ptr<State> state, Walk walk) {
  Turn turn = [state](WalkPoint point) { return TakeTurn(state, std::move(point)); };
  co_await walk(std::move(turn));
  state->ended = true;
  state->to_owner.Ring();
}

Task<bool> SteppedWalk::TakeTurn(std::shared_ptr<State> state, WalkPoint point) {
  state->point = std::move(point);
  while (!state->ending) {
    if (state->MayGoOn()) {
      ++state->units;
      co_return true;
    }
    state->to_owner.Ring();
    co_await state->to_walk.Wait(TimePoint::max());
  }
  co_return false;
}

Task<bool> SteppedWalk::Step(JobStep step) {
  const std::shared_ptr<State> state = state_;
  state->step = std::move(step);
  state->units = 0;
  if (walk_) {
    scope_.Spawn(Run(state, std::exchange(walk_, {})));
  } else {
    state->to_walk.Ring();
  }
  co_await state->to_owner.Wait(TimePoint::max());
  co_return state->ended;
}

Task<void> SteppedWalk::End() {
  const std::shared_ptr<State> state = state_;
  const bool begun = !std::exchange(walk_, {});
  if (!begun || state->ended) co_return;
  state->ending = true;
  state->to_walk.Ring();
  co_await state->to_owner.Wait(TimePoint::max());
}

}  // namespace xec
