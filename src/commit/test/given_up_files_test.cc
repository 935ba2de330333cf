// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/given_up_files.hh"

#include "commit/engine/access.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::seconds;

const TimePoint kNow = VirtualExecutor::kStart;
const Status kGone;
const Status kMissing = Fail(Code::kNotFound, "it is not there");
const Status kAway = Fail(Code::kUnavailable, "it is away");

GivenUpFiles::Taken Removed(std::string path) { return {std::move(path), {}}; }

TEST(GivenUpFiles, AreTakenByServerAndForgottenWhenTheyAreGone) {
  GivenUpFiles files;
  files.Add(3, "/a");
  files.Add(1, "/a");
  files.Add(1, "/b");
  files.Add(1, "/a");
  EXPECT_EQ(files.size(), 3u);
  EXPECT_EQ(files.Servers(kNow), (std::set<MemberIndex>{1, 3}));
  EXPECT_EQ(files.Take(1, kNow), Removed("/a"));
  EXPECT_EQ(files.Take(1, kNow), Removed("/b"));
  EXPECT_EQ(files.Take(1, kNow), std::nullopt) << "nobody else gets what is taken";
  EXPECT_EQ(files.Take(2, kNow), std::nullopt);
  EXPECT_TRUE(files.Ended(1, "/a", kGone, kNow));
  EXPECT_TRUE(files.Ended(1, "/b", kGone, kNow));
  EXPECT_EQ(files.Servers(kNow), std::set<MemberIndex>{3});
  EXPECT_EQ(files.size(), 1u);
}

TEST(GivenUpFiles, WaitWhileTheirServerTakesNoRemovals) {
  GivenUpFiles files;
  files.Add(1, "/a");
  files.Add(1, "/b");
  EXPECT_EQ(files.Take(1, kNow), Removed("/a"));
  EXPECT_FALSE(files.Ended(1, "/a", kAway, kNow));
  EXPECT_TRUE(files.Servers(kNow).empty());
  EXPECT_EQ(files.Servers(kNow + GivenUpFiles::kPause), std::set<MemberIndex>{1});
  EXPECT_EQ(files.Take(1, kNow + GivenUpFiles::kPause), Removed("/b")) << "one that fails holds up no other";
  EXPECT_EQ(files.Take(1, kNow + GivenUpFiles::kPause), Removed("/a"));
}

TEST(GivenUpFiles, WhatIsNotThereIsLookedForAgainMoreAndMoreSeldom) {
  GivenUpFiles files;
  files.Add(1, "/a");
  files.Take(1, kNow);
  EXPECT_TRUE(files.Ended(1, "/a", kMissing, kNow)) << "others may go on";
  for (const int later : {1, 3, 7, 10}) {
    const TimePoint due = kNow + seconds(later);
    EXPECT_EQ(files.Take(1, due - Duration(1)), std::nullopt) << later;
    EXPECT_EQ(files.Take(1, due), Removed("/a")) << later;
    EXPECT_TRUE(files.Ended(1, "/a", kMissing, due));
  }
  EXPECT_EQ(files.size(), 0u) << "no request that was sent before is under way any more";
}

TEST(GivenUpFiles, WhatHasCommittedIsPromoted) {
  GivenUpFiles files;
  files.Add(1, "/s", "/p");
  EXPECT_EQ(files.Take(1, kNow), (GivenUpFiles::Taken{"/s", "/p"}));
}

TEST(GivenUpFiles, TheOldestGoesWhenThereAreTooMany) {
  GivenUpFiles files;
  files.Add(2, "/oldest");
  for (size_t i = 0; i < GivenUpFiles::kFilesMax; ++i) files.Add(1, fmt::format("/{}", i));
  EXPECT_EQ(files.size(), GivenUpFiles::kFilesMax);
  EXPECT_EQ(files.Servers(kNow), std::set<MemberIndex>{1});
}

