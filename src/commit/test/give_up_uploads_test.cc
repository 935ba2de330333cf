// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads whose process is known to have died.
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

class GiveUpUploadsTest : public testing::Test {
 protected:
  // Two homes of /a have sealed archives of it.
  std::string LeaveUpload() {
    Gateway& killed = world_.NewGateway();
    const std::string oid = killed.engine->NewObjectId();
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(world_.Seal(killed, path_, killed.engine->Homes(path_)[i], SealedState(oid)));
    killed.Kill();
    return oid;
  }
  Status GiveUp(const std::string& oid) {
    return world_.Run(GiveUpUploads(*world_.NewGateway().engine, path_, {oid}));
  }
  Status CreateExclusively() { return world_.Run(world_.PutOn(world_.NewGateway(), path_, true)); }

  TestWorld world_{{}};
  const ObjectPath path_ = TestWorld::Path("/a");
};

TEST_F(GiveUpUploadsTest, TheyStandInNobodysWay) {
  const std::string oid = LeaveUpload();
  EXPECT_EQ(CreateExclusively().code(), Code::kConflict);
  EXPECT_TRUE(GiveUp(oid));
  EXPECT_TRUE(CreateExclusively());
}

TEST_F(GiveUpUploadsTest, OthersGoOn) {
  LeaveUpload();
  EXPECT_TRUE(GiveUp("0123456789abcdef01234567"));
  EXPECT_EQ(CreateExclusively().code(), Code::kConflict);
}

TEST_F(GiveUpUploadsTest, AHomeThatIsAwayIsToldOf) {
  const std::string oid = LeaveUpload();
  const MemberIndex away = world_.Placement(path_)[0];
  world_.memory[away]->SetDown(true);
  EXPECT_EQ(GiveUp(oid).code(), Code::kNoQuorum);
  world_.memory[away]->SetDown(false);
  EXPECT_TRUE(GiveUp(oid));
  EXPECT_TRUE(CreateExclusively());
}

TEST_F(GiveUpUploadsTest, WhatWasCommittedStays) {
  ASSERT_TRUE(world_.Put(world_.NewGateway(), "/a"));
  const Accepted before = world_.StateOf(world_.NewGateway(), "/a");
  EXPECT_TRUE(GiveUp(before.oid));
  EXPECT_EQ(world_.StateOf(world_.NewGateway(), "/a"), before);
}

}  // namespace
}  // namespace xec
