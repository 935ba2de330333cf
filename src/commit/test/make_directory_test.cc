// SPDX-License-Identifier: LGPL-3.0-or-later
// Making directories: what it costs, several at once, homes that are away, makers that die, and what the
// cleaner makes of it.
#include "commit/engine/tidy_given_up.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

ObjectPath Name(std::string_view text) { return TestWorld::Path(text); }

Task<void> Keep(Task<Status> task, std::optional<Status>& into) {
  Status status = co_await task;
  into = std::move(status);
}

class MakeDirectoryTest : public ToleranceTest {
 protected:
  // The seals of an object that is not promoted yet.
  static PutRequest Sealed(TestWorld& world, Gateway& gateway, const std::string& name) {
    PutRequest request{Name(name), SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
    for (const MemberIndex server : world.Placement(request.path)) {
      if (world.Seal(gateway, request.path, server, request.seal)) request.archives.push_back(server);
    }
    return request;
  }
  static Task<Status> Commit(Engine& engine, PutRequest request) {
    Result<Version> put = co_await CommitPut(engine, std::move(request));
    co_return put ? OkStatus() : Status(put.error());
  }
  static Status Make(TestWorld& world, Gateway& gateway, const std::string& name, bool parents = false) {
    return world.Run(MakeDirectoryName(*gateway.engine, Name(name), parents));
  }
  static size_t Count(const std::vector<std::string>& entries, std::string_view kind) {
    return static_cast<size_t>(
        std::count_if(entries.begin(), entries.end(), [&](const auto& e) { return e.starts_with(kind); }));
  }
};

INSTANTIATE_TEST_SUITE_P(Tolerance, MakeDirectoryTest, ::testing::Values(1, 2));

TEST_P(MakeDirectoryTest, CostsFourRequestsForEachHomeOfAQuorum) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  const size_t quorum = gateway.engine->HomeQuorum(Name("/d"));
  gateway.counts->Reset();
  ASSERT_TRUE(Make(world, gateway, "/d"));
  EXPECT_EQ(gateway.counts->Total(), 4 * quorum);
  const std::vector<std::string> entries = world.EntriesOf(gateway, "/d");
  EXPECT_EQ(entries.size(), quorum);
  EXPECT_EQ(Count(entries, "d."), quorum);
}

TEST_P(MakeDirectoryTest, ManyMayMakeTheSameParents) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TestWorld world(OptionsOf(seed));
    std::vector<std::optional<Status>> made(8);
    for (size_t i = 0; i < made.size(); ++i) {
      Gateway& gateway = world.NewGateway();
      gateway.scope.Spawn(
          Keep(MakeDirectoryName(*gateway.engine, Name(fmt::format("/d/e/f{}", i % 4)), true), made[i]));
      world.executor.RunUntilIdle(seed * i);
    }
    const auto ended = [&] { return std::all_of(made.begin(), made.end(), [](const auto& m) { return m; }); };
    ASSERT_TRUE(world.executor.RunUntil(ended, kStepsMax));
    for (const std::optional<Status>& one : made)
      EXPECT_TRUE(*one || one->code() == Code::kAlreadyExists) << seed << ": " << one->error().message;
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(world.Lives(world.NewGateway(), fmt::format("/d/e/f{}", i))) << seed;
  }
}

// Made above an object of the same name that came meanwhile, what is below it could not be reached.
TEST_P(MakeDirectoryTest, NothingIsMadeBelowAnObject) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/d"));
  EXPECT_EQ(Make(world, gateway, "/d").code(), Code::kAlreadyExists);
  EXPECT_EQ(Make(world, gateway, "/d/e", true).code(), Code::kNotDirectory);
}

TEST_P(MakeDirectoryTest, YieldsToAnUploadThatIsSealedAndTakesItsSealAway) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  PutRequest request = Sealed(world, world.NewGateway(), "/d");
  const TimePoint begin = world.executor.Now();
  EXPECT_EQ(Make(world, gateway, "/d").code(), Code::kConflict);
  EXPECT_LT(world.executor.Now() - begin, 3s);
  EXPECT_EQ(Count(world.EntriesOf(gateway, "/d"), "f."), 0u);
  // Withdrawn while it is waited for.
  gateway.process.RunAt(world.executor.Now() + 500ms, [&] {
    gateway.scope.Spawn(AbandonUpload(*gateway.engine, request.path, request.seal, request.archives));
  });
  EXPECT_TRUE(Make(world, gateway, "/d"));
}

