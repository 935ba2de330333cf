// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec health` and `xec repair --all` tell of the redundancy of all objects.
#pragma once

#include "api/store_maintenance.hh"
#include "cli/command_line.hh"
#include "cli/json_output.hh"

namespace xec {

// Counts with a progress line. Blocking. Errors: as StoreMaintenance::TakeCensus.
Result<Census> CountObjects(const CommandLine& line, StoreMaintenance& maintenance);

// A table of levels for each geometry, and the first objects that lack something.
void PrintCensus(const Census& census);
// All of it, with every such object.
Json CensusJson(const Census& census);

// kExitDamage when objects are lost, kExitRetry when some are not full or were not counted, else kExitOk.
int CensusExitCode(const Census& census);

}  // namespace xec
