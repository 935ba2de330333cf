// SPDX-License-Identifier: LGPL-3.0-or-later
// The table protocol step x fault: which faults met which steps in the seeds that were run.
#pragma once

#include <string>
#include <vector>

#include "run_seed.hh"

namespace xec::sim {

// Prints the table and, below it, why some cells are empty.
void PrintCoverage(const Coverage& coverage);

// Every cell that should not be empty but is, and every step that is not in the list, as sentences.
std::vector<std::string> CoverageGaps(const Coverage& coverage);

}  // namespace xec::sim
