// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/loop.hh"

namespace xec::load {
namespace {

Task<void> OnLoop(Loop* loop, Task<void> task) {
  co_await loop->Enter();
  co_await task;
}

}  // namespace

void Loop::RunAll(int count, const std::function<Task<void>(int)>& make) {
  TaskScope scope;
  for (int i = 0; i < count; ++i) scope.Spawn(OnLoop(this, make(i)));
  scope.Drain();
}

void Request::Start(const Loop& loop, Submit submit) {
  XEC_CHECK(state_ == State::kIdle, "a request is started twice");
  state_ = State::kInFlight;
  SendRequest(loop.gate(), std::move(submit), [this](Reply reply) {
    reply_ = std::move(reply);
    state_ = State::kAnswered;
    if (waiting_) std::exchange(waiting_, nullptr).resume();
  });
}

Reply Request::await_resume() {
  state_ = State::kIdle;
  return std::move(reply_);
}

Task<Reply> Ask(Loop& loop, Request::Submit submit) {
  Request request;
  request.Start(loop, std::move(submit));
  Reply reply = co_await request;
  co_return reply;
}

}  // namespace xec::load
