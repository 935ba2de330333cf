// SPDX-License-Identifier: LGPL-3.0-or-later
// Renames: every crash point, lost replies, homes that are down or stale, rivals; and what the cleaner makes
// of it.
#include "commit/rename/rename.hh"

#include "base/contains.hh"
#include "commit/programs/attributes.hh"
#include "commit/test/test_world.hh"
#include "runtime/status_of.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

class RenameTest : public ToleranceTest {
 protected:
  // After everybody died: exactly one of the names lives, with all its archives, and nothing else is left.
  static void ExpectOneCleanName(TestWorld& world, const std::string& a, const std::string& b,
                                 const std::string& where) {
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    const bool a_lives = world.Lives(fresh, a);
    const bool b_lives = world.Lives(fresh, b);
    EXPECT_NE(a_lives, b_lives) << where;
    world.Clean(fresh);
    EXPECT_EQ(world.Lives(fresh, a), a_lives) << where << ": the cleaner changed what is visible";
    EXPECT_EQ(world.Lives(fresh, b), b_lives) << where;
    ExpectClean(world, fresh, a, where);
    ExpectClean(world, fresh, b, where);
  }

  // A live name has all its archives and, on homes without one, a witness; a dead name has nothing.
  static void ExpectClean(TestWorld& world, Gateway& gateway, const std::string& name,
                          const std::string& where) {
    const Accepted state = world.StateOf(gateway, name);
    const std::string archive = FormatState(PromotedState(state.version, state.oid, state.size));
    std::vector<std::string> entries = world.EntriesOf(gateway, name);
    const size_t archives = std::erase(entries, archive);
    EXPECT_EQ(archives, state.Live() ? world.descriptor.geometry.Total() : 0) << where << ": " << name;
    const std::string witness = FormatState(WitnessState(state.version, state.oid, state.size));
    if (state.Live()) std::erase_if(entries, [&](const std::string& e) { return e.starts_with(witness); });
    EXPECT_EQ(entries, std::vector<std::string>{}) << where << ": " << name;
  }
};

// One client that does this and that to the names until it is killed; a cleaner does not rename.
Task<void> Wander(Gateway& gateway, std::vector<ObjectPath> names, uint64_t seed, bool cleaner) {
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    const ObjectPath name = names[random.Next() % names.size()];
    const ObjectPath other = names[random.Next() % names.size()];
    switch (cleaner ? 0 : 1 + random.Next() % 6) {
      case 0: {
        const auto cleaned = co_await CleanName(*gateway.engine, name);
        (void)cleaned;
        break;
      }
      case 1: {
        const auto removed = co_await RemoveObject(*gateway.engine, name);
        (void)removed;
        break;
      }
      case 2: {
        const auto found = co_await LookUp(*gateway.engine, name);
        (void)found;
        break;
      }
      default: {
        const auto renamed = co_await RenameObject(*gateway.engine, name, other);
        (void)renamed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tolerance, RenameTest, ::testing::Values(1, 2));

TEST_P(RenameTest, MovesTheObjectAndLeavesNothingBehind) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const Accepted before = world.StateOf(gateway, "/a");
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  EXPECT_FALSE(world.Lives(gateway, "/a"));
  EXPECT_EQ(world.StateOf(gateway, "/b").oid, before.oid);
  EXPECT_EQ(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/c"))).code(),
            Code::kNotFound);
  ExpectOneCleanName(world, "/a", "/b", "without faults");
}

// Homes keep the name of the rename that brought an object in; when it is over, archives that are lost are
// missed.
TEST_P(RenameTest, AnObjectThatWasRenamedIsFoundThin) {
  TestWorld world(OptionsOf(3));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  const auto count_thin = [&] {
    world.Pass(std::chrono::hours(2));
    const Result<CleanOutcome> cleaned = world.Run(CleanName(*gateway.engine, world.Path("/b")));
    EXPECT_TRUE(cleaned);
    return cleaned ? cleaned->thin.size() : 0;
  };
  world.Clean(gateway);
  EXPECT_EQ(count_thin(), 0u);
  // An object of seven bytes has 1 + t archives in earnest; all but t go.
  std::vector<std::pair<MemberIndex, std::string>> archives;
  for (size_t i = 0; i < world.memory.size(); ++i) {
    for (const auto& [path, size] : world.memory[i]->Files()) {
      if (path.starts_with("/b.~xo/p.")) archives.emplace_back(static_cast<MemberIndex>(i), path);
    }
  }
  ASSERT_GT(archives.size(), GetParam());
  for (size_t i = GetParam(); i < archives.size(); ++i) {
    const auto& [server, path] = archives[i];
    EXPECT_TRUE(world.Run(Remove(gateway.engine->MetadataCall(), gateway.engine->server(server), path)));
  }
  EXPECT_EQ(count_thin(), 1u);
}

TEST_P(RenameTest, ReplacesAnObjectAndRefusesDirectories) {
  TestWorld world(OptionsOf(2));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Put(gateway, "/b"));
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d"), false)));
  EXPECT_EQ(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/d"))).code(),
            Code::kIsDirectory);
  EXPECT_EQ(world.Run(RenameObject(*gateway.engine, world.Path("/d"), world.Path("/a"))).code(),
            Code::kIsDirectory);
  EXPECT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/a"))));
  const std::string oid = world.StateOf(gateway, "/a").oid;
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  EXPECT_EQ(world.StateOf(gateway, "/b").oid, oid);
  ASSERT_TRUE(world.Put(gateway, "/a"));
  EXPECT_TRUE(world.Lives(gateway, "/a"));
  EXPECT_TRUE(world.Lives(gateway, "/b"));
}