TEST_P(MakeDirectoryTest, WithHomesAway) {
  for (size_t away = 0; away < GetParam(); ++away) {
    TestWorld world(OptionsOf(1 + away));
    Gateway& gateway = world.NewGateway();
    const Homes homes = gateway.engine->Homes(Name("/d"));
    for (size_t i = 0; i <= away; ++i) world.memory[homes[i]]->SetDown(true);
    ASSERT_TRUE(Make(world, gateway, "/d"));
    for (size_t i = 0; i <= away; ++i) world.memory[homes[i]]->SetDown(false);
    EXPECT_EQ(world.StateOf(world.NewGateway(), "/d").kind, Accepted::kDirectory);
    world.Pass(2h);
    world.Clean(gateway);
    EXPECT_EQ(Count(world.EntriesOf(gateway, "/d"), "f."), 0u);
  }
}

// A home that fails at any request of it costs an attempt, or the certainty, never a false answer.
TEST_P(MakeDirectoryTest, LostRepliesNeverMakeAFalseAnswer) {
  size_t told = 0;
  for (MemberIndex server = 0; server < OptionsOf(1).servers; ++server) {
    for (const FaultKind kind : {FaultKind::kFailAfter, FaultKind::kFailBefore, FaultKind::kHang}) {
      for (uint64_t first = 1;; ++first) {
        TestWorld world(OptionsOf(first % 5 + 1));
        Gateway& gateway = world.NewGateway();
        gateway.faults[server]->plan().Add({.kind = kind, .first = first, .count = 1});
        const Status made = Make(world, gateway, "/d");
        const bool injected = gateway.faults[server]->plan().injected() > 0;
        const std::string when = fmt::format("s{} fault {} at {}", server, static_cast<int>(kind), first);
        told += made ? 1 : 0;
        EXPECT_TRUE(made || IsRetryable(made.code())) << when << made.error().message;
        const Accepted seen = world.StateOf(world.NewGateway(), "/d");
        EXPECT_TRUE(!made || seen.kind == Accepted::kDirectory) << when;
        // What hung is executed at last, perhaps after everything else was cleaned.
        gateway.faults[server]->plan().ReleaseHung();
        world.Pass(1s);
        gateway.Kill();
        world.Pass(2h);
        Gateway& fresh = world.NewGateway();
        world.Clean(fresh);
        const bool lives = world.Lives(fresh, "/d");
        EXPECT_TRUE(lives || !made) << when;
        const std::vector<std::string> entries = world.EntriesOf(fresh, "/d");
        EXPECT_EQ(Count(entries, "d."), entries.size()) << when;
        EXPECT_TRUE(lives || entries.empty()) << when;
        if (HasFailure()) return;
        if (!injected) break;
      }
    }
  }
  EXPECT_GT(told, 0u);
}

// Its maker could not take it away: it would stand in the way of uploads until the cleaner comes.
TEST_P(MakeDirectoryTest, ASealOnAServerThatIsAwayGoesWhenThatIsBack) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  Sealed(world, world.NewGateway(), "/d");
  const MemberIndex home = gateway.engine->Homes(Name("/d"))[0];
  gateway.faults[home]->plan().Add(
      {.kind = FaultKind::kFailBefore, .operation = Operation::kRemoveDirectory, .path_contains = "/f."});
  EXPECT_EQ(Make(world, gateway, "/d").code(), Code::kConflict);
  world.Pass(1s);
  const bool sealed = Count(world.EntriesOf(gateway, "/d"), "f.") > 0;
  EXPECT_EQ(sealed, gateway.engine->given_up_files().size() > 0);
  ASSERT_TRUE(sealed);
  gateway.faults[home]->plan().Clear();
  for (int i = 0; i < 40; ++i) {
    gateway.scope.Spawn(TidyGivenUpFiles(*gateway.engine));
    world.Pass(500ms);
  }
  EXPECT_EQ(Count(world.EntriesOf(gateway, "/d"), "f."), 0u);
  EXPECT_EQ(gateway.engine->given_up_files().size(), 0u);
}

// A home was late to make the seal: it was made after its maker had found nothing to take away there.
TEST_P(MakeDirectoryTest, ASealThatIsMadeLateGoesToo) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  Sealed(world, world.NewGateway(), "/d");
  const MemberIndex home = gateway.engine->Homes(Name("/d"))[0];
  gateway.faults[home]->plan().Add(
      {.kind = FaultKind::kHang, .operation = Operation::kMakeDirectory, .path_contains = "/f."});
  EXPECT_EQ(Make(world, gateway, "/d").code(), Code::kConflict);
  world.Pass(1s);
  gateway.faults[home]->plan().Clear();
  gateway.faults[home]->plan().ReleaseHung();
  world.Pass(1s);
  ASSERT_EQ(Count(world.EntriesOf(gateway, "/d"), "f."), 1u);
  for (int i = 0; i < 40; ++i) {
    gateway.scope.Spawn(TidyGivenUpFiles(*gateway.engine));
    world.Pass(500ms);
  }
  EXPECT_EQ(Count(world.EntriesOf(gateway, "/d"), "f."), 0u);
  EXPECT_EQ(gateway.engine->given_up_files().size(), 0u);
}

