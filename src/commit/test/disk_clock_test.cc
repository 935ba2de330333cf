// SPDX-License-Identifier: LGPL-3.0-or-later
// Disks that go back in time: noticed by their clocks, left out, compared, used again.
#include "commit/disk/disk_clock.hh"

#include "base/contains.hh"
#include "commit/engine/names.hh"
#include "commit/programs/attributes.hh"
#include "commit/test/test_world.hh"
#include "server/decorators/identity_guard.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

TestWorld::Options Wide() {
  TestWorld::Options options;
  options.servers = 6;
  options.tolerance = 2;
  return options;
}

class DiskClockTest : public testing::Test {
 protected:
  // A process that watches the clocks.
  struct Watcher {
    explicit Watcher(TestWorld& world) : clocks(std::make_shared<DiskClocks>()) {
      std::vector<DataServerPtr> guarded, plain;
      for (size_t i = 0; i < world.memory.size(); ++i) {
        guarded.push_back(WatchDiskClock(world.memory[i], world.executor,
                                         ClockOf(world.descriptor, world.descriptor.members[i].id, clocks)));
        plain.push_back(world.memory[i]);
      }
      engine = std::make_unique<Engine>(world.descriptor, guarded, world.executor, scope, 7, EngineOptions{});
      beneath = std::make_unique<Engine>(world.descriptor, plain, world.executor, scope, 8, EngineOptions{});
    }
    ~Watcher() { scope.Abandon(); }

    TaskScope scope;
    DiskClocksPtr clocks;
    std::unique_ptr<Engine> engine, beneath;
  };

  explicit DiskClockTest(const TestWorld::Options& options = Wide())
      : world_(options), gateway_(world_.NewGateway()), watcher_(world_) {
    Tick(3);
  }
  ~DiskClockTest() override { world_.executor.RunUntilIdle(100'000); }

  CallContext Call() { return {&world_.executor, world_.executor.Now() + 10s}; }
  std::vector<MemberIndex> Round(Watcher& watcher) {
    ClockRound round = world_.Run(ReadDiskClocks(*watcher.beneath, watcher.clocks));
    const std::vector<MemberIndex> back = round.back;
    world_.Run(Advance(watcher, std::move(round)));
    return back;
  }
  static Task<bool> Advance(Watcher& watcher, ClockRound round) {
    co_await AdvanceDiskClocks(*watcher.beneath, watcher.clocks, std::move(round));
    co_return true;
  }
  void Tick(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      EXPECT_TRUE(Round(watcher_).empty());
      world_.Pass(kClockInterval);
    }
  }
  std::vector<std::string> Readings(MemberIndex member) {
    std::vector<std::string> names;
    const auto listed = world_.Run(List(Call(), world_.memory[member], std::string(kDiskClockFolder)));
    if (!listed) return names;
    for (const Entry& entry : *listed) names.push_back(entry.name);
    return names;
  }
  Status Reconcile(MemberIndex member) {
    return world_.Run(ReconcileDisk(*watcher_.engine, *watcher_.beneath, watcher_.clocks, member, nullptr));
  }
  Accepted StateIn(Engine& engine, const std::string& name) {
    const Result<NameInfo> info = world_.Run(LookUp(engine, world_.Path(name)));
    EXPECT_TRUE(info) << info.error().message;
    return info ? info->accepted : Accepted{};
  }
  Status Use(MemberIndex member) {
    const auto listed = world_.Run(List(Call(), watcher_.engine->server(member), "/"));
    return listed ? OkStatus() : Status(listed.error());
  }
  // The disk becomes as it was three readings ago.
  void GoBack(MemberIndex member) {
    const auto older = world_.memory[member]->Take();
    Tick(3);
    EXPECT_TRUE(Use(member));
    world_.memory[member]->Restore(older);
  }
  std::vector<MemberIndex> HomesOfName(const std::string& name) {
    return HomeFinder(world_.descriptor).Of(world_.Path(name).Last());
  }
  // The first three of the five are a bare quorum.
  void SetLastTwoDown(const std::vector<MemberIndex>& homes, bool down) {
    world_.memory[homes[3]]->SetDown(down);
    world_.memory[homes[4]]->SetDown(down);
  }
  // All are back, and the first one's disk is older: what the others show once it was compared.
  std::vector<States> ComparedWithOthers(const std::vector<MemberIndex>& homes, const std::string& name) {
    SetLastTwoDown(homes, false);
    world_.Pass(5s);
    const Status done = Reconcile(homes[0]);
    EXPECT_TRUE(done) << done.error().message;
    std::vector<States> others;
    for (size_t i = 1; i < homes.size(); ++i) {
      Result<States> states = world_.Run(ListStates(*gateway_.engine, homes[i], world_.Path(name)));
      EXPECT_TRUE(states);
      if (states) others.push_back(std::move(*states));
    }
    return others;
  }

  TestWorld world_;
  Gateway& gateway_;
  Watcher watcher_;
};

TEST_F(DiskClockTest, EveryDiskHasItsClockAndKnowsThoseOfTheOthers) {
  Tick(5);
  for (MemberIndex member = 0; member < world_.memory.size(); ++member) {
    const std::vector<std::string> readings = Readings(member);
    EXPECT_GE(readings.size(), 3u);
    EXPECT_LE(readings.size(), 5u);
    const auto newest = std::max_element(readings.begin(), readings.end());
    const auto text = world_.Run(
        ReadFile(Call(), world_.memory[member], fmt::format("{}/{}", kDiskClockFolder, *newest), 4096));
    ASSERT_TRUE(text);
    const auto table = ParseClockTable(world_.descriptor, *ParseDiskTime(*newest), *text);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), world_.memory.size());
  }
}

