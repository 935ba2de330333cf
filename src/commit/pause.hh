// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "commit/engine.hh"

namespace xec {

// Waits on the clock of the engine's executor; no thread is held.
Task<void> Pause(Engine& engine, Duration time);

}  // namespace xec
