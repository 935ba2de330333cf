// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P8 for metadata: with t servers hung, nothing waits for their deadlines. All times are virtual.
#include <array>

#include "commit/engine/server_gather.hh"
#include "commit/programs/attributes.hh"
#include "commit/steps/fence.hh"
#include "commit/test/test_world.hh"
#include "runtime/status_of.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PatienceTest : public ::testing::Test {
 protected:
  PatienceTest() : world_(Options()), gateway_(world_.NewGateway()) {
    EXPECT_TRUE(world_.Run(MakeDirectoryName(engine(), Path("/d"), false)));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(world_.Put(gateway_, fmt::format("/d/{}", i)));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(world_.Lives(gateway_, fmt::format("/d/{}", i)));
  }

  static TestWorldOptions Options() {
    TestWorldOptions options;
    options.servers = 12;
    options.tolerance = 2;
    return options;
  }
  static ObjectPath Path(std::string_view text) { return TestWorld::Path(text); }
  Engine& engine() { return *gateway_.engine; }

  // From now on the servers answer nothing, as if stopped.
  void Stop(const std::vector<MemberIndex>& servers) {
    for (const MemberIndex server : servers) {
      FaultRule rule;
      rule.kind = FaultKind::kHang;
      gateway_.faults[server]->plan().Add(rule);
    }
  }
  // They go on, and execute what they were sent meanwhile.
  void Continue(const std::vector<MemberIndex>& servers) {
    for (const MemberIndex server : servers) {
      gateway_.faults[server]->plan().Clear();
      gateway_.faults[server]->plan().ReleaseHung();
    }
  }
  // The homes of the name that are asked first.
  std::vector<MemberIndex> FirstHomes(std::string_view path) {
    std::vector<MemberIndex> homes = engine().Homes(Path(path));
    homes.resize(2);
    return homes;
  }
  template <typename Work>
  Duration TimeOf(Work work) {
    const TimePoint begun = world_.executor.Now();
    work();
    return world_.executor.Now() - begun;
  }
  // Busy disks are given seconds for a sync.
  void MakeSlowToSync(MemberIndex home) {
    FaultPlan& plan = gateway_.faults[home]->plan();
    plan.Add({.kind = FaultKind::kDelay, .operation = Operation::kMakeDirectory, .delay = seconds(3)});
    for (int i = 0; i < 10; ++i)
      EXPECT_TRUE(world_.Run(MakeMark(engine(), home, Path("/d/0"), fmt::format("m{}", i))));
    EXPECT_EQ(engine().health().Patience(home, RequestKind::kSync), seconds(8));
    plan.Clear();
    world_.Pass(seconds(60));
  }
  int Rank(MemberIndex server) { return engine().health().Rank(server, world_.executor.Now()); }

  TestWorld world_;
  TestWorld::Gateway& gateway_;
};

TEST_F(PatienceTest, OnlyTheFirstLookUpWaitsForItsPatience) {
  Stop(FirstHomes("/d/3"));
  EXPECT_LE(TimeOf([&] { EXPECT_TRUE(world_.Lives(gateway_, "/d/3")); }), milliseconds(170));
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(TimeOf([&] { EXPECT_TRUE(world_.Lives(gateway_, fmt::format("/d/{}", i))); }), milliseconds(15))
        << i;
    EXPECT_LE(TimeOf([&] { EXPECT_FALSE(world_.Lives(gateway_, fmt::format("/d/no{}", i))); }),
              milliseconds(15))
        << i;
  }
}

TEST_F(PatienceTest, AServerThatWasStoppedBeforeIsAskedLastByEverybody) {
  Stop({3, 7});
  EXPECT_TRUE(world_.Run(ListDirectory(engine(), Path("/d"))));
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("/d/missing{}", i);
    EXPECT_LE(TimeOf([&] { EXPECT_FALSE(world_.Lives(gateway_, name)); }), milliseconds(15)) << name;
  }
}

TEST_F(PatienceTest, WhenOneIsSilentAllAreAskedAtOnce) {
  Stop({3, 7, 8});
  std::optional<Result<States>> states;
  const auto ask = [&]() -> Task<void> { states = co_await ListStates(engine(), 3, Path("/d")); };
  gateway_.scope.Spawn(ask());
  world_.Pass(milliseconds(160));
  EXPECT_EQ(Rank(3), 3);
  EXPECT_EQ(Rank(7), 0);
  engine().ByHealth({3});
  world_.Pass(milliseconds(170));
  EXPECT_EQ(Rank(7), 3);
  EXPECT_EQ(Rank(8), 3);
  EXPECT_EQ(Rank(6), 0);
}

