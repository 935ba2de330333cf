// SPDX-License-Identifier: LGPL-3.0-or-later
// Renames of directories: every crash point, and logs that are torn, stale or on servers that are away.
#include "commit/engine/folder.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;
// Crash points between two that are tried.
constexpr size_t kStride = 7;
constexpr size_t kSleeperStride = 11;

void MakeTree(TestWorld& world, Gateway& gateway) {
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/s"), true)));
  ASSERT_TRUE(world.Put(gateway, "/d/a"));
  ASSERT_TRUE(world.Put(gateway, "/d/s/b"));
}

size_t LogsLeft(TestWorld& world) {
  size_t logs = 0;
  for (const auto& server : world.memory) {
    for (const auto& [file, size] : server->Files()) logs += file.starts_with("/.xec/moves/") ? 1 : 0;
  }
  return logs;
}

// Resumes and cleans until nothing is left to do; then the tree is under one of the names.
bool EndsMoved(TestWorld& world, const std::string& where) {
  Gateway& fresh = world.NewGateway();
  for (int pass = 0; pass < 4; ++pass) {
    world.Pass(2h);
    const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*fresh.engine));
    EXPECT_TRUE(resumed || resumed.code() == Code::kConflict) << where << ": " << resumed.error().message;
    world.Clean(fresh);
  }
  EXPECT_EQ(LogsLeft(world), 0u) << where;
  const bool moved = world.Lives(fresh, "/e/a");
  for (const std::string name : {"", "/a", "/s", "/s/b"}) {
    EXPECT_EQ(world.Lives(fresh, "/e" + name), moved) << where << ": /e" << name;
    EXPECT_EQ(world.Lives(fresh, "/d" + name), !moved) << where << ": /d" << name;
  }
  return moved;
}

Status Rename(TestWorld& world, Gateway& gateway) {
  return world.Run(RenameDirectory(*gateway.engine, world.Path("/d"), world.Path("/e")));
}

TEST(RenameDirectoryTest, EveryCrashEndsUnderOneName) {
  bool before = false;
  bool after = false;
  for (size_t steps = 1;; steps += kStride) {
    TestWorld world({.seed = steps % 5 + 1});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    const auto ended =
        world.executor.RunTask(RenameDirectory(*gateway.engine, world.Path("/d"), world.Path("/e")), steps);
    gateway.Kill();
    (EndsMoved(world, fmt::format("killed after {} steps", steps)) ? after : before) = true;
    if (HasFailure() || ended) break;
    ASSERT_LT(steps, kStepsMax);
  }
  EXPECT_TRUE(before && after) << "crashes before and after the log was whole were met";
}

// The log of a rename of /d, as it is now, to /e.
std::string LogOf(TestWorld& world, Gateway& gateway) {
  return fmt::format("xec-directory-move 1\nfrom /d\nto /e\nversion {}\nend\n",
                     world.StateOf(gateway, "/d").version.ToString());
}

// Puts a copy of a log on one server.
void WriteOn(TestWorld& world, Gateway& gateway, size_t server, std::string text, bool sync = true) {
  const std::string path = "/.xec/moves/0123456789abcdef01234567";
  const auto member = static_cast<MemberIndex>(server);
  const Status removed =
      world.Run(Remove(gateway.engine->MetadataCall(), gateway.engine->server(member), path));
  (void)removed;
  EXPECT_TRUE(world.Run(CreateFile(gateway.engine->MetadataCall(), gateway.engine->server(member), path,
                                   std::move(text), sync)));
}

TEST(RenameDirectoryTest, TornCopiesOfTheLogDoNotHideWholeOnes) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  const std::string log = LogOf(world, gateway);
  WriteOn(world, gateway, 0, "");
  WriteOn(world, gateway, 1, log.substr(0, 30));
  for (size_t i = 2; i < world.memory.size(); ++i) WriteOn(world, gateway, i, log);
  EXPECT_TRUE(EndsMoved(world, "two torn copies"));
}

TEST(RenameDirectoryTest, ALogCutShortEverywhereIsForgotten) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  for (size_t i = 0; i < world.memory.size(); ++i) WriteOn(world, gateway, i, "");
  world.Pass(2h);
  // As long as enough servers are silent, they might hold it whole.
  for (const size_t server : {0, 1}) world.memory[server]->SetDown(true);
  EXPECT_EQ(world.Run(ResumeDirectoryRenames(*gateway.engine)).code(), Code::kNoQuorum);
  EXPECT_EQ(LogsLeft(world), world.memory.size());
  for (const size_t server : {0, 1}) world.memory[server]->SetDown(false);
  EXPECT_FALSE(EndsMoved(world, "torn everywhere"));
}