TEST_F(DiskClockTest, AnotherGatewayThatHasJustDoneSoSparesTheWork) {
  Watcher other(world_);
  const std::vector<std::string> before = Readings(0);
  EXPECT_TRUE(Round(watcher_).empty());
  const std::vector<std::string> after = Readings(0);
  EXPECT_NE(before, after);
  EXPECT_TRUE(Round(other).empty());
  EXPECT_EQ(Readings(0), after);
}

TEST_F(DiskClockTest, ADiskThatGoesBackIsLeftOutByEverybody) {
  GoBack(3);
  world_.Pass(2s);
  const Status used = Use(3);
  EXPECT_EQ(used.code(), Code::kUnavailable);
  EXPECT_NE(used.error().message.find("went back in time"), std::string::npos) << used.error().message;
  EXPECT_TRUE(Use(2));
  // A process that begins now learns it from the other disks.
  Watcher fresh(world_);
  EXPECT_EQ(Round(fresh), std::vector<MemberIndex>{3});
  // Its clock stands still meanwhile, so it stays left out.
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
  world_.Pass(kClockInterval);
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
}

TEST_F(DiskClockTest, AListingOfAnOlderDiskIsNotBelievedForLong) {
  GoBack(3);
  world_.Pass(300ms);
  EXPECT_EQ(Use(3).code(), Code::kUnavailable);
}

TEST_F(DiskClockTest, AServerThatWasOnlyAwayIsUsedAtOnce) {
  world_.memory[3]->SetDown(true);
  Tick(3);
  EXPECT_FALSE(Use(3));
  world_.memory[3]->SetDown(false);
  EXPECT_TRUE(Use(3));
  EXPECT_TRUE(Round(watcher_).empty());
}

TEST_F(DiskClockTest, WhatWasRemovedAndForgottenDoesNotComeBack) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const MemberIndex home = HomesOfName("/a").front();
  const auto older = world_.memory[home]->Take();
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, world_.Path("/a"))));
  world_.Clean(gateway_);
  EXPECT_TRUE(world_.EntriesOf(gateway_, "/a").empty());
  Tick(3);
  world_.memory[home]->Restore(older);
  // So it would be without clocks.
  EXPECT_EQ(world_.EntriesOf(gateway_, "/a").size(), 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(StateIn(*watcher_.engine, "/a").Live());
    world_.Pass(5s);
  }
  const Status done = Reconcile(home);
  ASSERT_TRUE(done) << done.error().message;
  world_.Pass(60s);
  EXPECT_TRUE(Round(watcher_).empty());
  EXPECT_TRUE(Use(home));
  EXPECT_FALSE(StateIn(*watcher_.engine, "/a").Live());
  EXPECT_TRUE(world_.EntriesOf(gateway_, "/a").empty());
}

