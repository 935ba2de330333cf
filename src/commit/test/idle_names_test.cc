// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/idle_names.hh"

#include <set>

#include "commit/test/test_world.hh"

namespace xec {
namespace {

const std::vector<MemberIndex> kHomes = {0, 1, 2};

Version At(uint64_t clock) { return Version{clock, 1}; }
size_t Two(uint64_t) { return 2; }

TEST(IsIdleTest, OneVersionEverywhereAndNothingElse) {
  const State archive = PromotedState(At(5), "aa", 7);
  const State witness = WitnessState(At(5), "aa", 7);
  EXPECT_TRUE(IsIdle({{0, {archive}}, {1, {archive}}}, kHomes, Two));
  EXPECT_TRUE(IsIdle({{0, {archive}}, {1, {witness}}, {7, {archive}}}, kHomes, Two));
  const State directory = DirectoryState(At(5));
  EXPECT_TRUE(IsIdle({{1, {directory}}, {2, {directory}}}, kHomes, Two));
}

TEST(IsIdleTest, WhateverElseIsShownIsForAFullPass) {
  const State archive = PromotedState(At(5), "aa", 7);
  const auto beside = [&](States states, MemberIndex member = 2) {
    std::map<MemberIndex, States> shown = {{0, {archive}}, {1, {archive}}};
    shown[member] = std::move(states);
    return IsIdle(shown, kHomes, Two);
  };
  EXPECT_FALSE(beside({}));  // an object directory to remove
  EXPECT_FALSE(beside({PromotedState(At(4), "bb", 7)}));
  EXPECT_FALSE(beside({PromotedState(At(5), "bb", 7)}));
  EXPECT_FALSE(beside({WitnessState(At(5), "aa", 7)}, 7));  // of no use there
  EXPECT_FALSE(beside({archive, SealedState("cc")}));
  EXPECT_FALSE(beside({archive, AbortMarkState(SealedState("cc"))}));
  EXPECT_FALSE(beside({SealedState("aa")}));
  EXPECT_FALSE(beside({DirectoryState(At(5))}));
  EXPECT_FALSE(beside({TombstoneState(At(6))}));
  EXPECT_FALSE(beside({MoveOutState("dd")}));
  State moved_in = WitnessState(At(5), "aa", 7);
  moved_in.origin = "dd";
  EXPECT_FALSE(beside({moved_in}));
  EXPECT_FALSE(IsIdle({{0, {TombstoneState(At(6))}}, {1, {TombstoneState(At(6))}}}, kHomes, Two));
}

TEST(IsIdleTest, TooFewHomesOrArchivesAreForAFullPass) {
  const State archive = PromotedState(At(5), "aa", 7);
  const State witness = WitnessState(At(5), "aa", 7);
  EXPECT_FALSE(IsIdle({}, kHomes, Two));
  EXPECT_FALSE(IsIdle({{0, {archive}}, {7, {archive}}}, kHomes, Two));
  EXPECT_FALSE(IsIdle({{0, {archive}}, {1, {witness}}}, kHomes, Two));
}

TEST(IsForgettableTest, ATombstoneOnEveryHomeAndNothingElse) {
  const State tombstone = TombstoneState(At(6));
  EXPECT_TRUE(IsForgettable({{0, {tombstone}}, {1, {tombstone}}, {2, {tombstone}}}, kHomes));
  const auto on_last = [&](States states, MemberIndex last = 2) {
    return IsForgettable({{0, {tombstone}}, {1, {tombstone}}, {last, std::move(states)}}, kHomes);
  };
  EXPECT_FALSE(IsForgettable({}, kHomes));
  EXPECT_FALSE(IsForgettable({{0, {tombstone}}, {1, {tombstone}}}, kHomes));
  EXPECT_FALSE(on_last({}));
  EXPECT_FALSE(on_last({MoveOutState("dd")}));
  EXPECT_FALSE(on_last({tombstone}, 7));
  EXPECT_FALSE(on_last({TombstoneState(At(7))}));
  EXPECT_FALSE(on_last({PromotedState(At(6), "aa", 7)}));
  EXPECT_FALSE(on_last({tombstone, WitnessState(At(5), "aa", 7)}));
  EXPECT_FALSE(on_last({tombstone, AbortMarkState(SealedState("cc"))}));
  const State moved = MovedState(At(6), "dd", At(7), "abcd");
  EXPECT_FALSE(IsForgettable({{0, {moved}}, {1, {moved}}, {2, {moved}}}, kHomes));
}

TEST(IsRemovedTest, ATombstoneOnAQuorumOfHomesAndNothingElse) {
  const State tombstone = TombstoneState(At(6));
  EXPECT_TRUE(IsRemoved({{0, {tombstone}}, {1, {}}, {2, {tombstone}}}, kHomes));
  EXPECT_TRUE(IsRemoved({{1, {tombstone}}, {2, {tombstone}}}, kHomes));
  EXPECT_FALSE(IsRemoved({}, kHomes));
  EXPECT_FALSE(IsRemoved({{0, {tombstone}}, {1, {}}, {2, {}}}, kHomes));
  const auto beside = [&](States states, MemberIndex member = 2) {
    return IsRemoved({{0, {tombstone}}, {1, {tombstone}}, {member, std::move(states)}}, kHomes);
  };
  EXPECT_TRUE(beside({}));
  EXPECT_FALSE(beside({}, 7));  // an object directory to remove
  EXPECT_FALSE(beside({TombstoneState(At(7))}));
  EXPECT_FALSE(beside({MoveOutState("dd")}));
  EXPECT_FALSE(beside({MovedState(At(6), "dd", At(7), "abcd")}));
}

State Written(State state, int64_t at_s) {
  state.mtime_s = at_s;
  return state;
}

TEST(WithoutSupersededTest, TheVersionBeforeAndSinceWhenItIsNotTheCurrentOne) {
  const State before = Written(PromotedState(At(4), "aa", 7), 100);
  const State witness = Written(WitnessState(At(4), "aa", 7), 100);
  const State tombstone = Written(TombstoneState(At(5)), 200), late = Written(TombstoneState(At(5)), 201);
  const State early = Written(TombstoneState(At(5)), 150);
  const auto removed = WithoutSuperseded(
      {{0, {before, tombstone}}, {1, {late}}, {2, {witness, early}}, {7, {before}}}, kHomes, 300'000);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->since_ms, 200'000);  // when a quorum had it
  EXPECT_TRUE(IsForgettable(removed->shown, kHomes));
  const State current = Written(PromotedState(At(5), "bb", 7), 200);
  const auto replaced =
      WithoutSuperseded({{0, {before, current}}, {1, {current}}, {7, {before}}}, kHomes, 300'000);
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(IsIdle(replaced->shown, kHomes, Two));
  // A clock that is far ahead tells nothing.
  const State ahead = Written(TombstoneState(At(5)), 200'000);
  const auto told = WithoutSuperseded({{0, {before, tombstone}}, {1, {ahead}}}, kHomes, 300'000);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->since_ms, 200'000);
}

TEST(WithoutSupersededTest, WhateverElseIsShownIsForAFullPass) {
  const State before = PromotedState(At(4), "aa", 7), current = PromotedState(At(5), "bb", 7);
  const auto idle = [&](std::map<MemberIndex, States> shown) {
    const auto rest = WithoutSuperseded(shown, kHomes, 0);
    return rest && (IsIdle(rest->shown, kHomes, Two) || IsRemoved(rest->shown, kHomes));
  };
  const State tombstone = TombstoneState(At(5));
  EXPECT_TRUE(idle({{0, {before, tombstone}}, {1, {tombstone}}, {2, {before}}}));
  EXPECT_FALSE(idle({{0, {before, tombstone}}, {1, {before}}, {2, {before}}}));
  EXPECT_TRUE(idle({{0, {before, current}}, {1, {before, current}}}));
  EXPECT_FALSE(idle({{0, {current}}, {1, {current}}}));  // nothing is superseded
  EXPECT_FALSE(idle({{0, {before, current}}, {1, {current}}, {2, {before}}}));  // a home that is behind
  EXPECT_FALSE(idle({{0, {before, current}}, {1, {PromotedState(At(3), "cc", 7), current}}}));
  EXPECT_FALSE(idle({{0, {before, current}}, {1, {current, SealedState("dd")}}}));
  EXPECT_FALSE(idle({{0, {before, current}}, {1, {current, TombstoneState(At(4))}}}));
  State moved_in = WitnessState(At(4), "aa", 7);
  moved_in.origin = "ee";
  EXPECT_FALSE(idle({{0, {moved_in, current}}, {1, {current}}}));
  EXPECT_FALSE(idle({}));
}

class IdleNamesTest : public testing::Test {
 protected:
  IdleNamesTest() {
    for (int i = 0; i < kNames; ++i) EXPECT_TRUE(world_.Put(gateway_, fmt::format("/{:03}", i)));
  }

  CleanOutcome Clean(TestWorld::Gateway& cleaner) {
    const auto cleaned = world_.Run(CleanTree(*cleaner.engine, TestWorld::Path("/")));
    EXPECT_TRUE(cleaned) << cleaned.error().message;
    return *cleaned;
  }

  Task<void> CleanAll(TestWorld::Gateway& cleaner) {
    const auto cleaned = co_await CleanTree(*cleaner.engine, TestWorld::Path("/"));
    EXPECT_TRUE(cleaned) << cleaned.error().message;
    if (cleaned) last_ = *cleaned;
  }

  // Tombstones are left of them.
  void RemoveAll() {
    for (int i = 0; i < kNames; ++i)
      EXPECT_TRUE(world_.Run(RemoveObject(*gateway_.engine, TestWorld::Path(fmt::format("/{:03}", i)))));
    Clean(gateway_);
    world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
    Clean(gateway_);
  }

  static constexpr int kNames = 300;  // more than are asked for together
  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
  std::optional<CleanOutcome> last_;  // of CleanAll
};

TEST_F(IdleNamesTest, ANameAtRestCostsAListingForEachArchive) {
  TestWorld::Gateway& cleaner = world_.NewGateway();
  EXPECT_EQ(Clean(cleaner).names, size_t{kNames});
  const size_t archives = world_.descriptor.geometry.Total();
  EXPECT_EQ(cleaner.counts->Of(Operation::kList), world_.options.servers + archives * kNames);
  EXPECT_EQ(cleaner.counts->Total(), cleaner.counts->Of(Operation::kList));
}

TEST_F(IdleNamesTest, OneAmongManyIsCleaned) {
  ASSERT_TRUE(world_.Put(gateway_, "/123"));  // an old version below it
  EXPECT_EQ(Clean(world_.NewGateway()).removed, 0u);
  world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
  const CleanOutcome cleaned = Clean(world_.NewGateway());
  EXPECT_EQ(cleaned.names, size_t{kNames});
  EXPECT_EQ(cleaned.removed, world_.descriptor.geometry.Total());
  EXPECT_EQ(Clean(world_.NewGateway()).removed, 0u);
}

TEST_F(IdleNamesTest, WhatMayStillBeReadCostsAListingForEachServerThatHasSomething) {
  for (int i = 1; i < kNames; ++i) ASSERT_TRUE(world_.Put(gateway_, fmt::format("/{:03}", i)));
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, TestWorld::Path("/000"))));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  const CleanOutcome young = Clean(cleaner);
  EXPECT_EQ(young.removed, 0u);
  EXPECT_EQ(young.left, size_t{kNames});
  EXPECT_EQ(cleaner.counts->Total(), cleaner.counts->Of(Operation::kList));
  EXPECT_LE(cleaner.counts->Total(), world_.options.servers * (1 + kNames));
  world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
  EXPECT_EQ(Clean(world_.NewGateway()).removed, kNames * world_.descriptor.geometry.Total());
}

// Of its homes only, however many servers there are: these have told the folder.
TEST_F(IdleNamesTest, AnObjectIsForgottenWithFewRequests) {
  RemoveAll();
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  EXPECT_EQ(Clean(cleaner).left, 0u);
  const size_t servers = world_.options.servers;
  const size_t homes = cleaner.engine->Homes(TestWorld::Path("/000")).size();
  EXPECT_EQ(cleaner.counts->Of(Operation::kList), servers + kNames * 2 * homes);
  // Tombstones are directories too.
  EXPECT_EQ(cleaner.counts->Of(Operation::kRemoveDirectory), kNames * 2 * homes);
  EXPECT_EQ(cleaner.counts->Total(),
            cleaner.counts->Of(Operation::kList) + cleaner.counts->Of(Operation::kRemoveDirectory));
  EXPECT_EQ(Clean(world_.NewGateway()).names, 0u);
}

// What others have may have come before the horizon had passed.
TEST_F(IdleNamesTest, NothingIsForgottenByAListingThatWasAskedForTooEarly) {
  RemoveAll();
  NamesAtRest rests;
  NamesAtRest::Pass pass(rests, world_.executor);
  const auto to_clean = [&](const FolderUnion& found) {
    IdleNames idle(*gateway_.engine, found, pass);
    idle.Next();
    return world_.Run(idle.Look());
  };
  const FolderUnion early = world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/")));
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  EXPECT_EQ(to_clean(early), ToClean::kLater);
  const FolderUnion now = world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/")));
  EXPECT_EQ(to_clean(now), ToClean::kForget);
}

// It is cleaned as any other.
TEST_F(IdleNamesTest, WhatIsSealedAfterTheLookIsNotForgotten) {
  RemoveAll();
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  const ObjectPath path = TestWorld::Path("/123");
  const MemberIndex home = cleaner.engine->Homes(path)[0];
  cleaner.faults[home]->plan().Add({.kind = FaultKind::kDelay,
                                    .operation = Operation::kList,
                                    .path_contains = path.ObjectDirectory(),
                                    .first = 2,
                                    .count = 1,
                                    .delay = std::chrono::milliseconds(500)});
  cleaner.scope.Spawn(CleanAll(cleaner));
  ASSERT_TRUE(
      world_.executor.RunUntil([&] { return cleaner.faults[home]->plan().injected() > 0; }, 1'000'000));
  ASSERT_TRUE(world_.Seal(gateway_, path, home, MoveOutState(gateway_.engine->NewObjectId())));
  world_.Pass(std::chrono::minutes(1));
  EXPECT_EQ(world_.StateOf(gateway_, "/123").kind, Accepted::kRemoved);
  EXPECT_EQ(world_.StateOf(gateway_, "/124").kind, Accepted::kNothing);
  ASSERT_TRUE(last_);
  EXPECT_GT(last_->left, 0u);
}

// Its folder may have what can still not go.
// The grace counts from the removal, not from when the last home learns of it: what it takes away goes then.
TEST_F(IdleNamesTest, TheLastHomesLearnOfARemovalWhenItsArchivesGo) {
  const ObjectPath path = TestWorld::Path("/123");
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, path)));
  const auto with_tombstone = [&] {
    size_t homes = 0;
    for (const MemberIndex home : gateway_.engine->Homes(path)) {
      const auto states = world_.Run(ListStates(*gateway_.engine, home, path));
      homes += HighestAccepted(*states).kind == Accepted::kRemoved ? 1 : 0;
    }
    return homes;
  };
  const size_t homes = gateway_.engine->Homes(path).size();
  Clean(gateway_);
  EXPECT_EQ(with_tombstone(), Quorum(homes));
  world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  const size_t archives = world_.descriptor.geometry.Total();
  EXPECT_EQ(Clean(cleaner).removed, archives);
  // Of the name the memory keeps which servers show something of it, and these together with its homes.
  const size_t at_rest = (kNames - 1) * archives;
  EXPECT_EQ(cleaner.counts->Of(Operation::kList), world_.options.servers + at_rest + 2 * archives);
  EXPECT_EQ(cleaner.counts->Of(Operation::kMakeDirectory), homes - Quorum(homes));
  EXPECT_EQ(cleaner.counts->Of(Operation::kRemove), archives);
  EXPECT_EQ(cleaner.counts->Of(Operation::kRemoveDirectory), archives - homes);
  EXPECT_EQ(with_tombstone(), homes);
}