// Its writer may be at it: a clock that is ahead, by less than the horizon, takes its first copies for old.
TEST(RenameDirectoryTest, ALogThatSeemsVoidIsLeftUntilTheHorizon) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  WriteOn(world, gateway, 0, LogOf(world, gateway));
  world.Pass(2min);
  const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*gateway.engine));
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_FALSE(*resumed);
  EXPECT_EQ(LogsLeft(world), 1u);
  EXPECT_FALSE(EndsMoved(world, "one copy"));
}

TEST(RenameDirectoryTest, ALogThatIsNotOnTheDisksIsWrittenAgainBeforeItIsFollowed) {
  bool after = false;
  for (size_t steps = 1;; steps += kStride) {
    TestWorld world({.seed = steps % 5 + 1});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    const std::string log = LogOf(world, gateway);
    for (size_t i = 0; i < world.memory.size(); ++i) WriteOn(world, gateway, i, log, /*sync=*/false);
    world.Pass(2h);
    const auto ended = world.executor.RunTask(ResumeDirectoryRenames(*gateway.engine), steps);
    gateway.Kill();
    for (auto& server : world.memory) server->Crash(steps);
    after = EndsMoved(world, fmt::format("power lost after {} steps", steps)) || after;
    if (HasFailure() || ended) break;
    ASSERT_LT(steps, kStepsMax);
  }
  EXPECT_TRUE(after);
}

TEST(RenameDirectoryTest, ALogOnASlowServerIsFoundInOnePass) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  WriteOn(world, gateway, 0, "");
  EXPECT_FALSE(*world.Run(ResumeDirectoryRenames(*gateway.engine))) << "somebody may still be writing it";
  world.Pass(2h);
  FaultRule slow;
  slow.kind = FaultKind::kDelay;
  slow.delay = 400ms;
  slow.path_contains = "/.xec/moves";
  gateway.faults[0]->plan().Add(slow);
  EXPECT_TRUE(world.Run(ResumeDirectoryRenames(*gateway.engine)));
  world.Pass(1s);  // the removal is late as well
  EXPECT_EQ(LogsLeft(world), 0u);
  EXPECT_TRUE(*world.Run(ResumeDirectoryRenames(*gateway.engine)));
  world.memory[1]->SetDown(true);
  EXPECT_FALSE(*world.Run(ResumeDirectoryRenames(*gateway.engine)));
}

TEST(RenameDirectoryTest, ALogThatComesBackLateRenamesNothing) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  const std::string log = LogOf(world, gateway);
  ASSERT_TRUE(Rename(world, gateway));
  // Another tree under the old name; then the log again, on one server and on all.
  MakeTree(world, gateway);
  for (const size_t servers : {size_t{1}, world.memory.size()}) {
    for (size_t i = 0; i < servers; ++i) WriteOn(world, gateway, i, log);
    world.Pass(2h);
    EXPECT_TRUE(world.Run(ResumeDirectoryRenames(*gateway.engine)));
    for (const std::string name : {"/d/a", "/d/s/b", "/e/a", "/e/s/b"}) {
      EXPECT_TRUE(world.Lives(gateway, name)) << name;
    }
    EXPECT_EQ(LogsLeft(world), 0u);
  }
}

TEST(RenameDirectoryTest, ARenameThatCannotBeLoggedLeavesNothing) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  for (size_t i = 1; i < world.memory.size(); ++i) {
    FaultRule rule;
    rule.path_contains = "/.xec/moves";
    rule.error = Error{Code::kNoSpace, "full"};
    gateway.faults[i]->plan().Add(rule);
  }
  EXPECT_EQ(Rename(world, gateway).code(), Code::kNoQuorum);
  EXPECT_EQ(LogsLeft(world), 0u);
  EXPECT_FALSE(EndsMoved(world, "not logged"));
}

// All servers have the log, but only one has said so. A process that looks for logs before it is removed goes
// on with it.
TEST(RenameDirectoryTest, ARenameThatMayBeLoggedIsUnknown) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  for (size_t i = 1; i < world.memory.size(); ++i) {
    FaultRule rule;
    rule.kind = FaultKind::kFailAfter;
    rule.operation = Operation::kClose;
    rule.path_contains = "/.xec/moves";
    rule.error = Error{Code::kUnavailable, "the connection broke"};
    gateway.faults[i]->plan().Add(rule);
  }
  EXPECT_EQ(Rename(world, gateway).code(), Code::kUnknown);
}