TEST_F(DiskClockTest, ArchivesOnOtherServersGoToo) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const std::vector<MemberIndex> homes = HomesOfName("/a");
  MemberIndex other = 0;
  while (Contains(homes, other)) ++other;
  const std::string archive = fmt::format("/a.~xo/{}", world_.EntriesOf(gateway_, "/a").front());
  const auto older = world_.memory[other]->Take();
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, world_.Path("/a"))));
  world_.Clean(gateway_);
  Tick(3);
  world_.memory[other]->Restore(older);
  if (!world_.memory[other]->Content(archive)) {
    ASSERT_TRUE(world_.Run(CreateFile(Call(), world_.memory[other], archive, "x", true)));
  }
  ASSERT_TRUE(Reconcile(other));
  EXPECT_TRUE(world_.EntriesOf(gateway_, "/a").empty());
}

TEST_F(DiskClockTest, WhatStoodOnAQuorumWithItStandsOnOneWithoutIt) {
  const std::vector<MemberIndex> homes = HomesOfName("/a");
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const Version first = world_.StateOf(gateway_, "/a").version;
  const auto older = world_.memory[homes[0]]->Take();
  Tick(3);
  // The second version, and attributes, come to a bare quorum.
  SetLastTwoDown(homes, true);
  const Result<Version> second = world_.Put(gateway_, "/a");
  ASSERT_TRUE(second);
  const Result<NameInfo> info = world_.Run(LookUp(*gateway_.engine, world_.Path("/a")));
  ASSERT_TRUE(info);
  ASSERT_TRUE(world_.Run(ChangeAttribute(*gateway_.engine, *info, {{{"colour", "blue"}}, {}, {}})));
  world_.memory[homes[0]]->Restore(older);
  const std::vector<States> others = ComparedWithOthers(homes, "/a");
  size_t shown = 0, with_attributes = 0;
  for (const States& states : others) {
    shown += HasAccepted(states, *second) ? 1 : 0;
    with_attributes += std::any_of(states.begin(), states.end(),
                                   [](const State& state) { return state.kind == StateKind::kAttributes; });
  }
  EXPECT_GE(shown, 3u);
  EXPECT_GE(with_attributes, 3u);
  world_.Pass(30s);
  EXPECT_TRUE(Use(homes[0]));
  EXPECT_LT(first, StateIn(*watcher_.engine, "/a").version);
}

// Archives have still to follow, of a rename that something newer hides.
TEST_F(DiskClockTest, ARenameThatIsNotCompleteIsKnownToAQuorumWithoutIt) {
  const std::vector<MemberIndex> homes = HomesOfName("/a");
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const auto older = world_.memory[homes[0]]->Take();
  Tick(3);
  SetLastTwoDown(homes, true);
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, world_.Path("/a"), world_.Path("/b"))));
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  world_.memory[homes[0]]->Restore(older);
  const std::vector<States> others = ComparedWithOthers(homes, "/a");
  EXPECT_GE(std::count_if(others.begin(), others.end(),
                          [](const States& states) {
                            return std::any_of(states.begin(), states.end(),
                                               [](const State& state) { return state.IsMoved(); });
                          }),
            3);
}

// Of a name that is younger than the copy the disk shows nothing at all.
TEST_F(DiskClockTest, ANameThatTheOlderDiskDoesNotShowStandsOnAQuorumWithoutIt) {
  const std::vector<MemberIndex> homes = HomesOfName("/new");
  const auto older = world_.memory[homes[0]]->Take();
  Tick(3);
  SetLastTwoDown(homes, true);
  const Result<Version> version = world_.Put(gateway_, "/new");
  ASSERT_TRUE(version);
  world_.memory[homes[0]]->Restore(older);
  const std::vector<States> others = ComparedWithOthers(homes, "/new");
  EXPECT_GE(std::count_if(others.begin(), others.end(),
                          [&](const States& states) { return HasAccepted(states, *version); }),
            3);
}

TEST_F(DiskClockTest, NamesBelowDirectoriesAndLongOnesAreComparedToo) {
  const std::string deep = "/d/e/" + std::string(250, 'x');
  ASSERT_TRUE(world_.Run(MakeDirectoryName(*gateway_.engine, world_.Path("/d/e"), true)));
  ASSERT_TRUE(world_.Put(gateway_, deep));
  const MemberIndex home = HomesOfName(deep).front();
  const auto older = world_.memory[home]->Take();
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, world_.Path(deep))));
  ASSERT_TRUE(world_.Run(RemoveDirectoryName(*gateway_.engine, world_.Path("/d/e"))));
  world_.Clean(gateway_);
  Tick(3);
  world_.memory[home]->Restore(older);
  const Status done = Reconcile(home);
  ASSERT_TRUE(done) << done.error().message;
  world_.Pass(30s);
  EXPECT_FALSE(StateIn(*watcher_.engine, deep).Live());
  EXPECT_FALSE(StateIn(*watcher_.engine, "/d/e").Live());
  EXPECT_TRUE(StateIn(*watcher_.engine, "/d").Live());
}

