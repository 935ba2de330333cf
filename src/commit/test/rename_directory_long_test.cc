// SPDX-License-Identifier: LGPL-3.0-or-later
// Renames of directories that take long, beside cleaners that go on with renames whose processes died.
#include <array>

#include "commit/steps/move_log.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 1'000'000;
constexpr int kNames = 24;

size_t LogsLeft(TestWorld& world) {
  size_t logs = 0;
  for (const auto& server : world.memory) {
    for (const auto& [file, size] : server->Files()) logs += file.starts_with("/.xec/moves/") ? 1 : 0;
  }
  return logs;
}

void MakeTree(TestWorld& world, Gateway& gateway) {
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/s"), true)));
  for (int i = 0; i < kNames; ++i)
    ASSERT_TRUE(world.Put(gateway, fmt::format("{}/{}", i % 2 == 0 ? "/d" : "/d/s", i)));
}

void ExpectMoved(TestWorld& world, Gateway& gateway) {
  EXPECT_FALSE(world.Lives(gateway, "/d"));
  for (int i = 0; i < kNames; ++i)
    EXPECT_TRUE(world.Lives(gateway, fmt::format("{}/{}", i % 2 == 0 ? "/e" : "/e/s", i))) << i;
}

template <typename T>
Task<void> Keep(Task<T> task, std::optional<T>* into) {
  T result = co_await std::move(task);
  into->emplace(std::move(result));
}

// The bug: the log of a rename that took longer than the limit was taken for that of a process that died, and
// the client was told "unknown".
TEST(LongRenameDirectoryTest, NobodyTakesUpARenameAtWork) {
  TestWorldOptions options;
  options.engine.operation_limit = 8s;
  TestWorld world(options);
  Gateway& cleaner = world.NewGateway();
  MakeTree(world, cleaner);
  Gateway& renamer = world.NewGateway();
  const FaultRule slow{
      .kind = FaultKind::kDelay, .operation = Operation::kRename, .path_contains = ".~xo/r.", .delay = 400ms};
  for (const auto& fault : renamer.faults) fault->plan().Add(slow);
  const TimePoint begun = world.executor.Now();
  std::optional<Status> renamed;
  renamer.scope.Spawn(Keep(RenameDirectory(*renamer.engine, world.Path("/d"), world.Path("/e")), &renamed));
  while (!renamed && world.executor.Now() - begun < 5min) {
    world.Pass(3s);
    if (renamed) break;
    const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*cleaner.engine));
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_TRUE(!*resumed || renamed) << "it has found no rename at work";
  }
  ASSERT_TRUE(renamed);
  EXPECT_TRUE(*renamed) << renamed->error().message;
  EXPECT_GT(world.executor.Now() - begun, options.engine.operation_limit);
  world.Pass(1s);
  EXPECT_EQ(LogsLeft(world), 0u);
  ExpectMoved(world, cleaner);
}

// The bug: a name that had gone when its turn came, as one that a dead renamer had moved, kept its directory.
TEST(LongRenameDirectoryTest, ANameThatGoesMeanwhileKeepsNothingBack) {
  size_t met = 0;
  for (size_t steps = 1;; ++steps) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/s"), true)));
    for (const char* name : {"/d/a", "/d/s/b"}) ASSERT_TRUE(world.Put(gateway, name));
    Gateway& sleeper = world.NewGateway();
    std::optional<Status> renamed;
    sleeper.scope.Spawn(Keep(RenameDirectory(*sleeper.engine, world.Path("/d"), world.Path("/e")), &renamed));
    world.executor.RunUntilIdle(steps);
    if (renamed) break;
    sleeper.process.SleepUntil(world.executor.Now() + 3s);
    const bool removed = world.Run(RemoveObject(*gateway.engine, world.Path("/d/s/b"))).has_value();
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
    for (int pass = 0; pass < 4; ++pass) {
      world.Pass(2h);
      const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*gateway.engine));
      (void)resumed;
    }
    EXPECT_EQ(world.Lives(gateway, "/e/a"), !world.Lives(gateway, "/d")) << steps;
    EXPECT_EQ(world.Lives(gateway, "/e/s"), !world.Lives(gateway, "/d/s")) << steps;
    met += removed && world.Lives(gateway, "/e/s") ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(met, 0u);
}

// The bug: two processes that went on with one rename and met at a name both gave way, and then gave up.
TEST(LongRenameDirectoryTest, TwoWhoGoOnWithOneRenameBothComeToItsEnd) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    TestWorldOptions options;
    options.seed = seed;
    TestWorld world(options);
    Gateway& dies = world.NewGateway();
    MakeTree(world, dies);
    // So that they meet at objects only.
    ASSERT_TRUE(world.Run(MakeDirectoryName(*dies.engine, world.Path("/e/s"), true)));
    const MoveLog log{dies.engine->NewObjectId(), world.Path("/d"), world.Path("/e"),
                      world.StateOf(dies, "/d").version};
    ASSERT_TRUE(world.Run(WriteMoveLog(*dies.engine, log)));
    dies.Kill();
    world.Pass(2h);
    std::array<std::optional<Result<bool>>, 2> resumed;
    for (auto& one : resumed) {
      Gateway& cleaner = world.NewGateway();
      cleaner.scope.Spawn(Keep(ResumeDirectoryRenames(*cleaner.engine), &one));
    }
    ASSERT_TRUE(world.executor.RunUntil([&] { return resumed[0] && resumed[1]; }, kStepsMax)) << seed;
    for (const auto& one : resumed) EXPECT_TRUE(*one) << seed << ": " << one->error().message;
    ExpectMoved(world, world.NewGateway());
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace xec
