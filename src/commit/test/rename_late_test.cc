// SPDX-License-Identifier: LGPL-3.0-or-later
// What others do to the names while a committed rename is still being finished, or while it is not known
// whether it is.
#include "base/contains.hh"
#include "commit/engine/names.hh"
#include "commit/rename/rename.hh"
#include "commit/steps/fence.hh"
#include "commit/steps/manifest_text.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

class RenameLateTest : public ToleranceTest {};

size_t Count(const std::vector<std::string>& entries, std::string_view kind) {
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(), [&](const auto& e) { return e.starts_with(kind); }));
}

INSTANTIATE_TEST_SUITE_P(Tolerance, RenameLateTest, ::testing::Values(1, 2));

// Else what is put at the old name, and then at the new one, while the move is being finished would come
// after it at the one and before it at the other.
TEST_P(RenameLateTest, WhoFinishesAMoveSaysGoneOnlyIfItStillIs) {
  size_t met = 0;
  for (size_t steps = 1; met == 0; ++steps) {
    ASSERT_LT(steps, kStepsMax);
    for (Duration when = 100ms; when < 3s; when += 50ms) {
      TestWorld world(OptionsOf(3));
      ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
      Gateway& dying = world.NewGateway();
      world.executor.RunTask(RenameObject(*dying.engine, world.Path("/a"), world.Path("/b")), steps);
      dying.Kill();
      Gateway& writer = world.NewGateway();
      const size_t quorum = writer.engine->HomeQuorum(world.Path("/a"));
      const auto arrived = [&] { return Count(world.EntriesOf(writer, "/b"), "w.") >= quorum; };
      if (Count(world.EntriesOf(writer, "/a"), "t.") < quorum || arrived()) break;
      Gateway& reader = world.NewGateway();
      for (const auto& fault : reader.faults) fault->plan().Add({.kind = FaultKind::kDelay, .delay = 200ms});
      std::optional<Result<NameInfo>> told;
      const auto keep = [&told](Task<Result<NameInfo>> task) -> Task<void> {
        Result<NameInfo> info = co_await task;
        told = std::move(info);
      };
      TaskScope scope;
      scope.Spawn(keep(LookUp(*reader.engine, world.Path("/a"))));
      world.Pass(when);
      ASSERT_TRUE(world.Put(writer, "/a"));
      const bool before = !told && !arrived();
      ASSERT_TRUE(world.executor.RunUntil([&] { return told.has_value(); }, kStepsMax));
      if (!before) continue;
      ++met;
      EXPECT_TRUE(*told && (*told)->accepted.Live()) << "put after " << when / 1ms << " ms";
    }
  }
}

// What is put at the old name, and perhaps removed again, comes after the rename: whoever tells of it has
// found the object at its new name, and no cleaner brings it there later.
TEST_P(RenameLateTest, IsFinishedByWhoTellsWhatCameAfterIt) {
  size_t met = 0;
  for (size_t steps = 1; steps <= 600; steps += 3) {
    SCOPED_TRACE(fmt::format("after {} steps", steps));
    TestWorld world(OptionsOf(1));
    Gateway& dying = world.NewGateway();
    Gateway& other = world.NewGateway();
    ASSERT_TRUE(world.Put(dying, "/a"));
    world.executor.RunTask(RenameObject(*dying.engine, world.Path("/a"), world.Path("/b")), steps);
    dying.Kill();
    const auto arrived = [&] { return Count(world.EntriesOf(other, "/b"), "w.") > 0; };
    const bool half = Count(world.EntriesOf(other, "/a"), "t.") > 0 && !arrived();
    ASSERT_TRUE(world.Put(other, "/a"));
    met += half && !arrived();
    if (steps % 2 == 0) {
      ASSERT_TRUE(world.Run(RemoveObject(*other.engine, world.Path("/a"))));
    }
    EXPECT_EQ(world.Lives(other, "/a"), steps % 2 != 0);
    const bool renamed = world.Lives(other, "/b");
    world.Clean(other);
    EXPECT_EQ(world.Lives(other, "/b"), renamed);
  }
  EXPECT_GT(met, 0u);
}

