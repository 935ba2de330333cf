// SPDX-License-Identifier: LGPL-3.0-or-later
// What the cleaner does with object directories whose shortened name is lost (docs/protocol/cleaner.md).
#pragma once

#include <string>

#include "commit/clean/clean_outcome.hh"
#include "commit/engine/engine.hh"

namespace xec {

// An object directory, by its path on disk, whose name no server tells: its maker, or a cleaner that removed
// it, died over the parts of the name, before anything else came in or after all else had gone. It goes when
// all servers answer and none has more than debris that is older than the horizon (docs/protocol/cleaner.md).
Task<CleanOutcome> CleanNameless(Engine& engine, std::string object_directory);

}  // namespace xec
