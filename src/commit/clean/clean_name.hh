// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "commit/clean/clean_outcome.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Cleans one name on all servers. Error: kNoQuorum, if it could not be decided or is changing.
Task<Result<CleanOutcome>> CleanName(Engine& engine, ObjectPath path);

}  // namespace xec