TEST_P(RenameTest, ChainsAndCirclesKeepTheArchives) {
  TestWorld world(OptionsOf(3));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  for (const auto& [from, to] : {std::pair("/a", "/b"), {"/b", "/c"}, {"/c", "/a"}, {"/a", "/b"}}) {
    ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path(from), world.Path(to))))
        << from << " to " << to;
  }
  EXPECT_FALSE(world.Lives(gateway, "/c"));
  ExpectOneCleanName(world, "/a", "/b", "after a circle");
  EXPECT_TRUE(world.EntriesOf(world.NewGateway(), "/c").empty());
}

TEST_P(RenameTest, EveryCrashPointEndsUnderOneName) {
  size_t steps = 1;
  bool before = false;
  bool after = false;
  for (;; ++steps) {
    TestWorld world(OptionsOf(steps % 7 + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    const auto ended =
        world.executor.RunTask(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")), steps);
    gateway.Kill();
    ExpectOneCleanName(world, "/a", "/b", fmt::format("killed after {} steps", steps));
    if (HasFailure()) return;
    (world.Lives(world.NewGateway(), "/b") ? after : before) = true;
    if (ended) break;
    ASSERT_LT(steps, kStepsMax);
  }
  EXPECT_TRUE(before && after) << "crashes before and after the commit were met";
}

TEST_P(RenameTest, EveryLostReplyEndsUnderOneName) {
  for (MemberIndex server = 0; server < OptionsOf(1).servers; ++server) {
    for (const FaultKind kind : {FaultKind::kFailAfter, FaultKind::kFailBefore, FaultKind::kHang}) {
      for (uint64_t first = 1;; ++first) {
        TestWorld world(OptionsOf(first % 5 + 1));
        ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
        Gateway& gateway = world.NewGateway();
        FaultRule rule;
        rule.kind = kind;
        rule.first = first;
        rule.count = 1;
        gateway.faults[server]->plan().Add(rule);
        const Status renamed = world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")));
        const bool injected = gateway.faults[server]->plan().injected() > 0;
        if (renamed) {
          EXPECT_FALSE(world.Lives(gateway, "/a"));
        } else {
          EXPECT_TRUE(IsRetryable(renamed.code())) << renamed.error().message;
        }
        // What hung is executed at last, perhaps after everything else was cleaned.
        gateway.faults[server]->plan().ReleaseHung();
        world.Pass(1s);
        gateway.Kill();
        ExpectOneCleanName(
            world, "/a", "/b",
            fmt::format("server {} fault {} at request {}", server, static_cast<int>(kind), first));
        if (HasFailure()) return;
        if (!injected) break;
      }
    }
  }
}

TEST_P(RenameTest, WithToleratedServersDownAllTheTime) {
  for (MemberIndex down = 0; down < OptionsOf(1).servers; ++down) {
    TestWorld world(OptionsOf(down + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    for (uint32_t i = 0; i < GetParam(); ++i) world.memory[(down + i) % world.memory.size()]->SetDown(true);
    ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
    EXPECT_FALSE(world.Lives(gateway, "/a"));
    EXPECT_TRUE(world.Lives(gateway, "/b"));
    world.Pass(2h);
    const auto cleaned = world.Run(CleanTree(*gateway.engine, world.Path("/")));
    EXPECT_TRUE(cleaned);
    EXPECT_TRUE(world.Lives(gateway, "/b"));
    for (const auto& server : world.memory) server->SetDown(false);
    // They come back with the old archive under the old name.
    EXPECT_FALSE(world.Lives(gateway, "/a"));
    ExpectOneCleanName(world, "/a", "/b", fmt::format("servers from {} were down", down));
  }
}

// Which server has a re-created archive is told by nothing but its own listing.
TEST_P(RenameTest, AnArchiveThatWasRecreatedElsewhereFollowsWhenItsServerIsBack) {
  TestWorld world(OptionsOf(7));
  Gateway& gateway = world.NewGateway();
  const std::vector<MemberIndex> servers = world.Placement(world.Path("/a"));
  MemberIndex elsewhere = 0;
  while (Contains(servers, elsewhere)) ++elsewhere;
  ASSERT_LT(elsewhere, world.memory.size());
  ASSERT_TRUE(world.Put(gateway, "/a", {servers.back()}));
  const Accepted state = world.StateOf(gateway, "/a");
  ASSERT_TRUE(
      world.Seal(gateway, world.Path("/a"), elsewhere, PromotedState(state.version, state.oid, state.size)));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  world.Pass(2h);
  world.memory[elsewhere]->SetDown(true);
  world.Clean(gateway);
  world.memory[elsewhere]->SetDown(false);
  ExpectOneCleanName(world, "/a", "/b", "the server of a re-created archive was away");
}

TEST_P(RenameTest, AStaleHomeDoesNotBringTheOldNameBack) {
  TestWorld world(OptionsOf(4));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const auto stale = HomeFinder(world.descriptor).Of("a")[0];
  const auto snapshot = world.memory[stale]->Take();
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  world.memory[stale]->Restore(snapshot);
  EXPECT_FALSE(world.Lives(gateway, "/a"));
  ExpectOneCleanName(world, "/a", "/b", "one home went back");
}

TEST_P(RenameTest, TwoRenamesOfOneNameEndAtOneOfTheTargets) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestWorld world(OptionsOf(seed));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    std::vector<Status> answers;
    const auto keep = [&answers](Task<Status> task) -> Task<void> {
      Status status = co_await task;
      answers.push_back(std::move(status));
    };
    TaskScope scope;
    for (const char* target : {"/b", "/c"}) {
      scope.Spawn(
          keep(StatusOf(RenameObject(*world.NewGateway().engine, world.Path("/a"), world.Path(target)))));
    }
    ASSERT_TRUE(world.executor.RunUntil([&] { return answers.size() == 2; }, kStepsMax));
    EXPECT_FALSE(answers[0] && answers[1]) << "seed " << seed;
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    world.Clean(fresh);
    const int live = world.Lives(fresh, "/a") + world.Lives(fresh, "/b") + world.Lives(fresh, "/c");
    EXPECT_EQ(live, 1) << "seed " << seed;
    for (const char* name : {"/a", "/b", "/c"}) ExpectClean(world, fresh, name, fmt::format("seed {}", seed));
  }
}

// Nobody can end it while a home is away. A process that tries again, as a cleaner does that goes on with the
// rename of a directory, leaves nothing more behind each time.
TEST_P(RenameTest, RetriesBesideADeadRenameLeaveNoMoreSeals) {
  for (size_t steps = 1;; ++steps) {
    TestWorld world(OptionsOf(steps % 7 + 1));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    Gateway& dying = world.NewGateway();
    const auto ended =
        world.executor.RunTask(RenameObject(*dying.engine, world.Path("/a"), world.Path("/b")), steps);
    dying.Kill();
    if (ended) break;
    world.Pass(1h);
    world.memory[HomeFinder(world.descriptor).Of("a")[steps % 3]]->SetDown(true);
    Gateway& gateway = world.NewGateway();
    Status renamed;
    std::vector<std::string> before, after;
    for (int tries = 0; tries < 4; ++tries) {
      renamed = world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")));
      world.Pass(1h);
      std::vector<std::string>& entries = tries == 0 ? before : after;
      entries = world.EntriesOf(gateway, "/a");
      const std::vector<std::string> target = world.EntriesOf(gateway, "/b");
      entries.insert(entries.end(), target.begin(), target.end());
    }
    if (!renamed && renamed.code() == Code::kConflict) {
      EXPECT_EQ(before.size(), after.size()) << steps;
    }
    if (HasFailure()) return;
    ASSERT_LT(steps, kStepsMax);
  }
}

TEST_P(RenameTest, APutAtTheSourceMeanwhileIsNeverLost) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestWorld world(OptionsOf(seed));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    Gateway& renamer = world.NewGateway();
    std::optional<Status> renamed;
    const auto keep = [&renamed](Task<Status> task) -> Task<void> {
      Status status = co_await task;
      renamed = std::move(status);
    };
    TaskScope scope;
    scope.Spawn(keep(StatusOf(RenameObject(*renamer.engine, world.Path("/a"), world.Path("/b")))));
    world.executor.RunUntilIdle(seed * 8);
    const Result<Version> put = world.Put(world.NewGateway(), "/a");
    ASSERT_TRUE(put) << put.error().message;
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    world.Clean(fresh);
    const bool a = world.Lives(fresh, "/a");
    const bool b = world.Lives(fresh, "/b");
    EXPECT_TRUE(a || b) << "seed " << seed;
    for (const char* name : {"/a", "/b"}) ExpectClean(world, fresh, name, fmt::format("seed {}", seed));
    if (a) {
      EXPECT_EQ(world.StateOf(fresh, "/a").version, *put) << "seed " << seed;
    }
    EXPECT_TRUE(b || !*renamed) << "seed " << seed;
  }
}

TEST_P(RenameTest, UserAttributesGoAlong) {
  TestWorld world(OptionsOf(5));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
  const UserAttributes attributes = {{"U.k", "v"}};
  ASSERT_TRUE(world.Run(ChangeAttribute(*gateway.engine, *info, AttributeChange{{{"U.k", "v"}}, {}, {}})));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  world.Pass(2h);
  world.Clean(gateway);
  const auto moved = world.Run(LookUpLive(*gateway.engine, world.Path("/b")));
  ASSERT_TRUE(moved);
  const auto read = world.Run(ReadAttributes(*gateway.engine, *moved));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->set.Values(), attributes);
  EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
}

