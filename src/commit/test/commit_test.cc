// SPDX-License-Identifier: LGPL-3.0-or-later
// Put, look, remove and the cleaner: what they cost, every crash point, homes that are down or stale, lost
// replies.
#include "commit/engine/folder.hh"
#include "commit/steps/fence.hh"
#include "commit/test/test_world.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

TestWorld::Options Small(uint64_t seed = 1) {
  TestWorld::Options options;
  options.seed = seed;
  return options;
}

TestWorld::Options TwoMayFail(uint64_t seed = 1) {
  TestWorld::Options options;
  options.seed = seed;
  options.tolerance = 2;
  options.servers = 7;
  return options;
}

TEST(Commit, CostsWhatThePromisesAllow) {
  TestWorld world(TwoMayFail());
  Gateway& gateway = world.NewGateway();
  EXPECT_FALSE(world.Lives(gateway, "/a"));
  EXPECT_EQ(gateway.counts->Total(), 3u) << "not found";
  ASSERT_TRUE(world.Put(gateway, "/a"));
  gateway.counts->Reset();
  EXPECT_TRUE(world.Lives(gateway, "/a"));
  EXPECT_EQ(gateway.counts->Total(), 3u) << "found";
  gateway.counts->Reset();
  ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, world.Path("/a"))));
  EXPECT_EQ(gateway.counts->Total(), 6u) << "remove";
  const Result<Version> again = world.Put(gateway, "/a");
  ASSERT_TRUE(again);
  gateway.counts->Reset();
  ASSERT_TRUE(world.Run(RemoveSeen(*gateway.engine, world.Path("/a"), ObjectGone{*again, 1})));
  EXPECT_EQ(gateway.counts->Total(), 3u) << "remove what was just found";
  EXPECT_FALSE(world.Lives(gateway, "/a"));
}