// A dead maker holds off uploads until the cleaner has fenced it, after twice the operation limit. It never
// holds off others that make the directory.
TEST_P(MakeDirectoryTest, ADeadMakerIsInTheWayOfUploadsOnlyUntilItIsFenced) {
  size_t held = 0;
  for (size_t steps = 1;; ++steps) {
    TestWorld world(OptionsOf(steps % 5 + 1));
    Gateway& dead = world.NewGateway();
    const auto ended = world.executor.RunTask(MakeDirectoryName(*dead.engine, Name("/d"), false), steps);
    dead.Kill();
    if (ended) break;
    Gateway& gateway = world.NewGateway();
    const size_t quorum = gateway.engine->HomeQuorum(Name("/d"));
    if (Count(world.EntriesOf(gateway, "/d"), "f.") < quorum) continue;
    ++held;
    const Result<Version> early = world.Put(gateway, "/d");
    EXPECT_EQ(early.code(), Code::kConflict);
    world.Pass(3min);
    ASSERT_TRUE(world.Run(CleanTree(*gateway.engine, Name("/"))));
    EXPECT_TRUE(world.Put(gateway, "/d")) << steps;
    EXPECT_EQ(world.StateOf(gateway, "/d").kind, Accepted::kObject);
  }
  EXPECT_GT(held, 0u);
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  const State seal = DirectorySealState(*gateway.engine->NextVersion({}), gateway.engine->NewObjectId());
  for (const MemberIndex home : gateway.engine->Homes(Name("/e")))
    ASSERT_TRUE(world.Run(MakeMark(*gateway.engine, home, Name("/e"), FormatState(seal))));
  EXPECT_TRUE(Make(world, gateway, "/e"));
}

// A seal that is fenced on some homes only may still be promoted on another one, and an upload must see that
// until all are fenced. The promotions are late; the cleaner and the writer cannot reach one home, where one
// is executed when the writer has looked.
TEST_P(MakeDirectoryTest, IsInTheWayUntilItIsFencedEverywhere) {
  size_t met = 0;
  for (size_t unreached = 0; unreached < OptionsOf(1).tolerance * 2 + 1; ++unreached) {
    for (size_t steps = 1, ended = 0; ended == 0; ++steps) {
      TestWorld world(OptionsOf(2));
      const Homes homes = HomeFinder(world.descriptor).Of("d");
      Gateway& maker = world.NewGateway();
      for (const auto& fault : maker.faults)
        fault->plan().Add({.kind = FaultKind::kDelay, .operation = Operation::kRename, .delay = 20min});
      const Status directory = Make(world, maker, "/d");
      EXPECT_EQ(directory.code(), Code::kUnknown);
      world.Pass(10min);
      Gateway& cleaner = world.NewGateway();
      cleaner.faults[homes[unreached]]->plan().SetDown(true);
      const Result<CleanOutcome> cleaned = world.Run(CleanTree(*cleaner.engine, Name("/")));
      (void)cleaned;
      Gateway& writer = world.NewGateway();
      writer.faults[homes[unreached]]->plan().SetDown(true);
      std::optional<Status> object;
      writer.scope.Spawn(Keep(Commit(*writer.engine, Sealed(world, writer, "/d")), object));
      world.executor.RunUntilIdle(steps);
      if (object) ended = steps;
      writer.process.SleepUntil(world.executor.Now() + 1h);
      world.Pass(30min);
      // This client hears that home.
      Gateway& reader = world.NewGateway();
      for (size_t i = 0, silent = 0; silent < GetParam(); ++i) {
        if (i == unreached) continue;
        reader.faults[homes[i]]->plan().SetDown(true);
        ++silent;
      }
      const Result<NameInfo> seen = world.Run(LookUp(*reader.engine, Name("/d")));
      ASSERT_TRUE(world.executor.RunUntil([&] { return object.has_value(); }, kStepsMax));
      const bool is_directory = seen && seen->accepted.kind == Accepted::kDirectory;
      met += is_directory ? 1 : 0;
      EXPECT_FALSE(*object && is_directory) << "home " << unreached << ", " << steps << " steps";
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(met, 0u);
}

}  // namespace
}  // namespace xec