TEST_F(DiskClockTest, SealsOfThePastGo) {
  const ObjectPath path = world_.Path("/a");
  const MemberIndex home = HomesOfName("/a").front();
  const State seal = ExclusiveSealedState(*gateway_.engine->NextVersion({}), gateway_.engine->NewObjectId());
  ASSERT_TRUE(world_.Seal(gateway_, path, home, seal));
  const auto older = world_.memory[home]->Take();
  ASSERT_TRUE(world_.Run(RemoveState(*gateway_.engine, home, path, FormatState(seal))));
  Tick(3);
  world_.memory[home]->Restore(older);
  ASSERT_TRUE(Reconcile(home));
  EXPECT_TRUE(world_.EntriesOf(gateway_, "/a").empty());
}

TEST_F(DiskClockTest, AComparisonThatIsEndedLeavesTheDiskOutAndNothingBehind) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const auto older = world_.memory[3]->Take();
  Tick(3);
  world_.memory[3]->Restore(older);
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
  const std::vector<std::string> readings = Readings(3);
  std::string last;
  Turn turn = [&](WalkPoint point) -> Task<bool> {
    last = point.at;
    co_return point.at != "/a";
  };
  const Status ended =
      world_.Run(ReconcileDisk(*watcher_.engine, *watcher_.beneath, watcher_.clocks, 3, std::move(turn)));
  EXPECT_EQ(ended.code(), Code::kCancelled);
  EXPECT_EQ(last, "/a");
  EXPECT_EQ(Readings(3), readings) << "no draft";
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
  EXPECT_TRUE(Reconcile(3));
}

TEST_F(DiskClockTest, ADiskThatGoesBackWhileItIsComparedStaysLeftOut) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const auto older = world_.memory[3]->Take();
  Tick(3);
  world_.memory[3]->Restore(older);
  std::optional<Status> done;
  watcher_.scope.Spawn([](Watcher& watcher, std::optional<Status>& result) -> Task<void> {
    result = co_await ReconcileDisk(*watcher.engine, *watcher.beneath, watcher.clocks, 3, nullptr);
  }(watcher_, done));
  world_.executor.RunUntilTime(world_.executor.Now() + 15ms);
  ASSERT_FALSE(done);
  world_.memory[3]->Restore(older);
  world_.Pass(60s);
  ASSERT_TRUE(done);
  EXPECT_FALSE(*done);
  EXPECT_EQ(Use(3).code(), Code::kUnavailable);
  EXPECT_TRUE(Reconcile(3));
  world_.Pass(30s);
  EXPECT_TRUE(Use(3));
}

// Between its look at the clocks and its writing a gateway may sleep.
TEST_F(DiskClockTest, ADiskThatGoesBackBeforeItsClockIsMovedOnIsNotTakenForGood) {
  const auto older = world_.memory[3]->Take();
  Tick(4);
  ClockRound round = world_.Run(ReadDiskClocks(*watcher_.beneath, watcher_.clocks));
  EXPECT_EQ(round.well.size(), world_.memory.size());
  world_.memory[3]->Restore(older);
  world_.Run(Advance(watcher_, std::move(round)));
  world_.Pass(2s);
  EXPECT_EQ(Use(3).code(), Code::kUnavailable);
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
}

TEST_F(DiskClockTest, ADiskThatLostAPartIsLeftOutAndCompared) {
  Watcher other(world_);
  EXPECT_TRUE(Round(other).empty());
  const Status noted = world_.Run(NotePartLost(*other.beneath, other.clocks, 3));
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_EQ(Readings(3), std::vector<std::string>{});
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3}) << "one that has not heard of it before";
  world_.Pass(2s);
  EXPECT_EQ(Use(3).code(), Code::kUnavailable);
  EXPECT_TRUE(Reconcile(3));
  EXPECT_TRUE(Use(3));
  EXPECT_TRUE(Round(watcher_).empty());
}

