// SPDX-License-Identifier: LGPL-3.0-or-later
// Empty files where directories should be, as stock servers leave them when their disks are full.
#include "commit/engine/folder.hh"
#include "commit/engine/names.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

class StrayFileTest : public testing::Test {
 protected:
  StrayFileTest() : gateway_(world_.NewGateway()) {}

  void Leave(MemberIndex member, const std::string& path, const std::string& content) {
    const Status made = world_.Run(
        CreateFile(gateway_.engine->MetadataCall(), gateway_.engine->server(member), path, content, true));
    ASSERT_TRUE(made) << made.error().message;
  }
  bool IsThere(MemberIndex member) {
    const auto listed =
        world_.Run(List(gateway_.engine->MetadataCall(), gateway_.engine->server(member), "/"));
    return listed && std::any_of(listed->begin(), listed->end(),
                                 [](const Entry& e) { return e.name == "own" && !e.directory; });
  }

  TestWorld world_{TestWorld::Options{}};
  Gateway& gateway_;
};

TEST_F(StrayFileTest, AnEmptyOneIsRemovedAndItsServerCountsAgain) {
  const Homes homes = HomeFinder(world_.descriptor).Of("a");
  for (const MemberIndex home : homes) Leave(home, "/own", "");
  const auto missing = world_.Run(LookUp(*gateway_.engine, world_.Path("/own/0/a")));
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_FALSE(missing->accepted.Live());
  ASSERT_TRUE(world_.Put(gateway_, "/own/0/a"));
  EXPECT_TRUE(world_.Lives(gateway_, "/own/0/a"));
  world_.Clean(gateway_);
  for (const MemberIndex home : homes) EXPECT_FALSE(IsThere(home));
}

TEST_F(StrayFileTest, ListingAFolderRemovesIt) {
  for (MemberIndex member = 0; member < 3; ++member) Leave(member, "/own", "");
  const FolderUnion found = world_.Run(ListFolder(*gateway_.engine, world_.Path("/own")));
  EXPECT_EQ(found.heard.size(), world_.memory.size());
  for (MemberIndex member = 0; member < 3; ++member) EXPECT_FALSE(IsThere(member));
}

TEST_F(StrayFileTest, OneWithContentIsNotOurs) {
  for (const MemberIndex home : HomeFinder(world_.descriptor).Of("a"))
    Leave(home, "/own", "somebody's letter");
  EXPECT_EQ(world_.Run(LookUp(*gateway_.engine, world_.Path("/own/0/a"))).code(), Code::kNoQuorum);
  for (const MemberIndex home : HomeFinder(world_.descriptor).Of("a")) EXPECT_TRUE(IsThere(home));
}

}  // namespace
}  // namespace xec