// Whether the rename is retired is not known as long as a home of its source is late: what is kept because of
// that is told as left.
TEST_P(RenameLateTest, AWitnessKeptForALateSourceIsLeft) {
  TestWorld world(OptionsOf(5));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  world.Pass(2h);
  for (int pass = 0; pass < 4; ++pass) {
    ASSERT_TRUE(world.Run(CleanName(*gateway.engine, world.Path("/a"))));
    world.Pass(2h);
  }
  ASSERT_TRUE(world.EntriesOf(gateway, "/a").empty());
  ASSERT_TRUE(world.Put(gateway, "/b"));
  world.Pass(2h);
  Gateway& slow = world.NewGateway();
  slow.faults[HomeFinder(world.descriptor).Of("a")[0]]->plan().Add(
      {.kind = FaultKind::kDelay, .path_contains = "/a.", .delay = 1500ms});
  const auto superseded = [&] {
    const Version current = world.StateOf(gateway, "/b").version;
    const std::vector<std::string> entries = world.EntriesOf(gateway, "/b");
    return std::any_of(entries.begin(), entries.end(),
                       [&](const std::string& e) { return *ParseState(e)->version < current; });
  };
  ASSERT_TRUE(superseded());
  const Result<CleanOutcome> cleaned = world.Run(CleanName(*slow.engine, world.Path("/b")));
  EXPECT_TRUE(superseded());
  ASSERT_TRUE(cleaned) << cleaned.error().message;
  EXPECT_GT(cleaned->left, 0u);
  world.Clean(gateway);
  EXPECT_FALSE(superseded());
}

// The tombstone's maker died before it had synced what it renamed: a power cut may take that back, and the
// object would be under both names.
TEST_P(RenameLateTest, ATombstoneThatIsOnlySeenIsMadeDurableFirst) {
  size_t before_target = 0;
  size_t before_archives = 0;
  for (size_t steps = 1; before_target * before_archives == 0; ++steps) {
    ASSERT_LT(steps, kStepsMax);
    TestWorld world(OptionsOf(3));
    const ObjectPath path = world.Path("/a");
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    Gateway& dying = world.NewGateway();
    world.executor.RunTask(RenameObject(*dying.engine, path, world.Path("/b")), steps);
    dying.Kill();
    Gateway& fresh = world.NewGateway();
    const size_t quorum = fresh.engine->HomeQuorum(path);
    if (Count(world.EntriesOf(fresh, "/a"), "t.") < quorum) continue;
    Gateway& without_sync = world.NewGateway();
    for (const auto& fault : without_sync.faults)
      fault->plan().Add({.operation = Operation::kMakeDirectory, .path_contains = "/a.~xo"});
    const size_t arrived = Count(world.EntriesOf(fresh, "/b"), "w.");
    const size_t archives = Count(world.EntriesOf(fresh, "/a"), "p.");
    if (arrived == 0) {
      ++before_target;
      EXPECT_EQ(world.Run(LookUp(*without_sync.engine, path)).code(), Code::kNoQuorum);
      EXPECT_EQ(Count(world.EntriesOf(fresh, "/b"), "w."), 0u);
    } else if (arrived >= quorum && archives == world.descriptor.geometry.Total()) {
      ++before_archives;
      EXPECT_TRUE(world.Run(CleanName(*without_sync.engine, path)));
      EXPECT_EQ(Count(world.EntriesOf(fresh, "/a"), "p."), archives);
    }
    EXPECT_FALSE(world.Lives(fresh, "/a"));
    EXPECT_TRUE(world.Lives(fresh, "/b"));
    world.Pass(2h);
    world.Clean(fresh);
    EXPECT_TRUE(world.EntriesOf(fresh, "/a").empty());
    if (HasFailure()) return;
  }
}