TEST_F(IdleNamesTest, ADirectoryIsNotForgottenBeforeWhatIsBelowIt) {
  const ObjectPath directory = TestWorld::Path("/d");
  ASSERT_TRUE(world_.Run(MakeDirectoryName(*gateway_.engine, directory, false)));
  ASSERT_TRUE(world_.Run(RemoveDirectoryName(*gateway_.engine, directory)));
  Clean(gateway_);
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  // Somebody who slept makes an archive below.
  const ObjectPath below = TestWorld::Path("/d/o");
  ASSERT_TRUE(world_.Seal(gateway_, below, 0, SealedState(gateway_.engine->NewObjectId())));
  Clean(world_.NewGateway());
  EXPECT_EQ(world_.StateOf(gateway_, "/d").kind, Accepted::kRemoved);
  world_.Clean(gateway_);
  EXPECT_EQ(world_.StateOf(gateway_, "/d").kind, Accepted::kNothing);
}

TEST_F(IdleNamesTest, AYoungTombstoneCostsAListingOfItsHomes) {
  RemoveAll();
  TestWorld::Gateway& cleaner = world_.NewGateway();
  EXPECT_EQ(Clean(cleaner).left, size_t{kNames});
  const size_t homes = cleaner.engine->Homes(TestWorld::Path("/000")).size();
  EXPECT_EQ(cleaner.counts->Of(Operation::kList), world_.options.servers + homes * kNames);
  EXPECT_EQ(cleaner.counts->Total(), cleaner.counts->Of(Operation::kList));
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  EXPECT_EQ(Clean(world_.NewGateway()).left, 0u);
  EXPECT_EQ(Clean(world_.NewGateway()).names, 0u);
}

