// SPDX-License-Identifier: LGPL-3.0-or-later
// What becomes of GivenUpFiles once their servers answer again.
#pragma once

#include "commit/engine/engine.hh"

namespace xec {

// Removes, or promotes, what it can of Engine::given_up_files() on the servers that are well, one after the
// other on each. No request where there is nothing to do. What operations by a list before give up is removed
// by the list of `engine`, unless its server is no member any more.
Task<void> TidyGivenUpFiles(Engine& engine);

}  // namespace xec