// A plain upload that fails, or an exclusive one that yields, while one of its servers is away.
class LeftSealTest : public ::testing::Test {
 protected:
  LeftSealTest() : gateway_(world_.NewGateway()), other_(world_.NewGateway()) {}

  static ObjectPath Path() { return TestWorld::Path("/a"); }
  MemberIndex Home(size_t i) const { return HomeFinder(world_.descriptor).Of("a")[i]; }

  void SealEverywhere(const State& seal, std::vector<MemberIndex>& archives) {
    for (const MemberIndex server : world_.Placement(Path())) {
      ASSERT_TRUE(world_.Seal(gateway_, Path(), server, seal));
      archives.push_back(server);
    }
  }
  State LeaveASeal() { return Leave(SealedState(gateway_.engine->NewObjectId())); }
  State Leave(State seal) {
    std::vector<MemberIndex> archives;
    SealEverywhere(seal, archives);
    world_.memory[Home(0)]->SetDown(true);
    world_.Run(Abandon(*gateway_.engine, seal, std::move(archives)));
    world_.memory[Home(0)]->SetDown(false);
    return seal;
  }
  static Task<int> Abandon(Engine& engine, State seal, std::vector<MemberIndex> archives) {
    co_await AbandonUpload(engine, Path(), std::move(seal), std::move(archives));
    co_return 0;
  }
  bool Tidy(Duration at_most) { return world_.Tidy(gateway_, at_most); }
  // The loop of a gateway, beside what the test does next.
  void RunTidying(Duration so_long) {
    for (Duration when(0); when < so_long; when += std::chrono::milliseconds(250)) {
      world_.executor.RunAt(world_.executor.Now() + when,
                            [this] { gateway_.scope.Spawn(TidyGivenUpFiles(*gateway_.engine)); });
    }
  }
  Result<Version> CreateExclusively(TestWorld::Gateway& gateway) {
    const Result<ExclusiveStart> start = world_.Run(StartExclusive(*gateway.engine, Path()));
    if (!start) return start.error();
    const State seal = ExclusiveSealedState(start->version, gateway.engine->NewObjectId());
    PutRequest request{Path(), seal, 7, {}, 0, start->base};
    for (const MemberIndex server : world_.Placement(Path())) {
      if (world_.Seal(gateway, Path(), server, seal)) request.archives.push_back(server);
    }
    const Result<Version> created = world_.Run(CommitPut(*gateway.engine, request));
    if (!created) world_.Run(Abandon(*gateway.engine, seal, request.archives));
    return created;
  }

  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_;
  TestWorld::Gateway& other_;
};

TEST_F(LeftSealTest, GoesWhenItsServerIsBack) {
  const State seal = LeaveASeal();
  EXPECT_EQ(world_.EntriesOf(other_, "/a"), std::vector<std::string>{FormatState(seal)});
  const Result<Version> created = CreateExclusively(other_);
  ASSERT_EQ(created.code(), Code::kConflict) << "nobody else knows that it is void";
  const std::string rival = other_.engine->server(Home(0))->name() + " has " + FormatState(seal);
  EXPECT_NE(created.error().message.find(rival), std::string::npos) << created.error().message;
  EXPECT_TRUE(Tidy(seconds(3)));
  EXPECT_TRUE(world_.EntriesOf(other_, "/a").empty());
}