TEST_P(RenameTest, TheCleanerLeavesARunningRenameAlone) {
  TestWorld world(OptionsOf(6));
  ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
  Gateway& renamer = world.NewGateway();
  for (const auto& fault : renamer.faults) {
    FaultRule slow;
    slow.kind = FaultKind::kDelay;
    slow.delay = 300ms;
    fault->plan().Add(slow);
  }
  std::optional<Status> renamed;
  const auto keep = [&renamed](Task<Status> task) -> Task<void> {
    Status status = co_await task;
    renamed = std::move(status);
  };
  TaskScope scope;
  scope.Spawn(keep(StatusOf(RenameObject(*renamer.engine, world.Path("/a"), world.Path("/b")))));
  Gateway& cleaner = world.NewGateway();
  while (!renamed) {
    const auto cleaned = world.Run(CleanTree(*cleaner.engine, world.Path("/")));
    (void)cleaned;  // "changing, come back later" is right as well
    world.Pass(50ms);
  }
  EXPECT_TRUE(*renamed) << renamed->error().message;
  ExpectOneCleanName(world, "/a", "/b", "cleaned all the time");
}

// A home of which the renamer never heard that it has the seal may have only the beginning of it. Where the
// rename was retired while that home was away, that is all that is left to show it.
TEST_P(RenameTest, SealsThatWereCutShortAreLeftBehindByNoCleaner) {
  for (const bool source : {true, false}) {
    TestWorld world(OptionsOf(8));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    const MemberIndex late = HomeFinder(world.descriptor).Of(source ? "a" : "b")[0];
    FaultRule rule;
    rule.kind = FaultKind::kFailAfter;
    rule.operation = Operation::kCreate;
    rule.path_contains = source ? "/r." : "/q.";
    gateway.faults[late]->plan().Add(rule);
    ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
    ASSERT_GT(gateway.faults[late]->plan().injected(), 0u);
    world.Pass(2h);
    Gateway& cleaner = world.NewGateway();
    // The cleaner's way of turning or accepting the seal works, that of retiring it or sweeping it does not
    // yet.
    FaultRule stuck;
    stuck.kind = FaultKind::kFailBefore;
    stuck.operation = source ? Operation::kRename : Operation::kRemove;
    stuck.path_contains = source ? "m." : "/w.";
    cleaner.faults[late]->plan().Add(stuck);
    ASSERT_TRUE(world.Put(cleaner, "/b"));
    world.Clean(cleaner);
    EXPECT_FALSE(world.Lives(cleaner, "/a"));
    ExpectOneCleanName(world, "/a", "/b", source ? "at the source" : "at the target");
  }
}

