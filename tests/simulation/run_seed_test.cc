// SPDX-License-Identifier: LGPL-3.0-or-later
// One seed, one run: what a broken rule's replay relies on.
#include "run_seed.hh"

#include <cstring>

#include <gtest/gtest.h>

#include "base/log.hh"

namespace xec::sim {
namespace {

Outcome Traced(uint64_t seed) {
  SetLogSink([](LogLevel, std::string_view) {});
  WorldOptions options;
  options.seed = seed;
  options.trace_lines = 100000;
  return RunSeed(options);
}

TEST(RunSeed, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome once = Traced(seed);
    const Outcome again = Traced(seed);
    EXPECT_EQ(once.trace, again.trace) << seed;
    EXPECT_EQ(once.coverage, again.coverage) << seed;
    EXPECT_EQ(once.broken, again.broken) << seed;
    EXPECT_EQ(once.answered, again.answered) << seed;
  }
}

TEST(RunSeed, TracingChangesNothing) {
  for (uint64_t seed = 21; seed <= 30; ++seed) {
    WorldOptions untraced;
    untraced.seed = seed;
    const Outcome outcome = RunSeed(untraced);
    EXPECT_EQ(outcome.coverage, Traced(seed).coverage) << seed;
    EXPECT_TRUE(outcome.trace.empty());
  }
}

TEST(RunSeed, OtherSeedsRunOtherwise) { EXPECT_NE(Traced(31).trace, Traced(33).trace); }

TEST(RunSeed, ContentsCarryTheirNumberAndSize) {
  for (Content content = 1; content < 50; ++content) {
    const std::string bytes = BytesOf(content);
    ASSERT_EQ(bytes.size(), SizeOf(content));
    uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    EXPECT_EQ(number, content);
  }
}

}  // namespace
}  // namespace xec::sim