TEST_F(IdleNamesTest, WhatAnotherCleanerIsDoneWithIsPassedOver) {
  TestWorld::Gateway& cleaner = world_.NewGateway();
  const FolderUnion found = world_.Run(ListFolder(*cleaner.engine, TestWorld::Path("/")));
  RemoveAll();
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  EXPECT_EQ(Clean(gateway_).left, 0u);
  NamesAtRest rests;
  NamesAtRest::Pass pass(rests, world_.executor);
  IdleNames idle(*cleaner.engine, found, pass);
  int names = 0;
  for (; idle.Next(); ++names) EXPECT_EQ(world_.Run(idle.Look()), ToClean::kNothing);
  EXPECT_EQ(names, kNames);
}

TEST_F(IdleNamesTest, CleanersBeginAtDifferentNames) {
  const FolderUnion found = world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/")));
  std::set<ObjectPath> first;
  NamesAtRest rests;
  NamesAtRest::Pass pass(rests, world_.executor);
  for (int i = 0; i < 20; ++i) first.insert(*IdleNames(*gateway_.engine, found, pass).Next());
  EXPECT_GT(first.size(), 10u);
}

TEST_F(IdleNamesTest, WhileAServerIsSilentANameCostsNoMoreThanElse) {
  TestWorld::Gateway& cleaner = world_.NewGateway();
  cleaner.faults[0]->plan().SetDown(true);
  EXPECT_GT(Clean(cleaner).left, size_t{kNames});
  const auto most = world_.options.servers + world_.descriptor.geometry.Total() * kNames;
  EXPECT_LE(cleaner.counts->Of(Operation::kList), most);
}