TEST(Commit, APutSurvivesEveryCrashWholeOrNotAtAll) {
  bool without = false;
  bool with = false;
  for (size_t steps = 1;; ++steps) {
    TestWorld world(Small(steps % 5 + 1));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    const std::string old = world.StateOf(world.NewGateway(), "/a").oid;
    Gateway& gateway = world.NewGateway();
    PutRequest request{world.Path("/a"), SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
    for (const MemberIndex server : world.Placement(request.path)) {
      ASSERT_TRUE(world.Seal(gateway, request.path, server, request.seal));
      request.archives.push_back(server);
    }
    const std::string oid = request.seal.oid;
    const auto ended = world.executor.RunTask(CommitPut(*gateway.engine, std::move(request)), steps);
    gateway.Kill();
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    const std::string found = world.StateOf(fresh, "/a").oid;
    EXPECT_TRUE(found == old || found == oid) << steps;
    world.Clean(fresh);
    EXPECT_EQ(world.StateOf(fresh, "/a").oid, found) << steps << ": the cleaner changed what is visible";
    std::vector<std::string> entries = world.EntriesOf(fresh, "/a");
    EXPECT_EQ(entries.size(), world.descriptor.geometry.Total()) << steps;
    for (const std::string& entry : entries) EXPECT_TRUE(entry.starts_with("p.")) << steps << ": " << entry;
    (found == old ? without : with) = true;
    if (ended) break;
  }
  EXPECT_TRUE(with && without);
}

TEST(Commit, LostRepliesOfAPutNeverMakeAFalseAnswer) {
  for (const FaultKind kind : {FaultKind::kFailAfter, FaultKind::kFailBefore}) {
    for (uint64_t first = 1;; ++first) {
      TestWorld world(Small(first));
      Gateway& gateway = world.NewGateway();
      for (const auto& fault : gateway.faults) {
        FaultRule rule;
        rule.kind = kind;
        rule.operation = Operation::kRename;
        rule.first = first;
        rule.count = 2;
        fault->plan().Add(rule);
      }
      const Result<Version> put = world.Put(gateway, "/a");
      const bool lives = world.Lives(world.NewGateway(), "/a");
      const bool open = !put && put.code() == Code::kUnknown;
      EXPECT_TRUE(open || lives == put.has_value()) << first;
      if (first > 3) break;
    }
  }
}

// Only a quorum of the homes had an archive, and one of them failed as it was promoted: the writer was told
// "unknown", though the other homes were well.
TEST(Commit, AHomeThatFailsAsItIsPromotedIsReplacedByAnotherHome) {
  for (const FaultKind kind : {FaultKind::kFailAfter, FaultKind::kFailBefore, FaultKind::kHang}) {
    TestWorld world(Small(1));
    Gateway& gateway = world.NewGateway();
    const Homes homes = gateway.engine->Homes(world.Path("/a"));
    gateway.faults[homes[1]]->plan().Add({.kind = kind, .operation = Operation::kRename});
    const Result<Version> put = world.Put(gateway, "/a", {homes[2]});
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_EQ(world.StateOf(world.NewGateway(), "/a").version, *put);
  }
}

// Its replies come too late: what it did was seen, and is history by the time it looks.
TEST(Commit, WhoSleepsOverItsRepliesIsNotToldThatItFailed) {
  bool seen = false;
  for (size_t steps = 1; steps < 200; ++steps) {
    TestWorld world(Small(steps % 5 + 1));
    Gateway& sleeper = world.NewGateway();
    PutRequest request{world.Path("/a"), SealedState(sleeper.engine->NewObjectId()), 7, {}, 0, std::nullopt};
    for (const MemberIndex server : world.Placement(request.path)) {
      ASSERT_TRUE(world.Seal(sleeper, request.path, server, request.seal));
      request.archives.push_back(server);
    }
    std::optional<Result<Version>> put;
    const auto keep = [&put](Task<Result<Version>> task) -> Task<void> {
      Result<Version> version = co_await task;
      put = std::move(version);
    };
    sleeper.scope.Spawn(keep(CommitPut(*sleeper.engine, std::move(request))));
    world.executor.RunUntilIdle(steps);
    if (put) break;
    sleeper.process.SleepUntil(world.executor.Now() + 5h);
    world.Pass(1s);
    Gateway& fresh = world.NewGateway();
    const bool lived = world.Lives(fresh, "/a");
    ASSERT_TRUE(world.Put(fresh, "/a"));
    world.Pass(1h);
    world.Clean(fresh);
    ASSERT_TRUE(world.executor.RunUntil([&] { return put.has_value(); }, 100'000));
    if (!lived) continue;
    seen = true;
    EXPECT_TRUE(*put || put->code() == Code::kUnknown) << steps << ": " << put->error().message;
  }
  EXPECT_TRUE(seen);
}

TEST(Commit, AStaleHomeIsOutvotedAndBroughtUp) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const MemberIndex stale = HomeFinder(world.descriptor).Of("a")[0];
  const auto snapshot = world.memory[stale]->Take();
  ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, world.Path("/a"))));
  world.memory[stale]->Restore(snapshot);
  EXPECT_FALSE(world.Lives(gateway, "/a")) << "a removed object does not come back";
  world.Pass(2h);
  world.Clean(gateway);
  EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
}

// A version can be settled long after it was chosen, where its writer died: readers have what was there
// before since a moment ago only.
TEST(Commit, WhatWasSupersededJustNowIsKeptForItsReaders) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  const auto first = world.Put(gateway, "/a");
  ASSERT_TRUE(first);
  ASSERT_TRUE(world.Put(gateway, "/a", {HomeFinder(world.descriptor).Of("a")[0]}));
  world.Pass(2h);
  const auto kept = [&] {
    const auto entries = world.EntriesOf(gateway, "/a");
    return std::any_of(entries.begin(), entries.end(),
                       [&](const std::string& entry) { return entry.starts_with("p." + first->ToString()); });
  };
  ASSERT_TRUE(world.Run(CleanName(*gateway.engine, world.Path("/a"))));
  EXPECT_TRUE(kept()) << "a home accepted the second version in this very cleaning";
  world.Pass(10min);
  ASSERT_TRUE(world.Run(CleanName(*gateway.engine, world.Path("/a"))));
  EXPECT_FALSE(kept());
}

