// SPDX-License-Identifier: LGPL-3.0-or-later
// What a rename that succeeds leaves of its seals at the new name, and which operations that keeps waiting.
#include "commit/engine/names.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

class RenameSealsTest : public ToleranceTest {
 protected:
  static bool AnySeal(TestWorld& world, Gateway& gateway, const std::string& name) {
    const std::vector<std::string> entries = world.EntriesOf(gateway, name);
    return std::any_of(entries.begin(), entries.end(),
                       [](const std::string& entry) { return entry.starts_with("q."); });
  }
  // No seal is left at /b, and when it is removed nobody waits to create it.
  static void ExpectFree(TestWorld& world, Gateway& gateway) {
    EXPECT_FALSE(AnySeal(world, gateway, "/b"));
    ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, TestWorld::Path("/b"))));
    const TimePoint begin = world.executor.Now();
    const Status created = world.Run(world.PutOn(gateway, TestWorld::Path("/b"), true));
    EXPECT_TRUE(created) << created.error().message;
    EXPECT_LT(world.executor.Now() - begin, 1s);
  }
  static Task<void> Rename(Engine& engine, std::optional<Status>& result) {
    Status status = co_await RenameObject(engine, TestWorld::Path("/a"), TestWorld::Path("/b"));
    result = std::move(status);
  }
  // A put to /b after each number of steps of a rename from /a: `after_step(world, renamer, other, renamed)`.
  template <typename AfterStep>
  static void AtEachStep(AfterStep after_step) {
    for (size_t steps = 1; steps <= 400; steps += 7) {
      SCOPED_TRACE(fmt::format("after {} steps", steps));
      TestWorld world(OptionsOf(1));
      Gateway& renamer = world.NewGateway();
      Gateway& other = world.NewGateway();
      ASSERT_TRUE(world.Put(renamer, "/a"));
      std::optional<Status> renamed;
      renamer.scope.Spawn(Rename(*renamer.engine, renamed));
      world.executor.RunUntilIdle(steps);
      after_step(world, renamer, other, renamed);
    }
  }
};

// The renamer has chosen its version, and before the new name accepts it a put is there.
TEST_P(RenameSealsTest, AreNoRivalsWhenAPutHasOvertakenTheRename) {
  size_t overtaken = 0;
  AtEachStep([&](TestWorld& world, Gateway&, Gateway& other, const std::optional<Status>& renamed) {
    const Result<Version> put = world.Put(other, "/b");
    ASSERT_TRUE(put) << put.error().message;
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, 100'000));
    ASSERT_TRUE(*renamed) << renamed->error().message;
    overtaken += world.StateOf(other, "/b").version == *put;
    ExpectFree(world, other);
  });
  EXPECT_GT(overtaken, 3u);
}

// Whoever goes on with the rename has only seen its tombstone.
TEST_P(RenameSealsTest, AreNoRivalsWhenTheRenamerDiedBeforeItWasOvertaken) {
  size_t committed = 0;
  AtEachStep([&](TestWorld& world, Gateway& renamer, Gateway& other, const std::optional<Status>&) {
    renamer.Kill();
    ASSERT_TRUE(world.Put(other, "/b"));
    if (world.Lives(other, "/a")) return;
    ++committed;
    ExpectFree(world, other);
    EXPECT_FALSE(world.Lives(other, "/a"));
  });
  EXPECT_GT(committed, 3u);
}

TEST_P(RenameSealsTest, OfAHomeThatWasLateBecomesAWitnessWhenItIsBack) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const MemberIndex home = gateway.engine->Homes(TestWorld::Path("/b"))[0];
  gateway.faults[home]->plan().Add({.operation = Operation::kRename, .path_contains = "/b.~xo/q."});
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, TestWorld::Path("/a"), TestWorld::Path("/b"))));
  EXPECT_TRUE(AnySeal(world, gateway, "/b"));
  gateway.faults[home]->plan().Clear();
  EXPECT_TRUE(world.Tidy(gateway, 10s));
  EXPECT_FALSE(AnySeal(world, gateway, "/b"));
  EXPECT_TRUE(world.Lives(gateway, "/b"));
}

INSTANTIATE_TEST_SUITE_P(Tolerance, RenameSealsTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace xec
