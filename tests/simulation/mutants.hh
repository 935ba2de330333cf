// SPDX-License-Identifier: LGPL-3.0-or-later
// The planted bugs, and whether the simulator finds them.
#pragma once

#include <string>

#include "seeds.hh"

namespace xec::sim {

// Makes the engine wrong in the named way from now on. False: this build has no mutants, or none of this
// name; a sentence on stderr says so.
bool PlantMutant(const std::string& name);

// Looks for each mutant in the range, and for a broken rule of the engine as it is; prints a table. True:
// each was found, and nothing without one.
bool RunMutants(const SeedRange& range);

}  // namespace xec::sim