TEST_P(RenameTest, ANameWhoseHomesFallSilentIsNotSaidToBeGone) {
  for (size_t steps = 1; steps < 400; ++steps) {
    TestWorld world(OptionsOf(steps % 5 + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    std::optional<Status> renamed;
    const auto keep = [&renamed](Task<Status> task) -> Task<void> {
      Status status = co_await task;
      renamed = std::move(status);
    };
    gateway.scope.Spawn(keep(StatusOf(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")))));
    world.executor.RunUntilIdle(steps);
    if (renamed) break;
    for (const auto& server : world.memory) server->SetDown(true);
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
    EXPECT_TRUE(*renamed || renamed->code() != Code::kNotFound) << steps << ": " << renamed->error().message;
  }
}

// Renames there and back, removes, look-ups and cleaners that wait for nothing, on three names; clients are
// killed under way, and one server is down for a while. XEC_RENAME_SEEDS=N runs N seeds.
TEST_P(RenameTest, EverythingAtOnceEndsClean) {
  const char* more = std::getenv("XEC_RENAME_SEEDS");
  const uint64_t seeds = more == nullptr ? 60 : std::stoull(more);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    TestWorld world(OptionsOf(seed));
    Random random(seed);
    Gateway& first = world.NewGateway();
    ASSERT_TRUE(world.Put(first, "/a"));
    if (seed % 2 == 0) {
      ASSERT_TRUE(world.Put(first, "/b"));
    }
    const std::vector<ObjectPath> names = {world.Path("/a"), world.Path("/b"), world.Path("/c")};
    std::vector<Gateway*> clients;
    for (int i = 0; i < 5; ++i) {
      const bool cleaner = i >= 3;
      EngineOptions engine;
      if (cleaner) engine.superseded_grace = engine.upload_grace = engine.operation_limit = 0s;
      Gateway& gateway = world.NewGateway(engine);
      clients.push_back(&gateway);
      gateway.scope.Spawn(Wander(gateway, names, seed * 10 + static_cast<uint64_t>(i), cleaner));
    }
    const auto run = [&](uint64_t steps_max) { world.executor.RunUntilIdle(random.Next() % steps_max + 1); };
    run(2000);
    world.memory[random.Next() % world.memory.size()]->SetDown(true);
    run(2000);
    clients[0]->Kill();
    for (const auto& server : world.memory) server->SetDown(false);
    run(2000);
    for (Gateway* client : clients) client->Kill();
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    std::map<std::string, bool> lived;
    // Twice: the look at one name may decide a rename whose outcome was open, and so change another one.
    for (const ObjectPath& name : names) lived[name.text()] = world.Lives(fresh, name.text());
    for (const ObjectPath& name : names) lived[name.text()] = world.Lives(fresh, name.text());
    world.Clean(fresh);
    const std::string where = fmt::format("seed {}", seed);
    for (const ObjectPath& name : names) {
      EXPECT_EQ(world.Lives(fresh, name.text()), lived[name.text()]) << where << ": " << name.text();
      ExpectClean(world, fresh, name.text(), where);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace xec
