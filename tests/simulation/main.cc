// SPDX-License-Identifier: LGPL-3.0-or-later
// simulate: runs seeds of the simulator. `./dev simulate --help`.
#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/log.hh"
#include "coverage.hh"
#include "mutants.hh"
#include "seeds.hh"

namespace xec::sim {
namespace {

constexpr const char* kDescription =
    "Runs the engine on simulated data servers, in virtual time, with clients, cleaners and everything that\n"
    "can go wrong; judges every answer. Each seed is one run, the same every time. What is simulated and "
    "what\n"
    "is not: tests/simulation/README.md.\n\n"
    "  ./dev simulate --seeds 1..2000     run these seeds; stop at the first broken rule and print its "
    "trace\n"
    "  ./dev simulate --trace 4711        run one seed and print what happened\n"
    "  ./dev simulate --coverage          ... and which faults met which protocol steps\n"
    "  ./dev simulate --mutants           find every planted bug within the seeds\n\n"
    "Exit code: 0 all is well, 1 a rule is broken (or a mutant not found, or a cell of the coverage table "
    "empty).";

struct Arguments {
  SeedRange range;
  std::string seeds = "1..2000";
  uint64_t trace = 0;
  bool coverage = false, mutants = false, no_rename = false;
  std::string mutant;
};

// "A..B" or one number.
bool ParseRange(const std::string& text, SeedRange& range) {
  const size_t dots = text.find("..");
  const std::string first = text.substr(0, dots);
  const std::string last = dots == std::string::npos ? first : text.substr(dots + 2);
  const auto number = [](const std::string& digits, uint64_t& value) {
    const bool good =
        !digits.empty() && digits.size() < 19 && digits.find_first_not_of("0123456789") == std::string::npos;
    if (good) value = std::stoull(digits);
    return good;
  };
  return number(first, range.first) && number(last, range.last) && range.first <= range.last;
}

// An engine check that fails aborts: at least say in which seed.
void OnAbort(int) {
  char text[120];
  const int length = std::snprintf(
      text, sizeof text, "simulate: aborted in seed %llu: ./dev simulate --trace %llu\n",
      static_cast<unsigned long long>(RunningSeed()), static_cast<unsigned long long>(RunningSeed()));
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(3);
  _exit(3);
}

int Run(const Arguments& arguments) {
  const SeedRange& range = arguments.range;
  const Summary summary = RunSeeds(range);
  if (arguments.coverage) PrintCoverage(summary.coverage);
  if (range.keep_going) {
    for (const auto& [seed, rule] : summary.broken) fmt::print("seed {}: {}\n", seed, rule);
  } else if (!summary.broken.empty()) {
    PrintTrace(summary.broken.begin()->first, range.renames, arguments.mutant, false);
  }
  fmt::print(
      "seeds {}..{}: {} broken; {} operations answered, {} of them well, {} left open by crashes; {:.1f} s\n",
      range.first, range.last, summary.broken.size(), summary.answered, summary.succeeded, summary.open,
      summary.seconds);
  if (summary.unjudged > 0)
    fmt::print("on {} names the oracle gave up: too many orders to try\n", summary.unjudged);
  bool good = summary.broken.empty();
  if (arguments.coverage) {
    for (const std::string& gap : CoverageGaps(summary.coverage)) {
      fmt::print("coverage: {}\n", gap);
      good = false;
    }
  }
  return good ? 0 : 1;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(kDescription, "./dev simulate");
  const CLI::Option* const seeds =
      app.add_option("--seeds", arguments.seeds, "seeds to run, A..B; with --mutants 1..5000 by default")
          ->type_name("A..B")
          ->capture_default_str();
  app.add_option("--trace,--seed", arguments.trace, "run this seed alone and print what happened")
      ->type_name("SEED");
  app.add_flag("--coverage", arguments.coverage,
               "print the table protocol step x fault; an empty cell is an error");
  app.add_flag("--mutants", arguments.mutants,
               "look for each planted bug in the seeds; not finding one is an error");
  app.add_option("--mutant", arguments.mutant, "plant this bug; an unknown name prints all")
      ->type_name("NAME");
  app.add_flag("--no-rename", arguments.no_rename, "clients do not rename");
  app.add_flag("--keep-going", arguments.range.keep_going,
               "do not stop at the first broken rule; print no trace");
  app.add_option("--jobs", arguments.range.jobs, "threads, each runs seeds of its own")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  arguments.range.renames = !arguments.no_rename;
  // Some bugs show seldom.
  if (arguments.mutants && seeds->empty()) arguments.seeds = "1..5000";
  if (!ParseRange(arguments.seeds, arguments.range)) {
    fmt::print(stderr, "simulate: \"{}\" is no range of seeds; write A..B\n", arguments.seeds);
    return 2;
  }
  if (arguments.mutants) return RunMutants(arguments.range) ? 0 : 1;
  if (!arguments.mutant.empty() && !PlantMutant(arguments.mutant)) return 2;
  if (arguments.trace != 0) {
    PrintTrace(arguments.trace, arguments.range.renames, arguments.mutant, true);
    return 0;
  }
  return Run(arguments);
}

}  // namespace
}  // namespace xec::sim

int main(int argc, char** argv) {
  xec::SetLogSink([](xec::LogLevel, std::string_view) {});
  std::signal(SIGABRT, xec::sim::OnAbort);
  return xec::sim::Main(argc, argv);
}
