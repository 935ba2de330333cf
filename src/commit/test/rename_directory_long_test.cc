// SPDX-License-Identifier: LGPL-3.0-or-later
// Renames of directories that take long, beside cleaners that go on with renames whose processes died.
#include <algorithm>
#include <array>

#include "commit/programs/removal_seal.hh"
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

// From one directory to another one.
using Renames = std::vector<std::pair<std::string, std::string>>;

// Each rename has sealed its source, in which there is an object, and dies as long after the one before it.
void DieOverAll(TestWorld& world, const Renames& renames, Duration apart) {
  Gateway& dies = world.NewGateway();
  for (const auto& [from, to] : renames) {
    ASSERT_TRUE(world.Run(MakeDirectoryName(*dies.engine, world.Path(from), true)));
    ASSERT_TRUE(world.Put(dies, from + "/of_" + from.back()));
  }
  for (const auto& [from, to] : renames) {
    const Result<NameInfo> info = world.Run(LookUpLive(*dies.engine, world.Path(from)));
    ASSERT_TRUE(info);
    const MoveLog log{dies.engine->NewObjectId(), world.Path(from), world.Path(to), info->accepted.version};
    ASSERT_TRUE(world.Run(WriteMoveLog(*dies.engine, log)));
    ASSERT_TRUE(world.Run(SealRemoval(*dies.engine, *info)));
    world.Pass(apart);
  }
  dies.Kill();
}

// What the objects in the tree are called, wherever they are.
Task<std::vector<std::string>> FindObjects(Engine& engine, ObjectPath directory) {
  std::vector<std::string> found;
  Result<std::vector<ListedName>> names = co_await ListDirectory(engine, directory);
  EXPECT_TRUE(names) << directory.text();
  if (!names) co_return std::move(found);
  for (const ListedName& name : *names) {
    if (!name.directory) found.push_back(name.name);
    if (!name.directory) continue;
    const std::vector<std::string> below = co_await FindObjects(engine, *directory.Child(name.name));
    found.insert(found.end(), below.begin(), below.end());
  }
  std::sort(found.begin(), found.end());
  co_return std::move(found);
}

void ResumeAll(TestWorld& world, Gateway& cleaner, Duration apart) {
  for (int pass = 0; pass < 8; ++pass) {
    world.Pass(apart);
    const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*cleaner.engine));
    EXPECT_TRUE(resumed || resumed.code() == Code::kConflict) << resumed.error().message;
  }
}

void ExpectAnEnd(const Renames& ring, Duration apart) {
  TestWorld world({});
  DieOverAll(world, ring, apart);
  Gateway& cleaner = world.NewGateway();
  ResumeAll(world, cleaner, apart);
  EXPECT_EQ(LogsLeft(world), 0u);
  std::vector<std::string> objects;
  for (const auto& [from, to] : ring) {
    objects.push_back(std::string("of_") + from.back());
    EXPECT_TRUE(world.Run(MakeDirectoryName(*cleaner.engine, world.Path(from + "/new"), true))) << from;
  }
  EXPECT_EQ(world.Run(FindObjects(*cleaner.engine, world.Path("/"))), objects);
}

// The bug: renames that died half way, each into what the next one renames, waited for each other for ever
// (seed 16618), and nothing could be put into these directories any more.
TEST(LongRenameDirectoryTest, ThoseThatWaitForEachOtherComeToAnEnd) {
  const std::vector<Renames> rings = {{{"/d", "/e"}, {"/e", "/d"}},
                                      {{"/d", "/e/n"}, {"/e", "/d/n"}},
                                      {{"/d", "/e"}, {"/e", "/f"}, {"/f", "/d"}}};
  for (const Renames& ring : rings) {
    // The logs are old at the same time, or never are: each is written anew at a time of its own.
    for (const Duration apart : {Duration(20min), Duration(40s)}) {
      SCOPED_TRACE(fmt::format("{} renames, from {} to {}", ring.size(), ring[0].first, ring[0].second));
      ExpectAnEnd(ring, apart);
    }
  }
}

TEST(LongRenameDirectoryTest, OneThatOnlyWaitsForAnotherIsFinished) {
  for (const bool first : {false, true}) {
    const std::string one = first ? "/d" : "/f";
    const Renames renames = {{one, "/e"}, {"/e", "/g"}};
    TestWorld world({});
    DieOverAll(world, renames, 0s);
    Gateway& cleaner = world.NewGateway();
    ResumeAll(world, cleaner, 20min);
    EXPECT_EQ(LogsLeft(world), 0u) << one;
    EXPECT_FALSE(world.Lives(cleaner, one));
    EXPECT_TRUE(world.Lives(cleaner, "/e/of_" + one.substr(1)));
    EXPECT_TRUE(world.Lives(cleaner, "/g/of_e"));
  }
}

}  // namespace
}  // namespace xec
