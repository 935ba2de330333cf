// SPDX-License-Identifier: LGPL-3.0-or-later
// A process whose list of members ends (docs/protocol/members.md) at any moment of any operation tells
// nothing any more that would follow from the old list.
#include "commit/engine/names.hh"
#include "commit/members/ask_for_descriptors.hh"
#include "commit/members/descriptor_copies.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

class MemberChangeTest : public testing::Test {
 protected:
  MemberChangeTest() : world_(TestWorld::Options{}), gateway_(world_.NewGateway()) {}

  // From now on the list is in force for so long.
  void EndAfter(Duration time) {
    end_ = world_.executor.Now() + time;
    gateway_.engine->member_list().Watch(world_.descriptor, {1, time}, world_.executor.Now());
  }
  bool Ended() const { return world_.executor.Now() >= end_; }

  TestWorld world_;
  Gateway& gateway_;
  TimePoint end_;
};

// Whoever has decided a list may die when half of the members have it: then neither list has a majority.
TEST_F(MemberChangeTest, AListThatHalfOfTheMembersShowIsBroughtToTheOthers) {
  Engine& engine = *gateway_.engine;
  const size_t majority = Quorum(engine.server_count());
  StoreDescriptor next = world_.descriptor;
  ++next.epoch;
  const auto write = [&](MemberIndex member, const StoreDescriptor& list) {
    ASSERT_TRUE(
        world_.Run(WriteDescriptor(engine.MetadataCall(), engine.server(member), list, engine.NewNonce())));
  };
  for (MemberIndex member = 0; member < engine.server_count(); ++member) write(member, world_.descriptor);
  for (MemberIndex member = 0; member < majority - 1; ++member) write(member, next);
  engine.member_list().Watch(world_.descriptor, {majority, 1min}, world_.executor.Now());
  const auto hear = [&] { return world_.Run(HearOfList(engine, majority, world_.executor.Now())); };
  EXPECT_EQ(hear().kind, MemberList::Round::kTooFew);
  const MemberList::Round round = hear();
  EXPECT_EQ(round.kind, MemberList::Round::kFollowed);
  EXPECT_EQ(round.next, next);
}

TEST_F(MemberChangeTest, AfterItsEndNothingIsToldAndNothingChanged) {
  ASSERT_TRUE(world_.Put(gateway_, "/a"));
  EndAfter(0s);
  Engine& engine = *gateway_.engine;
  for (const char* name : {"/a", "/missing"}) {
    const auto info = world_.Run(LookUp(engine, world_.Path(name)));
    EXPECT_EQ(info.code(), Code::kNoQuorum) << name;
    EXPECT_NE(info.error().message.find("show"), std::string::npos) << info.error().message;
  }
  EXPECT_EQ(world_.Put(gateway_, "/a").code(), Code::kNoQuorum);
  EXPECT_EQ(world_.Run(StartExclusive(engine, world_.Path("/new"))).code(), Code::kNoQuorum);
  EXPECT_EQ(world_.Run(RemoveObject(engine, world_.Path("/a"))).code(), Code::kNoQuorum);
  EXPECT_EQ(world_.Run(RenameObject(engine, world_.Path("/a"), world_.Path("/b"))).code(), Code::kNoQuorum);
  EXPECT_EQ(world_.Run(ListDirectory(engine, world_.Path("/"))).code(), Code::kNoQuorum);
  const auto cleaned = world_.Run(CleanTree(engine, world_.Path("/")));
  EXPECT_TRUE(!cleaned || cleaned->removed == 0);
  Gateway& other = world_.NewGateway();
  EXPECT_TRUE(world_.Lives(other, "/a"));
  EXPECT_FALSE(world_.Lives(other, "/b"));
}

// What was begun before goes on, but an answer that would be final comes before the end or not at all.
TEST_F(MemberChangeTest, NoFinalAnswerComesAfterTheEnd) {
  size_t told = 0, untold = 0;
  for (int ms = 1; ms <= 60; ++ms) {
    const std::string name = fmt::format("/{}", ms);
    const ObjectPath path = world_.Path(name);
    EndAfter(std::chrono::milliseconds(ms));
    const auto put = world_.Put(gateway_, name);
    EXPECT_FALSE(put && Ended()) << "put after " << ms << " ms";
    ++(put ? told : untold);
    EndAfter(1h);
    const auto again = world_.Put(gateway_, name);
    ASSERT_TRUE(again) << again.error().message;

    EndAfter(std::chrono::milliseconds(ms) / 4);
    const auto found = world_.Run(LookUp(*gateway_.engine, path));
    EXPECT_FALSE(found && Ended()) << "look-up after " << ms / 4.0 << " ms";
    EndAfter(std::chrono::milliseconds(ms) / 4);
    const auto missing = world_.Run(LookUp(*gateway_.engine, world_.Path(name + "no")));
    EXPECT_FALSE(missing && Ended()) << "look-up of nothing after " << ms / 4.0 << " ms";
    EndAfter(std::chrono::milliseconds(ms) / 2);
    const auto removed = world_.Run(RemoveObject(*gateway_.engine, path));
    EXPECT_FALSE(removed && Ended()) << "removal after " << ms / 2.0 << " ms";
    ++(found ? told : untold);
    ++(removed ? told : untold);
  }
  EXPECT_GT(told, 20u);
  EXPECT_GT(untold, 20u);
}

}  // namespace
}  // namespace xec
