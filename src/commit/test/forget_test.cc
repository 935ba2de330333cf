// SPDX-License-Identifier: LGPL-3.0-or-later
// A removed name is forgotten by another look at its homes, if it is as it was when its folder was listed.
#include "commit/clean/short_ways.hh"
#include "commit/engine/folder.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

class ForgetTest : public testing::Test {
 protected:
  ForgetTest() {
    EXPECT_TRUE(world_.Put(gateway_, "/o"));
    Remove();
    world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  }

  void Remove() {
    EXPECT_TRUE(world_.Run(RemoveObject(*gateway_.engine, path_)));
    Clean();
    world_.Pass(world_.options.engine.superseded_grace + std::chrono::seconds(5));
    Clean();
  }
  void Clean() { EXPECT_TRUE(world_.Run(CleanTree(*gateway_.engine, TestWorld::Path("/")))); }
  std::optional<CleanOutcome> Forget(int64_t asked_ms) {
    return world_.Run(ForgetName(*gateway_.engine, path_, asked_ms));
  }
  int64_t Now() const { return world_.executor.WallNow(); }
  Accepted::Kind Kind() { return world_.StateOf(gateway_, "/o").kind; }

  TestWorld world_{TestWorld::Options{}};
  TestWorld::Gateway& gateway_ = world_.NewGateway();
  const ObjectPath path_ = TestWorld::Path("/o");
  const Homes homes_ = gateway_.engine->Homes(path_);
};

TEST_F(ForgetTest, NothingIsLeft) {
  const std::optional<CleanOutcome> forgotten = Forget(Now());
  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->removed, homes_.size());
  EXPECT_EQ(forgotten->left, 0u);
  EXPECT_EQ(Kind(), Accepted::kNothing);
  EXPECT_TRUE(world_.Run(ListFolder(*gateway_.engine, TestWorld::Path("/"))).names.empty());
}

// Put and removed again since the folder was listed: what others have was not told.
TEST_F(ForgetTest, NotATombstoneThatWasMadeLater) {
  const int64_t asked_ms = Now();
  ASSERT_TRUE(world_.Put(gateway_, "/o"));
  Remove();
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  EXPECT_FALSE(Forget(asked_ms));
  EXPECT_EQ(Kind(), Accepted::kRemoved);
  EXPECT_TRUE(Forget(Now()));
}

// Of a renamer that slept longer than it may, say.
TEST_F(ForgetTest, NotASealThatHasComeSince) {
  ASSERT_TRUE(world_.Seal(gateway_, path_, homes_[1], MoveOutState(gateway_.engine->NewObjectId())));
  world_.Pass(world_.options.engine.tombstone_horizon + std::chrono::seconds(5));
  EXPECT_FALSE(Forget(Now()));
  EXPECT_EQ(Kind(), Accepted::kRemoved);
}

TEST_F(ForgetTest, NotWhileAHomeIsSilent) {
  gateway_.faults[homes_[2]]->plan().SetDown(true);
  EXPECT_FALSE(Forget(Now()));
  gateway_.faults[homes_[2]]->plan().SetDown(false);
  EXPECT_EQ(Kind(), Accepted::kRemoved);
}

// A full stock server leaves an empty file where the object directory should be; nobody else would find it.
TEST_F(ForgetTest, AStrayFileIsRemovedBefore) {
  MemberIndex other = 0;
  while (Contains(homes_, other)) ++other;
  ASSERT_TRUE(world_.Run(CreateFile(gateway_.engine->MetadataCall(), gateway_.engine->server(other),
                                    path_.ObjectDirectory(), "", true)));
  Clean();
  EXPECT_EQ(Kind(), Accepted::kNothing);
  const auto listed = world_.Run(List(gateway_.engine->MetadataCall(), gateway_.engine->server(other), "/"));
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->empty());
}

}  // namespace
}  // namespace xec