// Promoted archives of /b on one server, by their size.
std::vector<uint64_t> ArchivesMoved(TestWorld& world, MemberIndex server) {
  std::vector<uint64_t> sizes;
  for (const auto& [path, size] : world.memory[server]->Files()) {
    if (path.starts_with("/b.~xo/p.")) sizes.push_back(size);
  }
  return sizes;
}

// Left over by an upload whose server failed under way, and was given up or repaired since.
TEST_P(RenameLateTest, ABadSealDoesNotFollowInPlaceOfAnArchive) {
  for (const bool beside : {true, false}) {
    TestWorld world(OptionsOf(6));
    Gateway& gateway = world.NewGateway();
    const ObjectPath path = world.Path("/a");
    const MemberIndex server = world.Placement(path).back();
    std::vector<MemberIndex> without;
    if (!beside) without.push_back(server);
    ASSERT_TRUE(world.Put(gateway, "/a", without));
    const Accepted state = world.StateOf(gateway, "/a");
    // A listing shows it before the archive.
    const State seal = ExclusiveSealedState(state.version, state.oid);
    ASSERT_TRUE(world.Run(CreateFile(gateway.engine->MetadataCall(), gateway.engine->server(server),
                                     StatePath(path, FormatState(seal)), "", true)));
    ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, path, world.Path("/b"))));
    world.Pass(2h);
    world.Clean(gateway);
    EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
    const std::vector<uint64_t> moved = ArchivesMoved(world, server);
    ASSERT_EQ(moved.size(), beside ? 1u : 0u);
    EXPECT_TRUE(!beside || moved[0] > 0);
  }
}

// What the others have accepted is told at the new name by then.
TEST_P(RenameLateTest, ASealWhoseServerWasGivenUpDoesNotFollow) {
  TestWorld world(OptionsOf(7));
  Gateway& gateway = world.NewGateway();
  const ObjectPath path = world.Path("/a");
  const std::vector<MemberIndex> servers = world.Placement(path);
  MemberIndex given_up = 0;
  while (Contains(servers, given_up)) ++given_up;
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const Accepted state = world.StateOf(gateway, "/a");
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, path, world.Path("/b"))));
  ASSERT_TRUE(world.Seal(gateway, path, given_up, SealedState(state.oid), 1));
  world.Pass(2h);
  world.Clean(gateway);
  EXPECT_TRUE(world.EntriesOf(gateway, "/a").empty());
  EXPECT_TRUE(ArchivesMoved(world, given_up).empty());
}

// As a home shows it that went back in time to the moment when its seal was written: what was committed would
// be whole on another home of any quorum.
TEST_P(RenameLateTest, ATombstoneThatWasCutShortIsNoQuestionForAllHomes) {
  TestWorld world(OptionsOf(4));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  const auto snapshot = world.memory[homes[0]]->Take();
  world.Clean(gateway);
  ASSERT_TRUE(world.EntriesOf(gateway, "/a").empty());
  ASSERT_TRUE(world.Put(gateway, "/a"));
  world.memory[homes[0]]->Restore(snapshot);
  for (const auto& [path, size] : world.memory[homes[0]]->Files()) {
    if (path.starts_with("/a.~xo/t."))
      world.memory[homes[0]]->Tamper(path, [](auto& bytes) { bytes.clear(); });
  }
  for (uint32_t i = 1; i < GetParam(); ++i) world.memory[homes[i]]->SetDown(true);
  Gateway& reader = world.NewGateway();
  EXPECT_TRUE(world.Lives(reader, "/a"));
}

TEST_P(RenameLateTest, SealsThatGoSoonAreWaitedFor) {
  TestWorld world(OptionsOf(2));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const State left = MoveOutState(gateway.engine->NewObjectId());
  const MemberIndex home = HomeFinder(world.descriptor).Of("a")[0];
  ASSERT_TRUE(world.Seal(gateway, world.Path("/a"), home, left));
  world.executor.RunAt(world.executor.Now() + 3s, [&] {
    gateway.scope.Spawn([](Engine& engine, MemberIndex at, State seal) -> Task<void> {
      co_await RemoveOrGiveUp(engine, at, TestWorld::Path("/a"), std::move(seal));
    }(*gateway.engine, home, left));
  });
  const Status renamed = world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")));
  EXPECT_TRUE(renamed) << renamed.error().message;
}