TEST(Commit, WithTooFewHomesNothingIsSaid) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  world.memory[homes[0]]->SetDown(true);
  EXPECT_TRUE(world.Lives(gateway, "/a"));
  world.memory[homes[1]]->SetDown(true);
  EXPECT_EQ(world.Run(LookUp(*gateway.engine, world.Path("/a"))).code(), Code::kNoQuorum);
  EXPECT_EQ(world.Run(RemoveObject(*gateway.engine, world.Path("/a"))).code(), Code::kNoQuorum);
  EXPECT_EQ(world.Run(CleanName(*gateway.engine, world.Path("/a"))).code(), Code::kNoQuorum);
}

TEST(Commit, ARemovalReachesAHomeThatWasAwayAndIsForgottenOnlyThen) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const MemberIndex away = HomeFinder(world.descriptor).Of("a")[2];
  world.memory[away]->SetDown(true);
  ASSERT_TRUE(world.Run(RemoveObject(*gateway.engine, world.Path("/a"))));
  world.Pass(2h);
  world.Clean(gateway);
  EXPECT_FALSE(world.EntriesOf(gateway, "/a").empty()) << "the tombstone waits";
  world.memory[away]->SetDown(false);
  EXPECT_FALSE(world.Lives(gateway, "/a"));
  world.Clean(gateway);
  EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
}

TEST(Commit, ASilentUploadIsGivenUpOnlyWithAllHomes) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  const ObjectPath path = world.Path("/a");
  const State seal = SealedState(gateway.engine->NewObjectId());
  PutRequest request{path, seal, 7, {}, 0, std::nullopt};
  for (const MemberIndex server : world.Placement(path)) {
    ASSERT_TRUE(world.Seal(gateway, path, server, seal));
    request.archives.push_back(server);
  }
  const MemberIndex away = HomeFinder(world.descriptor).Of("a")[1];
  world.Pass(2h);
  world.memory[away]->SetDown(true);
  world.Clean(gateway);
  EXPECT_FALSE(world.EntriesOf(gateway, "/a").empty());
  world.memory[away]->SetDown(false);
  world.Clean(gateway);
  EXPECT_EQ(world.Run(CommitPut(*gateway.engine, std::move(request))).code(), Code::kConflict);
  EXPECT_FALSE(world.Lives(gateway, "/a"));
}

TEST(Commit, FoldersMadeForMarksBelowAForgottenDirectoryGo) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/s"), true)));
  for (const char* name : {"/d/s", "/d"}) {
    ASSERT_TRUE(world.Run(RemoveDirectoryName(*gateway.engine, world.Path(name))));
  }
  world.Pass(2h);
  world.Clean(gateway);
  const State seal = MoveOutState(gateway.engine->NewObjectId());
  ASSERT_TRUE(world.Run(FenceAllHomes(*gateway.engine, world.Path("/d/s/b"), seal)));
  EXPECT_FALSE(world.EntriesOf(gateway, "/d/s/b").empty());
  const Result<CleanOutcome> cleaned = world.Run(CleanTree(*gateway.engine, world.Path("/")));
  ASSERT_TRUE(cleaned);
  EXPECT_GT(cleaned->left, 0u) << "marks stay until the horizon";
  EXPECT_FALSE(world.EntriesOf(gateway, "/d/s/b").empty());
  world.Clean(gateway);
  for (size_t i = 0; i < world.memory.size(); ++i) {
    const auto left = world.Run(
        List(gateway.engine->MetadataCall(), gateway.engine->server(static_cast<MemberIndex>(i)), "/"));
    ASSERT_TRUE(left);
    for (const Entry& entry : *left) EXPECT_EQ("/" + entry.name, kReservedDirectory);
  }
}

