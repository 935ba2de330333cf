// SPDX-License-Identifier: LGPL-3.0-or-later
// Running many seeds on a few threads, and telling what came of it.
#pragma once

#include <map>
#include <string>

#include "run_seed.hh"

namespace xec::sim {

struct SeedRange {
  uint64_t first = 1;
  uint64_t last = 2000;
  bool renames = true;
  bool keep_going = false;  // past the first broken rule
  unsigned jobs = 2;
};

struct Summary {
  std::map<uint64_t, std::string> broken;  // seed -> rule; without keep_going the first of the range is in it
  Coverage coverage;
  size_t answered = 0, succeeded = 0, open = 0;
  size_t unjudged = 0;  // names on which the oracle gave up
  double seconds = 0;
};

Summary RunSeeds(const SeedRange& range);

// Runs one seed again and prints its events (the last ones, or the whole run), the broken rule and how to see
// all of it. `mutant`: its name, or empty.
void PrintTrace(uint64_t seed, bool renames, const std::string& mutant, bool whole);

// The seed that this thread is running; 0: none.
uint64_t RunningSeed();

}  // namespace xec::sim