TEST_F(PatienceTest, ListingADirectoryGoesOnWithoutTheStopped) {
  Stop({0, 1});
  const auto list = [&] {
    const auto names = world_.Run(ListDirectory(engine(), Path("/d")));
    ASSERT_TRUE(names) << names.error().message;
    EXPECT_EQ(names->size(), 10U);
  };
  EXPECT_LE(TimeOf(list), milliseconds(350));
  EXPECT_LE(TimeOf(list), milliseconds(40));
}

TEST_F(PatienceTest, NoChangeWaitsForADeadline) {
  Stop(FirstHomes("/d/3"));
  const auto check = [&](std::string_view what, Duration first, auto task) {
    EXPECT_LE(TimeOf([&] {
                const auto done = world_.Run(std::move(task));
                EXPECT_TRUE(done) << what << ": " << done.error().message;
              }),
              first)
        << what;
  };
  check("remove", milliseconds(400), StatusOf(RemoveObject(engine(), Path("/d/3"))));
  check("make directory", milliseconds(400), MakeDirectoryName(engine(), Path("/d/sub"), false));
  check("rename", milliseconds(700), StatusOf(RenameObject(engine(), Path("/d/4"), Path("/d/3"))));
  check("make it again", milliseconds(100), MakeDirectoryName(engine(), Path("/e"), false));
  check("rename directory", milliseconds(1200), RenameDirectory(engine(), Path("/d/sub"), Path("/e/sub")));
  check("remove directory", milliseconds(100), RemoveDirectoryName(engine(), Path("/e/sub")));
  auto info = world_.Run(LookUpLive(engine(), Path("/d/5")));
  ASSERT_TRUE(info);
  check("attribute", milliseconds(100), ChangeAttribute(engine(), *info, {{{"a", "b"}}, std::nullopt, {}}));
  EXPECT_LE(TimeOf([&] { EXPECT_TRUE(world_.Put(gateway_, "/d/new", {FirstHomes("/d/3")})); }), seconds(1));
}

// That is not for servers that answer nothing at all.
TEST_F(PatienceTest, AServerThatWasSlowToSyncAndHangsIsSoonFoundOut) {
  const MemberIndex home = FirstHomes("/d/sub")[1];
  MakeSlowToSync(home);
  FaultPlan& plan = gateway_.faults[home]->plan();
  plan.Add({.kind = FaultKind::kHang, .first = 2});  // it has answered the look
  EXPECT_LE(TimeOf([&] { EXPECT_TRUE(world_.Run(MakeDirectoryName(engine(), Path("/d/sub"), false))); }),
            milliseconds(1500));
  EXPECT_GT(plan.hung(), 0u);
}

// A process that gives a seal up on all homes has more patience, but looked after no server: it waited for
// eight seconds.
TEST_F(PatienceTest, AHomeThatHangsWhileASealIsFencedIsSoonFoundOut) {
  const MemberIndex home = FirstHomes("/d/3")[1];
  MakeSlowToSync(home);
  FaultPlan& plan = gateway_.faults[home]->plan();
  plan.Add({.kind = FaultKind::kHang, .first = 2});  // it has answered the listing
  const State seal = MoveOutState("0123456789abcdef01234567");
  const Duration time =
      TimeOf([&] { EXPECT_FALSE(world_.Run(FenceAllHomes(engine(), Path("/d/3"), seal))); });
  EXPECT_GE(time, seconds(1));
  EXPECT_LE(time, milliseconds(1500));
  EXPECT_GT(plan.hung(), 0u);
}