// Gateways tidied only what had been given up since the members were changed last.
TEST_F(LeftSealTest, OfAListBeforeGoesTooWhenItsServerIsBack) {
  LeaveASeal();
  const State seal = SealedState(gateway_.engine->NewObjectId());
  std::vector<MemberIndex> archives;
  SealEverywhere(seal, archives);
  // Servers have other numbers by the next list.
  StoreDescriptor next = world_.descriptor;
  ++next.epoch;
  std::vector<DataServerPtr> servers(gateway_.faults.begin(), gateway_.faults.end());
  const MemberIndex removed = Home(0) == 0 ? 1 : 0;
  next.members.erase(next.members.begin() + removed);
  servers.erase(servers.begin() + removed);
  const auto engine = std::make_unique<Engine>(*gateway_.engine, std::move(next), std::move(servers));
  world_.memory[Home(0)]->SetDown(true);
  world_.Run(Abandon(*gateway_.engine, seal, std::move(archives)));
  world_.memory[Home(0)]->SetDown(false);
  EXPECT_EQ(world_.EntriesOf(other_, "/a").size(), 2u);
  gateway_.engine->given_up_files().Add(removed, StatePath(Path(), FormatState(seal)));
  for (int i = 0; i < 20; ++i) {
    gateway_.scope.Spawn(TidyGivenUpFiles(*engine));
    world_.Pass(seconds(1));
  }
  EXPECT_TRUE(world_.EntriesOf(other_, "/a").empty());
  EXPECT_EQ(gateway_.engine->given_up_files().size(), 0u);
  EXPECT_EQ(engine->given_up_files().size(), 0u) << "a server that is no member is left alone";
  world_.executor.RunUntilIdle(10'000);
}

TEST_F(LeftSealTest, AnExclusiveCreatorWaitsUntilItIsGone) {
  LeaveASeal();
  gateway_.engine->executor().RunAt(world_.executor.Now() + seconds(3),
                                    [this] { gateway_.scope.Spawn(TidyGivenUpFiles(*gateway_.engine)); });
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
  EXPECT_TRUE(world_.Lives(gateway_, "/a"));
}

// A chaos run: the request that made the seal overtaken by the one that was to remove it.
TEST_F(LeftSealTest, AnExclusiveCreatorWaitsUntilOneIsGoneThatIsMadeAfterItsRemoval) {
  const State seal = SealedState(gateway_.engine->NewObjectId());
  world_.Run(Abandon(*gateway_.engine, seal, {Home(0)}));
  gateway_.engine->given_up_files().Add(Home(0), StatePath(Path(), FormatState(seal)));
  EXPECT_FALSE(Tidy(std::chrono::milliseconds(500)));
  ASSERT_TRUE(world_.Seal(gateway_, Path(), Home(0), seal));
  RunTidying(seconds(20));
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
}

TEST_F(LeftSealTest, AnExclusiveOneIsWaitedForOnceItIsIdle) {
  const Result<ExclusiveStart> start = world_.Run(StartExclusive(*gateway_.engine, Path()));
  ASSERT_TRUE(start);
  Leave(ExclusiveSealedState(start->version, gateway_.engine->NewObjectId()));
  const TimePoint begin = world_.executor.Now();
  EXPECT_EQ(CreateExclusively(other_).code(), Code::kConflict) << "it may be about to win";
  EXPECT_LT(world_.executor.Now() - begin, seconds(1));
  world_.Pass(seconds(3));
  gateway_.engine->executor().RunAt(world_.executor.Now() + seconds(3),
                                    [this] { gateway_.scope.Spawn(TidyGivenUpFiles(*gateway_.engine)); });
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
}

// Else they would look like a rename under way when the version that tells better has moved on.
TEST_F(LeftSealTest, OfARenameThatAHomeMadeTooLateGoes) {
  const ObjectPath from = TestWorld::Path("/from");
  ASSERT_TRUE(world_.Put(gateway_, "/from"));
  const auto late = [&](const ObjectPath& path, const std::string& kind) {
    const MemberIndex home = gateway_.engine->Homes(path)[0];
    gateway_.faults[home]->plan().Add({.kind = FaultKind::kDelay,
                                       .operation = Operation::kCreate,
                                       .path_contains = path.ObjectDirectory() + "/" + kind,
                                       .delay = seconds(3)});
  };
  late(Path(), "q.");
  late(from, "r.");
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, from, Path())));
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, Path(), TestWorld::Path("/to"))));
  world_.Pass(seconds(3));
  RunTidying(seconds(20));
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
  for (const char* name : {"/a", "/from"}) {
    for (const std::string& entry : world_.EntriesOf(other_, name))
      EXPECT_FALSE(entry.starts_with("q.") || entry.starts_with("r.")) << name << " " << entry;
  }
}

