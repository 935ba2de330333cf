// SPDX-License-Identifier: LGPL-3.0-or-later
// The space of the whole store, from all its servers.
#pragma once

#include "api/store.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Servers that share a file system count once. Error: kNoQuorum when no server answers.
Task<Result<StoreSpace>> SumSpace(Engine& engine);

}  // namespace xec
