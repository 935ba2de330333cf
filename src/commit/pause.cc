// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/pause.hh"

#include "runtime/gather.hh"

namespace xec {

Task<void> Pause(Engine& engine, Duration time) {
  Gather<bool> gather(engine.scope(), engine.executor());
  gather.StartTimer(0, engine.executor().Now() + time);
  co_await gather.Next();
}

}  // namespace xec