TEST_F(LeftSealTest, OfAServerThatStaysAwayCostsNoRequests) {
  LeaveASeal();
  world_.memory[Home(0)]->SetDown(true);
  EXPECT_FALSE(Tidy(seconds(30)));
  gateway_.counts->Reset();
  EXPECT_FALSE(Tidy(seconds(10)));
  EXPECT_LE(gateway_.counts->Total(), 10u) << "probes and a removal now and then";
}

TEST_F(LeftSealTest, OfAnUploadThatBecameHistoryStandsInNobodysWay) {
  const State seal = SealedState(gateway_.engine->NewObjectId());
  PutRequest request{Path(), seal, 7, {}, 0, std::nullopt};
  SealEverywhere(seal, request.archives);
  // The writer gives up the first home, which is away until the object is removed.
  const MemberIndex given_up = Home(0);
  std::erase(request.archives, given_up);
  world_.memory[given_up]->SetDown(true);
  ASSERT_TRUE(world_.Run(CommitPut(*gateway_.engine, std::move(request))));
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, Path())));
  world_.memory[given_up]->SetDown(false);
  world_.Pass(seconds(30));
  const TimePoint begin = world_.executor.Now();
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
  EXPECT_LT(world_.executor.Now() - begin, seconds(1));
}

TEST_F(LeftSealTest, OfAHomeThatRefusesItsPromotionIsPromotedLater) {
  FaultPlan& plan = gateway_.faults[Home(0)]->plan();
  plan.Add({.operation = Operation::kRename, .error = Fail(Code::kNoSpace, "full")});
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  plan.Clear();
  EXPECT_TRUE(Tidy(seconds(10)));
  for (const std::string& entry : world_.EntriesOf(other_, "/a"))
    EXPECT_TRUE(entry.starts_with("p.")) << entry;
}

// The process that promotes or removes it died, and the archives of its version have moved away.
TEST_F(LeftSealTest, OfAVersionThatHasMovedAwayFollowsIt) {
  const State seal = SealedState(gateway_.engine->NewObjectId());
  PutRequest request{Path(), seal, 7, {}, 0, std::nullopt};
  SealEverywhere(seal, request.archives);
  const MemberIndex silent = Home(0);
  std::erase(request.archives, silent);
  world_.memory[silent]->SetDown(true);
  ASSERT_TRUE(world_.Run(CommitPut(*gateway_.engine, std::move(request))));
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, Path(), TestWorld::Path("/to"))));
  gateway_.Kill();
  world_.memory[silent]->SetDown(false);
  world_.Pass(seconds(30));
  const Result<Version> created = CreateExclusively(other_);
  EXPECT_TRUE(created) << created.error().message;
  EXPECT_TRUE(world_.Lives(other_, "/to"));
}

TEST(GivenUpFiles, WhatIsAddedAgainIsLookedForAsLongAgain) {
  GivenUpFiles files;
  files.Add(1, "/a");
  files.Take(1, kNow);
  EXPECT_TRUE(files.Ended(1, "/a", kMissing, kNow));
  const TimePoint again = kNow + seconds(9);
  files.Add(1, "/a");
  EXPECT_EQ(files.Take(1, again), Removed("/a"));
  EXPECT_TRUE(files.Ended(1, "/a", kMissing, again));
  files.Take(1, kNow + seconds(10));
  EXPECT_TRUE(files.Ended(1, "/a", kMissing, kNow + seconds(10)));
  EXPECT_EQ(files.size(), 1u);
}

}  // namespace
}  // namespace xec