// Tombstones that were rolled from seals cut short do not tell that nothing is owed, while a whole record is
// on a home that was rolled only now.
TEST(RenameCutShortTest, WhatWasJustRolledIsAskedForTheRecord) {
  TestWorld::Options options;
  options.tolerance = 2;
  options.servers = 7;
  for (size_t bad = 0; bad < 9; ++bad) {
    TestWorld world(options);
    const ObjectPath path = world.Path("/a");
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    Gateway& reader = world.NewGateway();
    const Version version = world.StateOf(reader, "/a").version;
    std::vector<MemberIndex> whole;
    std::vector<MemberIndex> cut;
    std::string rid;
    for (size_t steps = 1; whole.size() < 3; ++steps) {
      ASSERT_LT(steps, kStepsMax);
      Gateway& dying = world.NewGateway();
      world.executor.RunTask(RenameObject(*dying.engine, path, world.Path("/b")), steps);
      dying.Kill();
      world.Pass(1s);
      whole.clear();
      cut.clear();
      for (const MemberIndex home : HomeFinder(world.descriptor).Of("a")) {
        const auto states = world.Run(ListStates(*reader.engine, home, path));
        const auto seal = std::find_if(states->begin(), states->end(), [](const State& s) {
          return s.kind == StateKind::kMoveOut && s.entry_bytes > 0;
        });
        (seal != states->end() ? whole : cut).push_back(home);
        if (seal != states->end()) rid = seal->oid;
      }
      ASSERT_EQ(Count(world.EntriesOf(reader, "/a"), "t."), 0u);
      if (whole.size() < 3) world.Clean(reader);
    }
    std::vector<MemberIndex> proved;
    const Homes target_homes = HomeFinder(world.descriptor).Of("b");
    for (size_t i = 0; i < target_homes.size(); ++i) {
      const auto states = world.Run(ListStates(*reader.engine, target_homes[i], world.Path("/b")));
      if (states && !states->empty()) proved.push_back(target_homes[i]);
    }
    const Result<Version> target = reader.engine->NextVersion(version);
    const std::string moved =
        StatePath(path, FormatState(MovedState(version, rid, *target, MarksOf(world.descriptor, proved))));
    for (const MemberIndex home : cut) {
      ASSERT_TRUE(
          world.Run(CreateFile(reader.engine->MetadataCall(), reader.engine->server(home), moved, "", true)));
    }
    reader.faults[whole[bad / 3]]->plan().SetDown(true);
    reader.faults[whole[bad % 3]]->plan().Add({.operation = Operation::kRename});
    // The third one is not heard by the first look.
    for (const MemberIndex home : whole) {
      if (home != whole[bad / 3] && home != whole[bad % 3])
        reader.faults[home]->plan().Add(
            {.kind = FaultKind::kDelay, .operation = Operation::kList, .count = 1, .delay = 2s});
    }
    const Result<NameInfo> info = world.Run(LookUp(*reader.engine, path));
    if (!info || info->accepted.Live()) continue;
    EXPECT_TRUE(world.Lives(world.NewGateway(), "/b")) << "case " << bad;
  }
}

// What a home shows of a name that a rename brought. nullopt: no witness.
std::optional<State> WitnessOn(TestWorld& world, Gateway& gateway, MemberIndex home, const char* name) {
  const auto states = world.Run(ListStates(*gateway.engine, home, world.Path(name)));
  if (!states) return std::nullopt;
  const auto found = std::find_if(states->begin(), states->end(),
                                  [](const State& state) { return state.kind == StateKind::kWitness; });
  return found == states->end() ? std::nullopt : std::optional(*found);
}