TEST_F(DiskClockTest, WhoHearsNoMajorityMovesNoClock) {
  for (MemberIndex member = 0; member < 3; ++member) world_.memory[member]->SetDown(true);
  const std::vector<std::string> before = Readings(3);
  world_.Pass(kClockInterval);
  EXPECT_TRUE(Round(watcher_).empty());
  EXPECT_EQ(Readings(3), before);
}

// A power cut of all servers takes the last reading of each.
TEST_F(DiskClockTest, TheLastReadingsOfAllDisksMayBeLost) {
  Tick(3);
  for (MemberIndex member = 0; member < world_.memory.size(); ++member) {
    std::vector<std::string> readings = Readings(member);
    const std::string newest = *std::max_element(readings.begin(), readings.end());
    ASSERT_TRUE(
        world_.Run(Remove(Call(), world_.memory[member], fmt::format("{}/{}", kDiskClockFolder, newest))));
  }
  EXPECT_TRUE(Round(watcher_).empty());
  EXPECT_TRUE(Use(3));
}

// The copy was made while a rename was being finished.
TEST_F(DiskClockTest, AMoveThatIsOverDoesNotBringItsTargetBack) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  const MemberIndex home = HomesOfName("/a").front();
  const std::string archive = "/a.~xo/" + world_.EntriesOf(gateway_, "/a").front();
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, world_.Path("/a"), world_.Path("/b"))));
  if (!world_.memory[home]->Content(archive)) {
    ASSERT_TRUE(world_.Run(CreateFile(Call(), world_.memory[home], archive, "x", true)));
  }
  const auto older = world_.memory[home]->Take();
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, world_.Path("/b"))));
  world_.Clean(gateway_);
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  world_.Clean(gateway_);
  Tick(4);
  world_.memory[home]->Restore(older);
  const Status done = Reconcile(home);
  ASSERT_TRUE(done) << done.error().message;
  for (const std::string& entry : world_.EntriesOf(gateway_, "/a"))
    EXPECT_FALSE(ParseState(entry)->IsMoved()) << entry;
  world_.Pass(60s);
  world_.Clean(gateway_);
  EXPECT_FALSE(StateIn(*watcher_.engine, "/b").Live());
  EXPECT_TRUE(StateIn(*watcher_.engine, "/a").Live());
}

// What the other one lacks nobody else may show.
TEST_F(DiskClockTest, AnotherDiskThatWentBackIsNoHelp) {
  const auto older = world_.memory[3]->Take();
  const auto other = world_.memory[4]->Take();
  Tick(4);
  world_.memory[3]->Restore(older);
  world_.memory[4]->Restore(other);
  world_.memory[5]->SetDown(true);
  EXPECT_EQ(Round(watcher_).size(), 2u);
  EXPECT_EQ(Reconcile(3).code(), Code::kNoQuorum);
  world_.memory[5]->SetDown(false);
  world_.Pass(60s);
  EXPECT_TRUE(Reconcile(3));
  EXPECT_TRUE(Reconcile(4));
}

TEST_F(DiskClockTest, WhileTooFewOthersAnswerItStaysLeftOut) {
  const auto older = world_.memory[3]->Take();
  Tick(3);
  world_.memory[3]->Restore(older);
  world_.memory[1]->SetDown(true);
  world_.memory[2]->SetDown(true);
  EXPECT_EQ(Reconcile(3).code(), Code::kNoQuorum);
  EXPECT_EQ(Round(watcher_), std::vector<MemberIndex>{3});
  world_.memory[1]->SetDown(false);
  world_.Pass(60s);
  EXPECT_TRUE(Reconcile(3));
}

TEST_F(DiskClockTest, TablesThatAreDamagedSayNothing) {
  const StoreDescriptor& descriptor = world_.descriptor;
  EXPECT_TRUE(ParseClockTable(descriptor, 20, "clock 1\n")->empty());
  EXPECT_EQ(ParseClockTable(descriptor, 20, "clock 1\ns03 17\nelsewhere 18\n")->size(), 1u);
  for (const char* text :
       {"", "clock 1", "clock 2\n", "clock 1\ns03 17", "clock 1\ns03\n", "clock 1\ns03 -1\n",
        "clock 1\ns03 017\n", "clock 1\ns03 99999999999999999999\n", "clock 1\n\n", "clock 1\ns03 20\n"})
    EXPECT_FALSE(ParseClockTable(descriptor, 20, text)) << text;
}

}  // namespace
}  // namespace xec
