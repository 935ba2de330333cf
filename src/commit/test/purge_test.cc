// SPDX-License-Identifier: LGPL-3.0-or-later
// What a removal or a replacement leaves is taken away by another look, if the name is as it was at the
// first.
#include "commit/clean/short_ways.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

class PurgeTest : public testing::Test {
 protected:
  PurgeTest() { EXPECT_TRUE(world_.Put(gateway_, "/o")); }

  void Remove() { EXPECT_TRUE(world_.Run(RemoveObject(*gateway_.engine, path_))); }
  void PassGrace() { world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5)); }
  States StatesOn(MemberIndex member) {
    auto states = world_.Run(ListStates(*world_.gateways.front()->engine, member, path_));
    EXPECT_TRUE(states);
    return states ? *states : States{};
  }
  // What a look ahead finds now.
  Purgeable Look() {
    Purgeable purgeable;
    for (MemberIndex member = 0; member < world_.options.servers; ++member) {
      const States states = StatesOn(member);
      if (!states.empty()) purgeable.shown_by.push_back(member);
      purgeable.current = std::max(purgeable.current, HighestAccepted(states).version);
    }
    return purgeable;
  }
  std::optional<CleanOutcome> Purge(Purgeable purgeable) {
    return world_.Run(PurgeName(*gateway_.engine, path_, std::move(purgeable)));
  }
  // Of the first version.
  size_t ArchivesLeft() {
    size_t left = 0;
    for (MemberIndex member = 0; member < world_.options.servers; ++member) {
      const States states = StatesOn(member);
      left += static_cast<size_t>(std::count_if(states.begin(), states.end(), [&](const State& state) {
        return state.kind == StateKind::kPromoted && state.version == first_;
      }));
    }
    return left;
  }
  void ExpectNothingPurged(Purgeable purgeable) {
    EXPECT_FALSE(Purge(std::move(purgeable)));
    EXPECT_EQ(ArchivesLeft(), archives_);
  }

  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
  const ObjectPath path_ = TestWorld::Path("/o");
  const Homes homes_ = gateway_.engine->Homes(path_);
  const size_t archives_ = world_.descriptor.geometry.Total();
  Version first_;
};

TEST_F(PurgeTest, WhatWasRemovedIsOnlyATombstoneOnEveryHome) {
  Remove();
  PassGrace();
  const std::optional<CleanOutcome> purged = Purge(Look());
  ASSERT_TRUE(purged);
  EXPECT_EQ(purged->removed, archives_);
  EXPECT_EQ(purged->left, 1u);  // the tombstone
  for (MemberIndex member = 0; member < world_.options.servers; ++member) {
    const States states = StatesOn(member);
    ASSERT_EQ(states.size(), Contains(homes_, member) ? 1u : 0u) << member;
    EXPECT_TRUE(states.empty() || states.front().kind == StateKind::kTombstone);
  }
  const auto elsewhere = world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/")));
  EXPECT_EQ(elsewhere.names.at(path_).members.size(), homes_.size());
}

TEST_F(PurgeTest, WhatWasReplacedIsAtRestThen) {
  ASSERT_TRUE(world_.Put(gateway_, "/o"));
  PassGrace();
  const std::optional<CleanOutcome> purged = Purge(Look());
  ASSERT_TRUE(purged);
  EXPECT_EQ(purged->removed, archives_);
  EXPECT_EQ(purged->left, 0u);
  EXPECT_TRUE(world_.Lives(gateway_, "/o"));
}

// As small ones do; homes that know nothing of it need not learn it.
TEST_F(PurgeTest, ItMayHaveFewerArchivesThanThereAreHomes) {
  const std::vector<MemberIndex> servers = world_.Placement(TestWorld::Path("/small"));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(world_.Put(gateway_, "/small", {servers.begin() + 2, servers.end()}));
  PassGrace();
  Purgeable purgeable{world_.StateOf(gateway_, "/small").version, {servers.begin(), servers.begin() + 2}};
  const auto purged =
      world_.Run(PurgeName(*gateway_.engine, TestWorld::Path("/small"), std::move(purgeable)));
  ASSERT_TRUE(purged);
  EXPECT_EQ(purged->removed, 2u);
}

// The homes that get the tombstone on this occasion do not begin the grace anew.
TEST_F(PurgeTest, TheLongWayTakesNoMoreTimeThanTheShortOne) {
  Remove();
  PassGrace();
  const auto cleaned = world_.Run(CleanName(*gateway_.engine, path_));
  ASSERT_TRUE(cleaned);
  EXPECT_EQ(cleaned->removed, archives_);
}

// A renamer that seals between the looks may believe in what was removed.
TEST_F(PurgeTest, NotWithASealThatHasComeSince) {
  first_ = Look().current;
  Remove();
  PassGrace();
  const Purgeable purgeable = Look();
  ASSERT_TRUE(world_.Seal(gateway_, path_, homes_[1], MoveOutState(gateway_.engine->NewObjectId())));
  ExpectNothingPurged(purgeable);
}

// That version did not stand on a quorum before this look.
TEST_F(PurgeTest, NotBelowAVersionThatHasComeSince) {
  first_ = Look().current;
  const Purgeable purgeable = Look();
  Remove();
  PassGrace();
  ExpectNothingPurged(purgeable);
}

TEST_F(PurgeTest, NotBeforeTheGraceHasPassed) {
  first_ = Look().current;
  Remove();
  ExpectNothingPurged(Look());
}

TEST_F(PurgeTest, NotWhileOneThatCountsIsSilent) {
  first_ = Look().current;
  Remove();
  PassGrace();
  const Purgeable purgeable = Look();
  for (const MemberIndex silent : purgeable.shown_by) {
    gateway_.faults[silent]->plan().SetDown(true);
    EXPECT_FALSE(Purge(purgeable)) << silent;
    gateway_.faults[silent]->plan().SetDown(false);
  }
  EXPECT_EQ(ArchivesLeft(), archives_);
}

// What it accepts would sink.
TEST_F(PurgeTest, NotWhereAHomeDoesNotTakeTheTombstone) {
  first_ = Look().current;
  Remove();
  PassGrace();
  const Purgeable purgeable = Look();
  for (const MemberIndex home : homes_) {
    gateway_.faults[home]->plan().Add(
        {.operation = Operation::kMakeDirectory, .error = Error{Code::kNoSpace, "injected fault"}});
  }
  ExpectNothingPurged(purgeable);
}

}  // namespace
}  // namespace xec