// Once it is logged, a rename that stops in the middle goes on later: only "unknown" says so.
TEST(RenameDirectoryTest, ARenameThatStopsHalfWayIsUnknown) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  // Somebody died over a rename of the second object.
  const std::string seal = FormatState(MoveOutState("0123456789abcdef01234567"));
  const ObjectPath path = world.Path("/d/s/b");
  for (const MemberIndex home : gateway.engine->Homes(path)) {
    ASSERT_TRUE(world.Run(CreateFile(gateway.engine->MetadataCall(), gateway.engine->server(home),
                                     StatePath(path, seal), "", true)));
  }
  EXPECT_EQ(Rename(world, gateway).code(), Code::kUnknown);
  EXPECT_TRUE(world.Lives(gateway, "/e/a"));
  EXPECT_TRUE(world.Lives(gateway, "/d/s/b"));
  EXPECT_TRUE(EndsMoved(world, "stopped half way"));
}

TEST(RenameDirectoryTest, ANameInTheWayKeepsNothingElseBack) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  ASSERT_TRUE(world.Put(gateway, "/d/z"));
  const std::string log = LogOf(world, gateway);
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/e/s"), true)));
  ASSERT_TRUE(world.Put(gateway, "/e/s/b"));
  for (size_t i = 0; i < world.memory.size(); ++i) WriteOn(world, gateway, i, log);
  world.Pass(2h);
  EXPECT_EQ(world.Run(ResumeDirectoryRenames(*gateway.engine)).code(), Code::kNotEmpty);
  for (const std::string name : {"/e/a", "/e/z", "/e/s/b", "/d/s/b"})
    EXPECT_TRUE(world.Lives(gateway, name)) << name;
  for (const std::string name : {"/d/a", "/d/z"}) EXPECT_FALSE(world.Lives(gateway, name)) << name;
  EXPECT_EQ(LogsLeft(world), 0u);
}

// A name that somebody wrote below the target while that was not there.
void PutInTheWay(TestWorld& world, Gateway& gateway) {
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/e"), true)));
  ASSERT_TRUE(world.Put(gateway, "/e/a"));
  const State removed = TombstoneState(world.StateOf(gateway, "/e").version.MoveDone());
  for (const MemberIndex home : gateway.engine->Homes(world.Path("/e")))
    ASSERT_TRUE(world.Run(MakeMark(*gateway.engine, home, world.Path("/e"), FormatState(removed))));
}

// As long as more servers than may be silent could have the log, a cleaner may go on with the rename.
TEST(RenameDirectoryTest, WhatIsInTheWayIsOnlyToldOnceNobodyGoesOn) {
  for (const size_t keep : {size_t{1}, size_t{2}}) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    PutInTheWay(world, gateway);
    ASSERT_EQ(gateway.engine->SilentServersMax(), 1u);
    for (size_t i = 0; i < keep; ++i) {
      FaultRule rule;
      rule.operation = Operation::kRemove;
      rule.path_contains = "/.xec/moves";
      gateway.faults[i]->plan().Add(rule);
    }
    EXPECT_EQ(Rename(world, gateway).code(), keep > 1 ? Code::kUnknown : Code::kNotEmpty);
    EXPECT_TRUE(world.Lives(gateway, "/e/s/b"));
    EXPECT_TRUE(world.Lives(gateway, "/d/a"));
    ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, world.Path("/e/a"))));
    world.Pass(2h);
    EXPECT_TRUE(world.Run(ResumeDirectoryRenames(*gateway.engine)));
    EXPECT_EQ(world.Lives(gateway, "/e/a"), keep > 1) << "taken up";
  }
}

using Answer = std::optional<Status>;

void RenameBy(TestWorld& world, Gateway& gateway, Answer& answer) {
  const auto keep = [](Task<Status> task, Answer* into) -> Task<void> {
    Status status = co_await task;
    *into = std::move(status);
  };
  gateway.scope.Spawn(keep(RenameDirectory(*gateway.engine, world.Path("/d"), world.Path("/e")), &answer));
}

// Does it end within so many steps? Else its process stops for a moment after these.
bool EndsWithin(TestWorld& world, Gateway& sleeper, size_t steps, Answer& renamed) {
  RenameBy(world, sleeper, renamed);
  world.executor.RunUntilIdle(steps);
  if (!renamed) sleeper.process.SleepUntil(world.executor.Now() + 3s);
  return renamed.has_value();
}