// A change by a new gateway while both servers stop at the n-th request that it sends them; it does not wait
// for them. False: it sends them fewer requests.
bool ChangeWhileTheyStop(TestWorld& world, const std::function<Task<Status>(Engine&)>& change,
                         const std::array<MemberIndex, 2>& servers, uint64_t first, const std::string& what) {
  TestWorld::Gateway& gateway = world.NewGateway();
  for (const MemberIndex server : servers)
    gateway.faults[server]->plan().Add({.kind = FaultKind::kHang, .first = first});
  const TimePoint begun = world.executor.Now();
  const Status done = world.Run(change(*gateway.engine));
  const std::string when =
      fmt::format("{}: s{} and s{} stop at request {}", what, servers[0], servers[1], first);
  EXPECT_TRUE(done) << when << ": " << done.error().message;
  EXPECT_LE(world.executor.Now() - begun, seconds(5)) << when;
  const bool stopped =
      gateway.faults[servers[0]]->plan().injected() + gateway.faults[servers[1]]->plan().injected() > 0;
  for (const auto& fault : gateway.faults) fault->plan().DropHung();
  return stopped;
}

TEST_F(PatienceTest, NoChangeWaitsForServersThatStopInTheMiddle) {
  using Change = std::function<Task<Status>(Engine&)>;
  const std::map<std::string, Change> changes = {
      {"make directory", [](Engine& engine) { return MakeDirectoryName(engine, Path("/d/sub"), false); }},
      {"remove", [](Engine& engine) { return StatusOf(RemoveObject(engine, Path("/d/3"))); }},
      {"rename", [](Engine& engine) { return StatusOf(RenameObject(engine, Path("/d/4"), Path("/d/3"))); }},
      {"rename directory", [](Engine& engine) { return RenameDirectory(engine, Path("/d"), Path("/e")); }}};
  for (const auto& [what, change] : changes) {
    const ObjectPath at = Path(what == "make directory"     ? "/d/sub"
                               : what == "rename directory" ? "/e"
                                                            : "/d/3");
    const std::vector<MemberIndex> homes = engine().Homes(at);
    for (size_t one = 0; one < homes.size(); ++one) {
      for (size_t other = 0; other < one; ++other) {
        bool stopped = true;
        for (uint64_t first = 1; stopped; ++first) {
          TestWorld world(Options());
          TestWorld::Gateway& before = world.NewGateway();
          ASSERT_TRUE(world.Run(MakeDirectoryName(*before.engine, Path("/d"), false)));
          for (const char* name : {"/d/3", "/d/4"}) ASSERT_TRUE(world.Put(before, name));
          stopped = ChangeWhileTheyStop(world, change, {homes[one], homes[other]}, first, what);
        }
      }
    }
  }
}

struct HalfDone {
  std::string what;
  std::function<Task<Status>(TestWorld&, TestWorld::Gateway&)> change;
  Operation operation = Operation::kRename;
  std::string request;  // the home that takes it shows the change
};

// The gateway dies when this home has taken the change. False: it is not one of those that are to take it.
bool TakeOnOneHome(TestWorld& world, TestWorld::Gateway& dies, const ObjectPath& path, MemberIndex knows,
                   const HalfDone& half) {
  const Homes homes = dies.engine->Homes(path);
  const Accepted before = world.StateOf(dies, path.text());
  for (const MemberIndex home : homes) {
    FaultRule rule{.kind = FaultKind::kHang, .operation = half.operation};
    rule.path_contains = half.request;
    if (home != knows) dies.faults[home]->plan().Add(rule);
  }
  const auto run = [](Task<Status> task) -> Task<void> { (void)co_await std::move(task); };
  dies.scope.Spawn(run(half.change(world, dies)));
  TestWorld::Gateway& observer = world.NewGateway();
  const auto showing = [&] {
    return std::count_if(homes.begin(), homes.end(), [&](MemberIndex home) {
      return HighestAccepted(*world.Run(ListStates(*observer.engine, home, path))) != before;
    });
  };
  for (int tries = 0; tries < 200 && showing() == 0; ++tries) world.Pass(milliseconds(1));
  dies.Kill();
  EXPECT_LE(showing(), 1);
  return showing() == 1;
}

// Any answer will do but "too few answer".
Task<Status> Forgive(Task<Status> change) {
  Status done = co_await std::move(change);
  const bool unable = !done && (done.code() == Code::kNoQuorum || done.code() == Code::kUnavailable);
  co_return unable ? std::move(done) : OkStatus();
}
template <typename T>
Task<Status> Done(Task<Result<T>> task) {
  const Result<T> result = co_await std::move(task);
  co_return result ? OkStatus() : Status(result.error());
}