TEST_F(IdleNamesTest, WhatIsToDoIsDoneWhileAServerIsSilent) {
  RemoveAll();
  for (int i = 0; i < kNames; ++i) ASSERT_TRUE(world_.Put(gateway_, fmt::format("/{:03}", i)));
  for (int i = 0; i < kNames; ++i)
    ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, TestWorld::Path(fmt::format("/{:03}", i)))));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  cleaner.faults[0]->plan().SetDown(true);
  Clean(cleaner);
  world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
  EXPECT_GE(Clean(cleaner).removed, size_t{kNames});
  EXPECT_EQ(Clean(cleaner).removed, 0u);
  // The last server has its part to do, and then there is nothing any more.
  world_.Clean(world_.NewGateway());
  EXPECT_EQ(Clean(world_.NewGateway()).names, 0u);
}

// It may lack what nobody else tells, as long as it does not list the folder: not only now.
TEST_F(IdleNamesTest, WhoOnlyCannotListTheFolderIsNotSilent) {
  RemoveAll();
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  TestWorld::Gateway& cleaner = world_.NewGateway();
  const Error damaged = {Code::kUnreadable, "injected fault"};
  cleaner.faults[0]->plan().Add({.operation = Operation::kList, .count = 1, .error = damaged});
  Clean(cleaner);
  EXPECT_EQ(Clean(world_.NewGateway()).names, 0u);
}

}  // namespace
}  // namespace xec