// What the servers show of `folder`, each entry once; without the store's own.
std::set<std::string> FolderOnServers(TestWorld& world, Gateway& gateway, const std::string& folder) {
  std::set<std::string> entries;
  for (size_t i = 0; i < world.memory.size(); ++i) {
    const auto server = gateway.engine->server(static_cast<MemberIndex>(i));
    const auto listed = world.Run(List(gateway.engine->MetadataCall(), server, folder));
    if (!listed) continue;
    for (const Entry& entry : *listed) entries.insert(entry.name);
    entries.erase(std::string(kReservedDirectory.substr(1)));
  }
  return entries;
}

// Its parts are made one after the other: until the last is there, no server can tell the name.
TEST(Commit, ALongNameWhoseMakerDiedOverItIsNotLeftBehind) {
  const std::string name = "/d/" + std::string(kComponentBytesMax, 'l');
  bool cut_short = false;
  for (size_t steps = 1;; ++steps) {
    TestWorld world(Small(steps % 5 + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d"), false)));
    const auto ended =
        world.executor.RunTask(MakeDirectoryName(*gateway.engine, world.Path(name), false), steps);
    gateway.Kill();
    Gateway& fresh = world.NewGateway();
    const FolderUnion known = world.Run(ListFolder(*fresh.engine, world.Path("/d")));
    const bool nameless = known.names.empty() && !FolderOnServers(world, fresh, "/d").empty();
    cut_short = cut_short || nameless;
    if (nameless) {
      const Result<CleanOutcome> cleaned = world.Run(CleanTree(*fresh.engine, world.Path("/")));
      ASSERT_TRUE(cleaned);
      EXPECT_GT(cleaned->left, 0u) << steps << ": it may be going on";
      EXPECT_FALSE(FolderOnServers(world, fresh, "/d").empty()) << steps;
    }
    world.Pass(2h);
    world.Clean(fresh);
    EXPECT_EQ(world.Lives(fresh, name), !FolderOnServers(world, fresh, "/d").empty()) << steps;
    if (ended) break;
  }
  EXPECT_TRUE(cut_short);
}

// Found by the fail point tests: an upload was fenced on homes from which the parts of its name were gone.
TEST(Commit, AnAbortMarkWithoutTheLongNameItBelongsToIsNotLeftBehind) {
  TestWorld world(Small(1));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d"), false)));
  const ObjectPath path = world.Path("/d/" + std::string(kComponentBytesMax, 'l'));
  const std::string mark = "m." + gateway.engine->NewObjectId();
  ASSERT_TRUE(world.Run(MakeMark(*gateway.engine, 0, path, mark)));
  Result<CleanOutcome> cleaned = world.Run(CleanTree(*gateway.engine, world.Path("/")));
  ASSERT_TRUE(cleaned);
  EXPECT_GT(cleaned->left, 0u) << "a request that it voids may still come";
  world.Pass(2h);
  cleaned = world.Run(CleanTree(*gateway.engine, world.Path("/")));
  ASSERT_TRUE(cleaned);
  EXPECT_EQ(cleaned->left, 0u);
  EXPECT_TRUE(FolderOnServers(world, gateway, "/d").empty());
}

TEST(Commit, ACleanerThatDiesOverALongNameLeavesItToTheNext) {
  const std::string name = "/" + std::string(kComponentBytesMax, 'l');
  bool cut_short = false;
  for (size_t steps = 1;; ++steps) {
    TestWorld world(Small(steps % 5 + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path(name), false)));
    ASSERT_TRUE(world.Run(RemoveDirectoryName(*gateway.engine, world.Path(name))));
    // The first brings the tombstone to all homes, the next forgets it.
    ASSERT_TRUE(world.Run(CleanTree(*gateway.engine, world.Path("/"))));
    world.Pass(2h);
    const auto ended = world.executor.RunTask(CleanTree(*gateway.engine, world.Path("/")), steps);
    gateway.Kill();
    Gateway& fresh = world.NewGateway();
    const FolderUnion known = world.Run(ListFolder(*fresh.engine, world.Path("/")));
    cut_short = cut_short || (known.names.empty() && !FolderOnServers(world, fresh, "/").empty());
    world.Clean(fresh);
    EXPECT_TRUE(FolderOnServers(world, fresh, "/").empty()) << steps;
    if (ended) break;
  }
  EXPECT_TRUE(cut_short);
}

TEST(Commit, AHomeThatAcceptedNothingIsTidiedToo) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  const ObjectPath path = world.Path("/a");
  const MemberIndex home = HomeFinder(world.descriptor).Of("a")[2];
  ASSERT_TRUE(world.Put(gateway, "/a", {home}));
  const Accepted current = world.StateOf(gateway, "/a");
  // Its seal arrived late: it is an archive of the version, and debt until it is promoted.
  ASSERT_TRUE(world.Seal(gateway, path, home, SealedState(current.oid)));
  world.Clean(gateway);
  for (const std::string& entry : world.EntriesOf(gateway, "/a"))
    EXPECT_TRUE(entry.starts_with("p.")) << entry;
  EXPECT_EQ(world.EntriesOf(gateway, "/a").size(), world.descriptor.geometry.Total());

  // A copy that was never proved, of this version or of one before.
  ASSERT_TRUE(world.Put(gateway, "/b", {HomeFinder(world.descriptor).Of("b")[2]}));
  for (const std::string& oid : {world.StateOf(gateway, "/b").oid, std::string(24, 'e')}) {
    State copy;
    copy.kind = StateKind::kUnproved;
    copy.version = world.StateOf(gateway, "/b").version;
    copy.oid = oid;
    copy.nonce = gateway.engine->NewNonce();
    ASSERT_TRUE(world.Seal(gateway, world.Path("/b"), HomeFinder(world.descriptor).Of("b")[2], copy));
    world.Pass(2h);
    world.Clean(gateway);
    for (const std::string& entry : world.EntriesOf(gateway, "/b"))
      EXPECT_FALSE(entry.starts_with("y.")) << entry;
  }
}

