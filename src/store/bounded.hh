// SPDX-License-Identifier: LGPL-3.0-or-later
// A call of a front end, which waits no longer than the call says.
#pragma once

#include "api/call_options.hh"
#include "commit/engine/engine.hh"
#include "runtime/within.hh"

namespace xec {

// The task itself where the call is not limited; else what Within answers of it, so that the task owns, or
// shares, all that it works with. T: a Result or a Status.
template <typename T>
Task<T> Bounded(Engine& engine, CallOptions call, Task<T> task) {
  if (!call.Limited()) return task;
  return Within(engine.scope(), engine.executor(), call.deadline, std::move(call.stop), std::move(task));
}

}  // namespace xec