// One home alone has taken a change. It stops at the n-th request of the client that comes then, as does
// another home.
TEST_F(PatienceTest, NobodyWaitsForTheHomeThatAloneKnowsAChange) {
  const ObjectPath path = Path("/d/3");
  const std::vector<HalfDone> changes = {
      {"put", [&](TestWorld& world, auto& gateway) { return world.PutOn(gateway, path, false); },
       Operation::kRename, "/3.~xo/s."},
      {"rename",
       [&](TestWorld&, auto& gateway) { return StatusOf(RenameObject(*gateway.engine, path, Path("/d/4"))); },
       Operation::kRename, "/3.~xo/r."},
      {"remove", [&](TestWorld&, auto& gateway) { return StatusOf(RemoveObject(*gateway.engine, path)); },
       Operation::kMakeDirectory, "/3.~xo/t."},
      {"make directory",
       [&](TestWorld&, auto& gateway) { return MakeDirectoryName(*gateway.engine, path, false); },
       Operation::kRename, "/3.~xo/f."}};
  const std::map<std::string, std::function<Task<Status>(Engine&)>> comers = {
      {"look up", [&](Engine& engine) { return Done(LookUp(engine, path)); }},
      {"look up the other name", [&](Engine& engine) { return Done(LookUp(engine, Path("/d/4"))); }},
      {"list", [&](Engine& engine) { return Done(ListDirectory(engine, Path("/d"))); }},
      {"remove", [&](Engine& engine) { return Forgive(StatusOf(RemoveObject(engine, path))); }},
      {"rename", [&](Engine& engine) { return Forgive(StatusOf(RenameObject(engine, path, Path("/d/4")))); }},
      {"make directory", [&](Engine& engine) { return Forgive(MakeDirectoryName(engine, path, false)); }}};
  for (const HalfDone& half : changes) {
    for (const auto& [who, come] : comers) {
      // A client that renames waits some seconds for the seals of another rename to go, whatever the servers
      // do.
      if (half.what == "rename" && who == "rename") continue;
      size_t half_done = 0;
      for (size_t knows = 0; knows < 5; ++knows) {
        for (size_t other = 0; other < 5; ++other) {
          bool stopped = true;
          for (uint64_t first = 1; stopped; ++first) {
            TestWorld world(Options());
            TestWorld::Gateway& dies = world.NewGateway();
            ASSERT_TRUE(world.Run(MakeDirectoryName(*dies.engine, Path("/d"), false)));
            if (half.what != "make directory") {
              ASSERT_TRUE(world.Put(dies, "/d/3"));
            }
            const Homes homes = dies.engine->Homes(path);
            if (!TakeOnOneHome(world, dies, path, homes[knows], half)) break;
            ++half_done;
            const std::string what = fmt::format("{} known by s{}, {}", half.what, homes[knows], who);
            stopped = ChangeWhileTheyStop(world, come, {homes[knows], homes[other]}, first, what);
          }
        }
      }
      EXPECT_GT(half_done, 20U) << half.what << ", " << who;
    }
  }
}

