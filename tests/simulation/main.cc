// SPDX-License-Identifier: LGPL-3.0-or-later
// simulate: runs seeds of the simulator. `./dev simulate --help`.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "base/log.hh"
#include "run_seed.hh"

namespace xec::sim {
namespace {

constexpr const char* kHelp =
    "simulate [--seeds A..B] [--seed N] [--trace] [--coverage] [--no-rename] [--jobs N] [--keep-going]\n"
    "  --seeds A..B   run these seeds (default 1..2000)\n"
    "  --seed N       run one seed; --trace prints what happened in it\n"
    "  --coverage     print which faults met which protocol steps\n"
    "  --no-rename    clients do not rename\n"
    "  --jobs N       threads (default 2)\n"
    "  --keep-going   do not stop at the first broken rule\n";

struct Arguments {
  uint64_t first = 1, last = 2000;
  bool trace = false, coverage = false, renames = true, keep_going = false;
  unsigned jobs = 2;
};

thread_local uint64_t running_seed = 0;

// An engine check that fails aborts: at least say in which seed.
void OnAbort(int) {
  char text[80];
  const int length = std::snprintf(text, sizeof text, "simulate: aborted in seed %llu\n",
                                   static_cast<unsigned long long>(running_seed));
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(3);
  _exit(3);
}

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word == "--trace") {
      arguments.trace = true;
    } else if (word == "--coverage") {
      arguments.coverage = true;
    } else if (word == "--keep-going") {
      arguments.keep_going = true;
    } else if (word == "--no-rename") {
      arguments.renames = false;
    } else if (word == "--jobs") {
      arguments.jobs = static_cast<unsigned>(std::max(1, std::atoi(value().c_str())));
    } else if (word == "--seed") {
      arguments.first = arguments.last = std::strtoull(value().c_str(), nullptr, 10);
    } else if (word == "--seeds") {
      const std::string range = value();
      const size_t dots = range.find("..");
      if (dots == std::string::npos) return false;
      arguments.first = std::strtoull(range.c_str(), nullptr, 10);
      arguments.last = std::strtoull(range.c_str() + dots + 2, nullptr, 10);
    } else {
      return false;
    }
  }
  return arguments.first <= arguments.last;
}

void PrintCoverage(const Coverage& coverage) {
  fmt::print("{:32}", "protocol step");
  for (size_t f = 0; f < kFaultCount; ++f) fmt::print(" {:>12}", FaultName(static_cast<Fault>(f)));
  fmt::print("\n");
  for (const auto& [step, counts] : coverage) {
    fmt::print("{:32}", step);
    for (const uint64_t count : counts) fmt::print(" {:>12}", count);
    fmt::print("\n");
  }
}

void Report(uint64_t seed, const Arguments& arguments, const std::string& rule) {
  WorldOptions options;
  options.seed = seed;
  options.renames = arguments.renames;
  options.trace = true;
  const Outcome again = RunSeed(options);
  for (const std::string& line : again.trace) fmt::print("{}\n", line);
  fmt::print("seed {} breaks a rule: {}\nreplay it: ./dev simulate --seed {} --trace{}\n", seed, rule, seed,
             arguments.renames ? "" : " --no-rename");
  if (again.broken != rule)
    fmt::print("(the replay did not show the same: {})\n", again.broken.value_or("nothing"));
}

int Run(const Arguments& arguments) {
  std::atomic<uint64_t> next{arguments.first};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Coverage coverage;
  std::map<uint64_t, std::string> broken;
  size_t answered = 0, succeeded = 0, open = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto work = [&] {
    for (uint64_t seed = next++; seed <= arguments.last && !stop; seed = next++) {
      running_seed = seed;
      WorldOptions options;
      options.seed = seed;
      options.renames = arguments.renames;
      const Outcome outcome = RunSeed(options);
      std::lock_guard lock(mutex);
      answered += outcome.answered;
      succeeded += outcome.succeeded;
      open += outcome.open;
      for (const auto& [step, counts] : outcome.coverage) {
        for (size_t f = 0; f < kFaultCount; ++f) coverage[step][f] += counts[f];
      }
      if (!outcome.broken) continue;
      broken[seed] = *outcome.broken;
      if (!arguments.keep_going) stop = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < arguments.jobs; ++i) threads.emplace_back(work);
  }
  if (arguments.coverage) PrintCoverage(coverage);
  if (arguments.keep_going) {
    for (const auto& [seed, rule] : broken) fmt::print("seed {}: {}\n", seed, rule);
  } else if (!broken.empty()) {
    Report(broken.begin()->first, arguments, broken.begin()->second);
  } else if (arguments.trace) {
    Report(arguments.first, arguments, "none");
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "seeds {}..{}: {} broken; {} operations answered, {} of them well, {} left open by crashes; {:.1f} s\n",
      arguments.first, arguments.last, broken.size(), answered, succeeded, open, took);
  return broken.empty() ? 0 : 1;
}

}  // namespace
}  // namespace xec::sim

int main(int argc, char** argv) {
  xec::SetLogSink([](xec::LogLevel, std::string_view) {});
  std::signal(SIGABRT, xec::sim::OnAbort);
  xec::sim::Arguments arguments;
  if (!xec::sim::Parse(argc, argv, arguments)) {
    fmt::print(stderr, "{}", xec::sim::kHelp);
    return 2;
  }
  return xec::sim::Run(arguments);
}