TEST(Commit, ADraftThatCameWhenAllWasForgottenIsRemoved) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  State draft;
  draft.kind = StateKind::kUnproved;
  draft.version = Version{1, 0, 1};
  draft.oid = std::string(24, 'e');
  draft.nonce = gateway.engine->NewNonce();
  ASSERT_TRUE(world.Seal(gateway, world.Path("/a"), HomeFinder(world.descriptor).Of("a")[2], draft));
  world.Pass(2h);
  world.Clean(gateway);
  EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
}

TEST(Commit, AnUnreadableManifestOnOneHomeIsTakenFromAnother) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const std::string old = world.StateOf(gateway, "/a").oid;
  const ObjectPath path = world.Path("/a");
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  PutRequest request{path, SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
  for (const MemberIndex server : world.Placement(path)) {
    if (server == homes[2]) continue;  // it is to learn of the new version by a witness
    request.archives.push_back(server);
    if (server == homes[0]) continue;
    ASSERT_TRUE(world.Seal(gateway, path, server, request.seal));
  }
  // Created, but its writer never heard so: nothing was written to it.
  const std::string empty = StatePath(path, FormatState(request.seal));
  const DataServerPtr& server = gateway.engine->server(homes[0]);
  ASSERT_TRUE(world.Run(CreateFile(gateway.engine->MetadataCall(), server, empty, "", true)));
  ASSERT_TRUE(world.Run(CommitPut(*gateway.engine, std::move(request))));
  world.Pass(2h);
  world.Clean(gateway);
  for (const std::string& entry : world.EntriesOf(gateway, "/a")) {
    EXPECT_EQ(entry.find(old), std::string::npos) << entry;
  }
}

