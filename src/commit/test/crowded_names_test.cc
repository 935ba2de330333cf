// SPDX-License-Identifier: LGPL-3.0-or-later
// Names that are written so often that they are cleaned out of turn.
#include "commit/engine/crowded_names.hh"

#include "commit/clean/clean_crowded.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::seconds;

constexpr size_t kMany = CrowdedNames::kEntriesMax + 1;

TEST(CrowdedNames, AreTakenAgainOnlyIfSeenAgainAndAfterAPause) {
  CrowdedNames names;
  const ObjectPath a = TestWorld::Path("/a");
  TimePoint now{};
  names.Saw(a, CrowdedNames::kEntriesMax);
  EXPECT_FALSE(names.Take(now, seconds(10)));
  names.Saw(a, kMany);
  EXPECT_EQ(names.Take(now, seconds(10)), a);
  EXPECT_FALSE(names.Take(now, seconds(10)));
  names.Saw(a, kMany);
  EXPECT_FALSE(names.Take(now + seconds(9), seconds(10)));
  EXPECT_EQ(names.Take(now + seconds(10), seconds(10)), a);
  EXPECT_FALSE(names.Take(now + seconds(20), seconds(10)));
  names.Saw(a, kMany);
  EXPECT_EQ(names.Take(now + seconds(20), seconds(10)), a);
}

// Those late in the order of names were never taken when the first ones were due again before them.
TEST(CrowdedNames, TheOneThatHasWaitedLongestIsTakenFirst) {
  CrowdedNames names;
  const ObjectPath a = TestWorld::Path("/a"), b = TestWorld::Path("/b");
  for (const ObjectPath& name : {a, b}) names.Saw(name, kMany);
  TimePoint now{};
  EXPECT_EQ(names.Take(now, seconds(10)), a);
  names.Saw(a, kMany);
  now += seconds(10);
  EXPECT_EQ(names.Take(now, seconds(10)), b);
  names.Saw(b, kMany);
  EXPECT_EQ(names.Take(now, seconds(10)), a);
}

TEST(CrowdedNames, AreBounded) {
  CrowdedNames names;
  for (size_t i = 0; i < CrowdedNames::kNamesMax + 10; ++i)
    names.Saw(TestWorld::Path("/a" + std::to_string(i)), kMany);
  size_t taken = 0;
  while (names.Take(TimePoint{}, seconds(10))) ++taken;
  EXPECT_EQ(taken, CrowdedNames::kNamesMax);
  // Those that nobody has seen since make room.
  EXPECT_FALSE(names.Take(TimePoint{} + seconds(10), seconds(10)));
  names.Saw(TestWorld::Path("/b"), kMany);
  EXPECT_EQ(names.Take(TimePoint{} + seconds(10), seconds(10)), TestWorld::Path("/b"));
}

Task<void> KeepCleaning(Task<Result<CleanOutcome>> cleaning, std::optional<Result<CleanOutcome>>& into) {
  into.emplace(co_await cleaning);
}

// It was told as an error of the pass: a busy store warned of names that were in best order.
TEST(CleanName, ANameThatIsReplacedMeanwhileIsCleanedAllTheSame) {
  std::optional<Result<CleanOutcome>> cleaned;
  for (size_t steps = 1;; ++steps) {
    cleaned.reset();
    TestWorld world({.seed = steps % 5 + 1});
    TestWorld::Gateway& writer = world.NewGateway();
    ASSERT_TRUE(world.Put(writer, "/a"));
    TestWorld::Gateway& cleaner = world.NewGateway();
    cleaner.scope.Spawn(KeepCleaning(CleanName(*cleaner.engine, world.Path("/a")), cleaned));
    world.executor.RunUntil([&] { return cleaned.has_value(); }, steps);
    if (cleaned) break;
    cleaner.process.SleepUntil(world.executor.Now() + std::chrono::milliseconds(500));
    ASSERT_TRUE(world.Put(writer, "/a"));
    ASSERT_TRUE(world.executor.RunUntil([&] { return cleaned.has_value(); }, 100'000));
    ASSERT_TRUE(*cleaned) << (*cleaned).error().message << " after " << steps << " steps";
  }
}

// No pass of the cleaner comes by.
TEST(CrowdedNames, ANameThatIsWrittenAgainAndAgainStaysSmall) {
  TestWorld::Options options;
  options.servers = 5;
  options.tolerance = 1;
  TestWorld world(options);
  TestWorld::Gateway& gateway = world.NewGateway();
  size_t most = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(world.Put(gateway, "/a"));
    world.Pass(seconds(10));
    (void)world.Run(CleanCrowded(*gateway.engine));
    const auto states = world.Run(ListStates(*gateway.engine, 0, TestWorld::Path("/a")));
    ASSERT_TRUE(states);
    most = std::max(most, states->size());
  }
  // Thirty versions are within the grace time of five minutes, one more or less each ten seconds.
  EXPECT_LE(most, kMany + 2 * 30);
  EXPECT_GE(most, 30u);
  EXPECT_TRUE(world.Lives(gateway, "/a"));
}

}  // namespace
}  // namespace xec