// A rename dies when one home of the new name has accepted. The process that brings it to another home cannot
// read the witness at once. Without the origin in its copy the archives would be looked for in the wrong
// place only. Seed 12386 of the simulator.
TEST(RenameCutShortTest, ACopiedWitnessTellsTheOriginAsWell) {
  for (size_t steps = 1;; ++steps) {
    ASSERT_LT(steps, kStepsMax);
    TestWorld world({.seed = 4});
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    Gateway& dying = world.NewGateway();
    dying.faults[dying.engine->Homes(world.Path("/b"))[1]]->plan().Add(
        {.kind = FaultKind::kHang, .operation = Operation::kRename, .path_contains = "/q."});
    world.executor.RunTask(RenameObject(*dying.engine, world.Path("/a"), world.Path("/b")), steps);
    dying.Kill();
    Gateway& other = world.NewGateway();
    const std::vector<std::string> entries = world.EntriesOf(other, "/b");
    if (Count(entries, "w.") == 0) continue;
    ASSERT_EQ(Count(entries, "w."), 1u);
    ASSERT_EQ(Count(entries, "q."), 1u);
    std::optional<MemberIndex> empty;
    for (const MemberIndex home : other.engine->Homes(world.Path("/b"))) {
      const auto states = world.Run(ListStates(*other.engine, home, world.Path("/b")));
      ASSERT_TRUE(states);
      if (states->empty()) empty = home;
      if (!states->empty() && states->front().kind == StateKind::kMoveIn)
        other.faults[home]->plan().SetDown(true);
      if (!states->empty() && states->front().kind == StateKind::kWitness)
        other.faults[home]->plan().Add({.operation = Operation::kOpen, .path_contains = "/w.", .count = 1});
    }
    ASSERT_TRUE(empty);
    for (int tries = 0; tries < 3; ++tries) {
      (void)world.Run(LookUp(*other.engine, world.Path("/b")));
      const std::optional<State> witness = WitnessOn(world, other, *empty, "/b");
      EXPECT_TRUE(!witness || !witness->origin.empty()) << "the copy does not tell the origin";
    }
    EXPECT_TRUE(WitnessOn(world, other, *empty, "/b"));
    break;
  }
}

// Puts a file of the state on a home by hand, with a manifest of the state's object id.
void PutState(TestWorld& world, Gateway& gateway, const char* name, MemberIndex home, const State& state) {
  ASSERT_TRUE(world.Seal(gateway, world.Path(name), home, state));
}

// One home has an archive that has followed, one the witness that knows from where; the third has lost its
// disk. Whoever gives it the version again may hear the two others in any order, and one of them late.
TEST(RenameCutShortTest, ACopyTellsWhatAnyHomeKnowsOfTheOrigin) {
  const std::vector<std::vector<size_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const std::vector<size_t>& order : orders) {
    TestWorld world({.seed = 4});
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/x"));
    const Accepted put = world.StateOf(gateway, "/x");
    const Homes homes = gateway.engine->Homes(world.Path("/b"));
    State witness = WitnessState(put.version, put.oid, put.size);
    witness.origin = gateway.engine->NewObjectId();
    const MemberIndex knows = homes[order[1]];
    PutState(world, gateway, "/b", knows, witness);
    PutState(world, gateway, "/b", homes[order[2]], PromotedState(put.version, put.oid, put.size));
    // A look-up asks two homes, and another one in place of one that fails.
    if (order[1] < 2)
      gateway.faults[knows]->plan().Add({.operation = Operation::kList, .path_contains = "/b.", .count = 1});
    EXPECT_TRUE(world.Lives(gateway, "/b"));
    const std::optional<State> copy = WitnessOn(world, gateway, homes[order[0]], "/b");
    EXPECT_TRUE(!copy || copy->origin == witness.origin) << "the copy does not tell the origin";
  }
}

// It was told as a conflict, which nobody waits out.
TEST(RenameCutShortTest, AVersionThatSilentHomesMayHaveIsNotCalledChanged) {
  TestWorld world({.seed = 4});
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/b"));
  Accepted version = world.StateOf(gateway, "/b");
  version.origin = gateway.engine->NewObjectId();
  const MemberIndex home = gateway.engine->Homes(world.Path("/b")).front();
  gateway.faults[home]->plan().Add({.kind = FaultKind::kHang});
  const Result<std::string> text =
      world.Run(CopyManifest(*gateway.engine, world.Path("/b"), version, Late::kPassedOver));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.code(), Code::kUnavailable) << text.error().message;
}

