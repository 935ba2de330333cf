// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Cleans some of Engine::crowded_names(), a few at the same time: each no sooner than after a quarter of the
// grace time of replaced versions, since what is younger stays. A name that is changing meanwhile is cleaned
// another time. Answers how many were due.
Task<size_t> CleanCrowded(Engine& engine);

}  // namespace xec