// It stops while it writes the log, and again before its end: together for longer than logs are young.
TEST(RenameDirectoryTest, ARenameIsAsOldAsTheFirstCopyOfItsLog) {
  size_t met = 0;
  for (size_t steps = 0; steps < 60; ++steps) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    PutInTheWay(world, gateway);
    Gateway& sleeper = world.NewGateway();
    Answer renamed;
    RenameBy(world, sleeper, renamed);
    while (LogsLeft(world) < world.memory.size()) ASSERT_TRUE(world.executor.RunOne());
    world.executor.RunUntilIdle(steps);
    for (int naps = 0; naps < 2 && !renamed; ++naps) {
      sleeper.process.SleepUntil(world.executor.Now() + 40s);
      world.Pass(40s + 20ms);
    }
    if (renamed) continue;
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, 100'000));
    EXPECT_FALSE(!*renamed && renamed->code() == Code::kNotEmpty) << steps;
    ++met;
  }
  EXPECT_GT(met, 0u);
}

// A directory below becomes an object while it is moved.
TEST(RenameDirectoryTest, ANameThatChangesItsKindKeepsNothingElseBack) {
  size_t met = 0;
  for (size_t steps = 1;; ++steps) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    ASSERT_TRUE(world.Put(gateway, "/d/z"));
    Gateway& sleeper = world.NewGateway();
    Answer renamed;
    if (EndsWithin(world, sleeper, steps, renamed)) break;
    const bool changed = world.Run(RemoveObject(*gateway.engine, world.Path("/d/s/b"))) &&
                         world.Run(RemoveDirectoryName(*gateway.engine, world.Path("/d/s"))) &&
                         world.Put(gateway, "/d/s").has_value();
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, 100'000));
    for (int pass = 0; pass < 4; ++pass) {
      world.Pass(2h);
      const Result<bool> resumed = world.Run(ResumeDirectoryRenames(*gateway.engine));
      (void)resumed;
    }
    if (!changed) continue;
    EXPECT_EQ(world.Lives(gateway, "/e/a"), world.Lives(gateway, "/e/z")) << steps;
    met += world.Lives(gateway, "/e/a") && world.Lives(gateway, "/d/s") ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(met, 0u);
}

// A cleaner that goes on with a rename stops for hours at some step. Meanwhile another one has finished it,
// the tree has gone from its new place, and another one is under the old name: that is not what was renamed.
TEST(RenameDirectoryTest, ASleeperLeavesAloneWhatIsThereLater) {
  bool over = false;
  for (size_t steps = 1; !over; steps += kSleeperStride) {
    SCOPED_TRACE(fmt::format("asleep after {} steps", steps));
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/t"), true)));
    const std::string log = LogOf(world, gateway);
    for (size_t i = 0; i < world.memory.size(); ++i) WriteOn(world, gateway, i, log);
    world.Pass(2h);
    Gateway& sleeper = world.NewGateway();
    bool awake = false;
    const auto resume = [](Engine& engine, bool* ended) -> Task<void> {
      const Result<bool> resumed = co_await ResumeDirectoryRenames(engine);
      (void)resumed;
      *ended = true;
    };
    sleeper.scope.Spawn(resume(*sleeper.engine, &awake));
    for (size_t i = 0; i < steps && !awake; ++i) ASSERT_TRUE(world.executor.RunOne());
    over = awake;
    sleeper.process.SleepUntil(world.executor.Now() + 20h);
    if (!EndsMoved(world, "by another cleaner")) break;
    for (const std::string name : {"/e/a", "/e/s/b"})
      ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, world.Path(name))));
    MakeTree(world, gateway);
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/t"), true)));
    world.Pass(21h);
    EXPECT_TRUE(awake);
    for (const std::string name : {"/d", "/d/a", "/d/s", "/d/s/b", "/d/t"})
      EXPECT_TRUE(world.Lives(gateway, name)) << name;
    if (HasFailure()) break;
  }
  EXPECT_TRUE(over);
}