// Uploads make the directory that they go to, all at once, while one of its homes stops and another is slow.
TEST(PatienceOfSeveralTest, WhoMakesADirectoryBesideOthersNeitherWaitsNorFails) {
  constexpr size_t kMakers = 3;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    TestWorldOptions options;
    options.seed = seed;
    options.servers = 5;
    TestWorld world(options);
    TestWorld::Gateway& gateway = world.NewGateway();
    const Homes homes = gateway.engine->Homes(TestWorld::Path("/d"));
    const MemberIndex stops = homes[seed % 2];
    const MemberIndex slow = homes[1 - seed % 2];
    gateway.faults[stops]->plan().Add({.kind = FaultKind::kHang, .first = 1 + seed / 2 % 40});
    gateway.faults[slow]->plan().Add(
        {.kind = FaultKind::kDelay, .one_in = 1 + seed % 5, .delay = milliseconds(10 + seed % 13 * 10)});
    std::array<std::optional<Status>, kMakers> made;
    const auto make = [&](size_t i) -> Task<void> {
      made[i] = co_await MakeDirectoryName(*gateway.engine, TestWorld::Path(fmt::format("/d/{}", i)), true);
    };
    const TimePoint begun = world.executor.Now();
    for (size_t i = 0; i < kMakers; ++i) gateway.scope.Spawn(make(i));
    const auto ended = [&] { return std::all_of(made.begin(), made.end(), [](auto& m) { return m; }); };
    ASSERT_TRUE(world.executor.RunUntil(ended, 100'000)) << seed;
    EXPECT_LE(world.executor.Now() - begun, seconds(5)) << seed;
    for (const auto& one : made) EXPECT_TRUE(*one) << seed << ": " << one->error().message;
  }
}

// A seal may take as long as a sync, which is seconds; that its server is silent is known sooner.
TEST_F(PatienceTest, ASealThatWaitsNoticesWhatOthersHaveFound) {
  const MemberIndex stopped = engine().Homes(Path("/d/sub")).front();
  Stop({stopped});
  const TimePoint begun = world_.executor.Now();
  std::optional<TimePoint> late;
  const auto seal = [&]() -> Task<void> {
    ServerGather<Status> gather(engine(), RequestKind::kSync);
    gather.Start(0, stopped, seconds(8), MakeMark(engine(), stopped, Path("/d/sub"), "f.x"));
    co_await gather.Next();
    late = world_.executor.Now();
  };
  gateway_.scope.Spawn(seal());
  world_.Pass(milliseconds(200));
  EXPECT_FALSE(late);
  const auto look = [&]() -> Task<void> { (void)co_await ListStates(engine(), stopped, Path("/d/sub")); };
  gateway_.scope.Spawn(look());
  world_.Pass(seconds(1));
  ASSERT_TRUE(late);
  EXPECT_LE(*late - begun, milliseconds(600));
}

TEST_F(PatienceTest, AServerThatGoesOnIsUsedAgainWithinSeconds) {
  const std::vector<MemberIndex> stopped = FirstHomes("/d/3");
  Stop(stopped);
  EXPECT_TRUE(world_.Lives(gateway_, "/d/3"));
  world_.Pass(seconds(20));
  for (const MemberIndex server : stopped) EXPECT_EQ(Rank(server), 3);
  Continue(stopped);
  world_.Pass(seconds(4));
  for (const MemberIndex server : stopped) EXPECT_EQ(Rank(server), 0);
  gateway_.counts->Reset();
  EXPECT_TRUE(world_.Lives(gateway_, "/d/3"));
  EXPECT_EQ(gateway_.counts->Total(), 3U);
}

TEST_F(PatienceTest, MoreStoppedThanToleratedIsWaitedForAndThenCannotTell) {
  std::vector<MemberIndex> homes = engine().Homes(Path("/d/3"));
  homes.resize(3);
  Stop(homes);
  EXPECT_GE(TimeOf([&] {
              const auto info = world_.Run(LookUp(engine(), Path("/d/3")));
              ASSERT_FALSE(info);
              EXPECT_EQ(info.code(), Code::kNoQuorum);
            }),
            engine().options().metadata_timeout);
  // Known to be silent, they are still waited for: nobody else can tell.
  world_.Pass(seconds(1));
  std::optional<Result<NameInfo>> info;
  const auto keep = [&]() -> Task<void> { info = co_await LookUp(engine(), Path("/d/3")); };
  gateway_.scope.Spawn(keep());
  world_.Pass(seconds(1));
  EXPECT_FALSE(info);
  Continue(homes);
  world_.Pass(seconds(1));
  ASSERT_TRUE(info);
  EXPECT_TRUE(*info);
}

TEST_F(PatienceTest, AskInTurnAsksTheNextWhenOneIsLateAndTakesTheFirstGoodAnswer) {
  Stop({5});
  std::vector<MemberIndex> asked;
  const auto ask = [&](MemberIndex member) {
    asked.push_back(member);
    return ListStates(engine(), member, Path("/d"));
  };
  const auto good = [](MemberIndex, const Result<States>& states) { return states.has_value(); };
  EXPECT_LE(
      TimeOf([&] { EXPECT_TRUE(world_.Run(AskInTurn<Result<States>>(engine(), {5, 6, 8}, ask, good))); }),
      milliseconds(170));
  EXPECT_EQ(asked, (std::vector<MemberIndex>{5, 6}));
  asked.clear();
  EXPECT_TRUE(world_.Run(AskInTurn<Result<States>>(engine(), {5, 6, 8}, ask, good)));
  EXPECT_EQ(asked, (std::vector<MemberIndex>{6}));
}

}  // namespace
}  // namespace xec