// An exclusive creation of /race that has chosen its version and sealed.
PutRequest SealedExclusive(TestWorld& world, Gateway& gateway, const Result<ExclusiveStart>& start) {
  const ObjectPath path = TestWorld::Path("/race");
  const State seal = ExclusiveSealedState(start->version, gateway.engine->NewObjectId());
  PutRequest request{path, seal, 7, {}, 0, start->base};
  for (const MemberIndex server : world.Placement(path)) {
    EXPECT_TRUE(world.Seal(gateway, path, server, seal));
    request.archives.push_back(server);
  }
  return request;
}

// What a writer does at its end.
Task<Status> CommitOrAbandon(Engine& engine, PutRequest request) {
  const Result<Version> committed = co_await CommitPut(engine, request);
  if (committed) co_return OkStatus();
  co_await AbandonUpload(engine, request.path, request.seal, request.archives);
  co_return committed.error();
}

// The bug: all of them yielded to each other.
TEST(Commit, OfExclusiveCreationsThatEndTogetherOneWins) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    TestWorld::Options options;
    options.seed = seed;
    TestWorld world(options);
    std::vector<PutRequest> requests;
    std::vector<Gateway*> gateways;
    std::vector<Result<ExclusiveStart>> starts;
    for (int i = 0; i < 4; ++i) {
      gateways.push_back(&world.NewGateway());
      starts.push_back(world.Run(StartExclusive(*gateways[i]->engine, TestWorld::Path("/race"))));
      ASSERT_TRUE(starts[i]);
    }
    for (int i = 0; i < 4; ++i) requests.push_back(SealedExclusive(world, *gateways[i], starts[i]));
    TaskScope scope;
    Gather<Status> gather(scope, world.executor);
    for (int i = 0; i < 4; ++i) gather.Start(i, CommitOrAbandon(*gateways[i]->engine, requests[i]));
    const auto wait = [&]() -> Task<int> {
      int winners = 0;
      while (gather.pending() > 0) {
        const auto event = co_await gather.Next();
        if (*event.value) ++winners;
      }
      co_return winners;
    };
    EXPECT_EQ(world.Run(wait()), 1) << "seed " << seed;
    EXPECT_TRUE(world.StateOf(*gateways[0], "/race").Live());
  }
}

TEST(Commit, AnExclusiveCreationDoesNotWaitForeverForOneThatDied) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  const Result<ExclusiveStart> start = world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/race")));
  const Result<ExclusiveStart> later = world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/race")));
  ASSERT_TRUE(start && later);
  PutRequest request = SealedExclusive(world, gateway, start);
  SealedExclusive(world, gateway, later);
  const TimePoint begin = world.executor.Now();
  EXPECT_EQ(world.Run(CommitPut(*gateway.engine, std::move(request))).code(), Code::kConflict);
  EXPECT_LT(world.executor.Now() - begin, 15s);
}

TEST(Commit, AnExclusiveCreationYieldsToARenameOntoItsName) {
  TestWorld world(Small());
  Gateway& gateway = world.NewGateway();
  const Result<ExclusiveStart> start = world.Run(StartExclusive(*gateway.engine, world.Path("/b")));
  ASSERT_TRUE(start);
  const State seal = ExclusiveSealedState(start->version, gateway.engine->NewObjectId());
  PutRequest request{world.Path("/b"), seal, 7, {}, 0, start->base};
  for (const MemberIndex server : world.Placement(request.path)) {
    ASSERT_TRUE(world.Seal(gateway, request.path, server, seal));
    ASSERT_TRUE(world.Seal(gateway, request.path, server, MoveInState(std::string(24, 'e'))));
    request.archives.push_back(server);
  }
  EXPECT_EQ(world.Run(CommitPut(*gateway.engine, std::move(request))).code(), Code::kConflict);
}

}  // namespace
}  // namespace xec
