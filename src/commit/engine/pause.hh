// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Waits on the clock of the engine's executor; no thread is held.
Task<void> Pause(Engine& engine, Duration time);

// For a random time below that: of several that wait for each other one comes first.
Task<void> RandomPause(Engine& engine, Duration below);

// Waits for the task, but not longer than for any slow server; then it goes on in the background.
Task<void> RunPatiently(Engine& engine, Task<void> task);

}  // namespace xec
