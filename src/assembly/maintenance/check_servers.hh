// SPDX-License-Identifier: LGPL-3.0-or-later
// How the data servers answer, and whether they take writes, asked by this process now.
#pragma once

#include "api/store_maintenance.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Asks all at once, for some seconds at most.
Task<Result<ServersReport>> CheckServers(Engine& engine);

}  // namespace xec