// What is left of a complete rename on a home that accepted it without knowing. Of the others one is away.
TEST(RenameCutShortTest, ADamagedWitnessAndASilentHomeDoNotStopARoll) {
  for (const bool hangs : {false, true}) {
    TestWorld world({.seed = 4, .servers = 7, .tolerance = 2});
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/x"));
    const Accepted put = world.StateOf(gateway, "/x");
    const Homes homes = gateway.engine->Homes(world.Path("/b"));
    State witness = WitnessState(put.version, put.oid, put.size);
    witness.origin = gateway.engine->NewObjectId();
    const std::string damaged = StatePath(world.Path("/b"), FormatState(witness));
    ASSERT_TRUE(world.Run(
        CreateFile(gateway.engine->MetadataCall(), gateway.engine->server(homes[0]), damaged, "", true)));
    PutState(world, gateway, "/b", homes[1], PromotedState(put.version, put.oid, put.size));
    if (hangs) {
      gateway.faults[homes[2]]->plan().Add({.kind = FaultKind::kHang});
    } else {
      gateway.faults[homes[2]]->plan().SetDown(true);
    }
    const TimePoint start = world.executor.Now();
    EXPECT_TRUE(world.Lives(gateway, "/b"));
    EXPECT_LT(world.executor.Now() - start, gateway.engine->options().metadata_timeout);
  }
}

Task<void> Resume(Engine& engine, bool* ended) {
  (void)co_await ResumeDirectoryRenames(engine);
  *ended = true;
}

// A cleaner that goes on with the rename of a directory sleeps while another one ends it; the new directory
// is removed, and that forgotten. Seed 52361 of the simulator.
TEST(RenameDirectoryLateTest, WhoWakesWhenItIsOverMakesTheDirectoryNoMore) {
  constexpr size_t kStride = 5;
  bool ended = false;
  size_t slept = 0;
  for (size_t steps = 1; !ended; steps += kStride) {
    ASSERT_LT(steps, kStepsMax);
    TestWorld world({.seed = steps % 5 + 1});
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d"), true)));
    const std::string log = fmt::format("xec-directory-move 1\nfrom /d\nto /p/e\nversion {}\nend\n",
                                        world.StateOf(gateway, "/d").version.ToString());
    for (const auto& server : world.memory)
      ASSERT_TRUE(world.Run(CreateFile(gateway.engine->MetadataCall(), server,
                                       "/.xec/moves/" + std::string(24, 'a'), log, true)));
    world.Pass(5min);
    Gateway& sleeper = world.NewGateway();
    ended = false;
    sleeper.scope.Spawn(Resume(*sleeper.engine, &ended));
    world.executor.RunUntil([&] { return ended; }, steps);
    if (ended) break;
    sleeper.process.SleepUntil(world.executor.Now() + 48h);
    world.Pass(5min);
    Gateway& other = world.NewGateway();
    (void)world.Run(ResumeDirectoryRenames(*other.engine));
    if (!world.Lives(other, "/p/e") || world.Lives(other, "/d")) continue;
    ASSERT_TRUE(world.Run(RemoveDirectoryName(*other.engine, world.Path("/p/e"))));
    ASSERT_TRUE(world.Run(RemoveDirectoryName(*other.engine, world.Path("/p"))));
    world.Clean(other);
    EXPECT_TRUE(world.executor.RunUntil([&] { return ended; }, kStepsMax));
    EXPECT_FALSE(world.Lives(other, "/p/e")) << "asleep after " << steps << " steps";
    EXPECT_FALSE(world.Lives(other, "/p")) << "asleep after " << steps << " steps";
    ended = false;
    ++slept;
  }
  EXPECT_GT(slept, 20u);
}

}  // namespace
}  // namespace xec
