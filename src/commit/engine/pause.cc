// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/pause.hh"

#include "runtime/gather.hh"

namespace xec {

Task<void> Pause(Engine& engine, Duration time) {
  Gather<NoAnswer> gather(engine.scope(), engine.executor());
  gather.StartTimer(0, engine.executor().Now() + time);
  co_await gather.Next();
}

Task<void> RandomPause(Engine& engine, Duration below) {
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(below).count();
  co_await Pause(engine, std::chrono::milliseconds(engine.RandomBelow(static_cast<uint64_t>(most))));
}

Task<void> RunPatiently(Engine& engine, Task<void> task) {
  Gather<NoAnswer> gather(engine.scope(), engine.executor());
  gather.Start(0, std::move(task));
  gather.StartTimer(1, engine.executor().Now() + engine.options().hedge_delay);
  co_await gather.Next();
}

}  // namespace xec
