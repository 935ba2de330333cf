// SPDX-License-Identifier: LGPL-3.0-or-later
// The jobs of a store in words, for programs that show them.
#pragma once

#include <chrono>
#include <vector>

#include "jobs/job.hh"

namespace xec {

// How often each gateway reads what is asked of its jobs, and tells how they are.
constexpr Duration kJobBoardInterval = std::chrono::seconds(10);
// A process that has told nothing for so long does not run, or cannot write.
constexpr Duration kJobsSilentAfter = std::chrono::seconds(60);

// In the order of lists.
std::vector<const JobText*> KnownJobs();

}  // namespace xec
