// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/pause.hh"

#include "runtime/gather.hh"

namespace xec {

Task<void> Pause(Engine& engine, Duration time) {
  Gather<bool> gather(engine.scope(), engine.executor());
  gather.StartTimer(0, engine.executor().Now() + time);
  co_await gather.Next();
}

Task<void> RunPatiently(Engine& engine, Task<bool> task) {
  Gather<bool> gather(engine.scope(), engine.executor());
  gather.Start(0, std::move(task));
  gather.StartTimer(1, engine.executor().Now() + engine.options().hedge_delay);
  const auto event = co_await gather.Next();
  (void)event;
}

}  // namespace xec