// The contents went below the object, where nobody finds them.
TEST(RenameDirectoryTest, AnObjectPutAtTheTargetMeanwhileStaysAndKeepsTheDirectory) {
  size_t met = 0;
  for (size_t steps = 1;; ++steps) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    Gateway& sleeper = world.NewGateway();
    Answer renamed;
    if (EndsWithin(world, sleeper, steps, renamed)) break;
    const bool put = world.Put(gateway, "/e").has_value();
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, 100'000));
    if (!put) continue;
    ASSERT_FALSE(*renamed) << steps;
    // "Exists" is an answer only before the log is there; after that a cleaner may have it already.
    const bool refused = renamed->error().message.find("the object /e is in the way") != std::string::npos;
    const bool before_log = renamed->code() == Code::kAlreadyExists && !refused;
    EXPECT_TRUE(before_log || renamed->code() == Code::kUnknown) << steps << ": " << renamed->error().message;
    // While the upload was under way the rename yielded to it, and a cleaner tries again.
    met += refused ? 1 : 0;
    EXPECT_EQ(world.StateOf(gateway, "/e").kind, Accepted::kObject) << steps;
    for (const std::string name : {"/d/a", "/d/s/b"}) EXPECT_TRUE(world.Lives(gateway, name)) << steps;
    EXPECT_TRUE(!refused || LogsLeft(world) == 0) << steps;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(met, 0u);
}

TEST(RenameDirectoryTest, ANamePutAtTheTargetBetweenLookAndSealStays) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  Gateway& slow = world.NewGateway();
  for (const auto& fault : slow.faults)
    fault->plan().Add({.kind = FaultKind::kDelay, .path_contains = "/e/a.~xo/q.", .delay = 1500ms});
  std::optional<Status> renamed;
  const auto keep = [&renamed](Task<Status> task) -> Task<void> {
    Status status = co_await task;
    renamed = std::move(status);
  };
  slow.scope.Spawn(keep(RenameDirectory(*slow.engine, world.Path("/d"), world.Path("/e"))));
  world.Pass(1s);
  ASSERT_TRUE(!renamed && world.StateOf(gateway, "/e").kind == Accepted::kDirectory);
  ASSERT_TRUE(world.Put(gateway, "/e/a"));
  const std::string oid = world.StateOf(gateway, "/e/a").oid;
  ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
  EXPECT_EQ(renamed->code(), Code::kNotEmpty) << renamed->error().message;
  EXPECT_EQ(world.StateOf(gateway, "/e/a").oid, oid);
  EXPECT_TRUE(world.Lives(gateway, "/d/a"));
  EXPECT_TRUE(world.Lives(gateway, "/e/s/b"));
}

// It was "exists", where rename(2) has it that an empty directory gives way.
TEST(RenameDirectoryTest, AnEmptyDirectoryAtTheTargetTakesWhatComes) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/e"), false)));
  EXPECT_TRUE(Rename(world, gateway));
  for (const std::string name : {"/e", "/e/a", "/e/s", "/e/s/b"})
    EXPECT_TRUE(world.Lives(gateway, name)) << name;
  EXPECT_FALSE(world.Lives(gateway, "/d"));
  MakeTree(world, gateway);
  const Status full = Rename(world, gateway);
  EXPECT_EQ(full.code(), Code::kNotEmpty);
  EXPECT_EQ(full.error().message, "/e is not empty: names in it: 2");
  for (const std::string name : {"/d/a", "/d/s/b"}) EXPECT_TRUE(world.Lives(gateway, name)) << name;
  EXPECT_EQ(LogsLeft(world), 0u);
}

TEST(RenameDirectoryTest, AnEmptyTargetThatBecomesAnObjectExists) {
  for (size_t steps = 1, met = 0; met == 0; ++steps) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    MakeTree(world, gateway);
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/e"), false)));
    Answer renamed;
    ASSERT_FALSE(EndsWithin(world, world.NewGateway(), steps, renamed)) << "met none";
    if (!world.Run(RemoveDirectoryName(*gateway.engine, world.Path("/e"))) || !world.Put(gateway, "/e"))
      continue;
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
    const Code code = renamed->error().code;
    EXPECT_NE(code, Code::kNotDirectory) << steps << ": " << renamed->error().message;
    met += code == Code::kUnknown ? 1 : 0;  // once it has a log
  }
}

// The look before sealing does not show what is put after it.
TEST(RenameDirectoryTest, WhatIsBelowReplacesNothing) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  MakeTree(world, gateway);
  ASSERT_TRUE(world.Put(gateway, "/e/a"));
  const std::string oid = world.StateOf(gateway, "/e/a").oid;
  const DirectoryVersion directory{world.Path("/d"), world.StateOf(gateway, "/d").version};
  EXPECT_EQ(
      world.Run(RenameObject(*gateway.engine, world.Path("/d/a"), world.Path("/e/a"), {.below = directory}))
          .code(),
      Code::kNotEmpty);
  EXPECT_EQ(world.StateOf(gateway, "/e/a").oid, oid);
  EXPECT_TRUE(world.Lives(gateway, "/d/a"));
}

}  // namespace
}  // namespace xec
