// SPDX-License-Identifier: LGPL-3.0-or-later
#include "seeds.hh"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/core.h>

namespace xec::sim {
namespace {

// What is printed of a seed that breaks a rule.
constexpr size_t kLastLines = 250;

thread_local uint64_t running_seed = 0;

void Add(Summary& summary, uint64_t seed, const Outcome& outcome) {
  summary.answered += outcome.answered;
  summary.succeeded += outcome.succeeded;
  summary.open += outcome.open;
  summary.unjudged += outcome.unjudged;
  for (const auto& [step, counts] : outcome.coverage) {
    for (size_t f = 0; f < kFaultCount; ++f) summary.coverage[step][f] += counts[f];
  }
  if (outcome.broken) summary.broken[seed] = *outcome.broken;
}

}  // namespace

uint64_t RunningSeed() { return running_seed; }

Summary RunSeeds(const SeedRange& range) {
  std::atomic<uint64_t> next{range.first};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Summary summary;  // guarded by mutex
  const auto start = std::chrono::steady_clock::now();
  const auto work = [&] {
    // Seeds are handed out in order and finished once begun: the first broken one of the range is never
    // missed.
    for (uint64_t seed = next++; seed <= range.last && !stop; seed = next++) {
      running_seed = seed;
      WorldOptions options;
      options.seed = seed;
      options.renames = range.renames;
      const Outcome outcome = RunSeed(options);
      std::lock_guard lock(mutex);
      Add(summary, seed, outcome);
      if (outcome.broken && !range.keep_going) stop = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < range.jobs; ++i) threads.emplace_back(work);
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

void PrintTrace(uint64_t seed, bool renames, const std::string& mutant, bool whole) {
  running_seed = seed;
  WorldOptions options;
  options.seed = seed;
  options.renames = renames;
  options.trace_lines = whole ? SIZE_MAX : kLastLines;
  const Outcome outcome = RunSeed(options);
  fmt::print(
      "virtual seconds, who, what; g: gateway, s: data server, c: client, ***: a fault, !!!!: the broken "
      "rule\n");
  for (const std::string& line : outcome.trace) fmt::print("{}\n", line);
  if (!outcome.broken) return fmt::print("seed {} breaks no rule\n", seed);
  fmt::print("seed {} breaks a rule: {}\n", seed, *outcome.broken);
  fmt::print("all of it: ./dev simulate{}{} --trace {}\n", mutant.empty() ? "" : " --mutant " + mutant,
             renames ? "" : " --no-rename", seed);
}

}  // namespace xec::sim
