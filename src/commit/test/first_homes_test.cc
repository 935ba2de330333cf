// SPDX-License-Identifier: LGPL-3.0-or-later
// A home that is well but asked last at the moment (late, or not trusted yet) has what the others lack. A
// look-up without it made another home accept the version, which was one more file for each name.
#include <algorithm>

#include "commit/engine/names.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;

class FirstHomesTest : public ::testing::Test {
 protected:
  FirstHomesTest() {
    EXPECT_TRUE(world_.Run(MakeDirectoryName(engine(), Path("/d"), false)));
    for (int i = 0; i < kNames; ++i) {
      // As a small object, which has an archive on a quorum of its homes.
      std::vector<MemberIndex> homes = engine().Homes(Path(Name(i)));
      homes.erase(homes.begin(), homes.begin() + static_cast<ptrdiff_t>(Quorum(homes.size())));
      EXPECT_TRUE(world_.Put(gateway_, Name(i), homes));
    }
  }

  static ObjectPath Path(std::string_view text) { return TestWorld::Path(text); }
  static std::string Name(int i) { return fmt::format("/d/{}", i); }
  Engine& engine() { return *gateway_.engine; }
  MemberIndex FirstHome(int i) { return engine().Homes(Path(Name(i)))[0]; }
  int Rank(MemberIndex server) { return engine().health().Rank(server, world_.executor.Now()); }

  // From now on it answers nothing, and that is known.
  void Stop(MemberIndex server) {
    gateway_.faults[server]->plan().Add({.kind = FaultKind::kHang});
    const auto ask = [](Engine& engine, MemberIndex member) -> Task<void> {
      (void)co_await ListStates(engine, member, Path("/d"));
    };
    gateway_.scope.Spawn(ask(engine(), server));
    world_.Pass(milliseconds(200));
    ASSERT_EQ(Rank(server), ServerHealth::kRankSuspect);
  }
  // It goes on, and is not trusted for a while.
  void Continue(MemberIndex server) {
    gateway_.faults[server]->plan().Clear();
    gateway_.faults[server]->plan().ReleaseHung();
    world_.Pass(milliseconds(20));
    ASSERT_EQ(Rank(server), ServerHealth::kRankUntrusted);
  }
  bool AnyWitness(int i) {
    for (const std::string& entry : world_.EntriesOf(gateway_, Name(i))) {
      if (entry.starts_with("w.")) return true;
    }
    return false;
  }
  uint64_t Requests() const { return gateway_.counts->Total(); }
  uint64_t Listings() const { return gateway_.counts->Of(Operation::kList); }

  static constexpr int kNames = 20;
  TestWorld world_{TestWorldOptions{.servers = 12, .tolerance = 2}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
};

TEST_F(FirstHomesTest, ALookUpAsksTheOnePassedOverAndWritesNothing) {
  Stop(FirstHome(3));
  Continue(FirstHome(3));
  const uint64_t before = Requests(), listings = Listings();
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_LE(Listings() - listings, 5U);  // of a quorum, of this one, and a probe of it
  EXPECT_EQ(Requests() - before, Listings() - listings);
  EXPECT_FALSE(AnyWitness(3));
}

TEST_F(FirstHomesTest, AListingDoesSoForAllNamesTogether) {
  const MemberIndex home = FirstHome(3);
  uint64_t without = 0;
  for (int i = 0; i < kNames; ++i) {
    const std::vector<MemberIndex> homes = engine().Homes(Path(Name(i)));
    if (std::find(homes.begin(), homes.begin() + 3, home) != homes.begin() + 3) ++without;
  }
  ASSERT_GE(without, 3U);
  Stop(home);
  Continue(home);
  const uint64_t before = Requests(), listings = Listings();
  const TimePoint begun = world_.executor.Now();
  const auto names = world_.Run(ListDirectory(engine(), Path("/d")));
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->size(), static_cast<size_t>(kNames));
  // The directory, its folder everywhere, the names, those of the one passed over; and up to three probes.
  EXPECT_LE(Listings() - listings, 3 + 12 + 3 * kNames + without + 3);
  EXPECT_EQ(Requests() - before, Listings() - listings);
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(4 * 10));
  for (int i = 0; i < kNames; ++i) EXPECT_FALSE(AnyWitness(i)) << i;
}

TEST_F(FirstHomesTest, WhoAnswersNothingIsNotWaitedFor) {
  Stop(FirstHome(3));
  const TimePoint begun = world_.executor.Now();
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(150));
  EXPECT_TRUE(AnyWitness(3));
}

TEST_F(FirstHomesTest, WhoHangsAgainIsWaitedForForAMoment) {
  const MemberIndex home = FirstHome(3);
  Stop(home);
  Continue(home);
  gateway_.faults[home]->plan().Add({.kind = FaultKind::kHang});
  const TimePoint begun = world_.executor.Now();
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(300));
  const TimePoint later = world_.executor.Now();
  const auto names = world_.Run(ListDirectory(engine(), Path("/d")));
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->size(), static_cast<size_t>(kNames));
  EXPECT_LE(world_.executor.Now() - later, milliseconds(700));
}

// It would be waited for by every look-up of the name.
TEST_F(FirstHomesTest, WhoIsSlowIsWaitedForOnceAtMost) {
  const MemberIndex home = FirstHome(3);
  gateway_.faults[home]->plan().Add({.kind = FaultKind::kDelay, .delay = milliseconds(70)});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(world_.Run(ListStates(engine(), home, Path("/d"))));
  ASSERT_EQ(Rank(home), 1);
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_TRUE(AnyWitness(3));
  const TimePoint begun = world_.executor.Now();
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(10));
}

TEST_F(FirstHomesTest, WhoIsBehindDoesNotTakePartInRollingForward) {
  const ObjectPath path = Path(Name(3));
  const MemberIndex home = FirstHome(3);
  const Accepted lives = world_.StateOf(gateway_, Name(3));
  const std::string archive = FormatState(PromotedState(lives.version, lives.oid, lives.size));
  for (const MemberIndex lost : {home, engine().Homes(path)[1]})
    ASSERT_TRUE(world_.Run(RemoveState(engine(), lost, path, archive)));
  Stop(home);
  Continue(home);
  EXPECT_TRUE(world_.Lives(gateway_, Name(3)));
  EXPECT_TRUE(AnyWitness(3));
  const auto states = world_.Run(ListStates(engine(), home, path));
  ASSERT_TRUE(states);
  EXPECT_TRUE(states->empty());
}

TEST_F(FirstHomesTest, WhatTheOnePassedOverAloneHasCounts) {
  const ObjectPath path = Path(Name(3));
  const MemberIndex home = FirstHome(3);
  const Accepted old = world_.StateOf(gateway_, Name(3));
  Version later = old.version;
  later.clock += 1;
  ASSERT_TRUE(world_.Seal(gateway_, path, home, PromotedState(later, std::string(24, 'b'), 7)));
  Stop(home);
  Continue(home);
  // What the others show is on two of them, so that it is not decided without this one.
  ASSERT_TRUE(world_.Run(RemoveState(engine(), engine().Homes(path)[1], path,
                                     FormatState(PromotedState(old.version, old.oid, old.size)))));
  EXPECT_EQ(world_.StateOf(gateway_, Name(3)).version, later);
}

}  // namespace
}  // namespace xec
