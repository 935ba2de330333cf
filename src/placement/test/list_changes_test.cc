// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/list_changes.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

constexpr uint64_t kNow = 1'800'000'000;

StoreDescriptor Settled(int members = 6) {
  StoreDescriptor d;
  d.store_id = std::string(32, 'a');
  d.epoch = 7;
  d.tolerance = 2;
  d.geometry = Geometry{3, 2, 65536};
  for (int i = 1; i <= members; ++i)
    d.members.push_back(Member{fmt::format("s{:02}", i), "local", fmt::format("h{}", i)});
  return d;
}

TEST(ListChanges, OneJoins) {
  const auto joining = Joining(Settled(), "root://h7:1094", "h7");
  ASSERT_TRUE(joining) << joining.error().message;
  EXPECT_EQ(joining->epoch, 8u);
  EXPECT_EQ(joining->members.back(), (Member{"s07", "root://h7:1094", "h7", MemberRole::kJoining}));
  EXPECT_EQ(Joining(*joining, "root://h8:1094", "h8").code(), Code::kConflict);
  EXPECT_EQ(Leaving(*joining, "s01", kNow, 900).code(), Code::kConflict);

  const StoreDescriptor unswept = AfterChange(*joining);
  EXPECT_EQ(unswept.epoch, 9u);
  EXPECT_TRUE(unswept.unswept);
  EXPECT_EQ(unswept.members.back().role, MemberRole::kFull);
  EXPECT_EQ(Joining(unswept, "root://h8:1094", "h8").code(), Code::kConflict);

  const StoreDescriptor settled = AfterSweep(unswept, kNow);
  EXPECT_EQ(settled.epoch, 10u);
  EXPECT_TRUE(NeedSettled(settled));
  EXPECT_EQ(Leaving(settled, "s01", kNow + 899, 900).error().message,
            "the data servers were changed a moment ago; one may leave in 1 s (the tombstone horizon)");
  EXPECT_TRUE(Leaving(settled, "s01", kNow + 900, 900));
  EXPECT_EQ(Joining(settled, "root://h8:1094", "h8")->members.back().id, "s08");
}

TEST(ListChanges, OneLeavesIsEmptiedAndRemoved) {
  const auto leaving = Leaving(Settled(), "s03", kNow, 900);
  ASSERT_TRUE(leaving) << leaving.error().message;
  EXPECT_EQ(leaving->members[2].role, MemberRole::kLeaving);
  EXPECT_EQ(Removed(*leaving, "s03").code(), Code::kConflict);
  const StoreDescriptor emptying = AfterSweep(AfterChange(*leaving), kNow - 900);
  EXPECT_EQ(emptying.members[2].role, MemberRole::kEmptying);
  EXPECT_EQ(Leaving(emptying, "s03", kNow, 900).code(), Code::kInvalidArgument);
  EXPECT_EQ(Removed(emptying, "s01").code(), Code::kInvalidArgument);
  EXPECT_EQ(Removed(emptying, "s03").error().message, "s03 is in use: xec server drain s03 first");
  EXPECT_EQ(Emptied(emptying, "s01").code(), Code::kInvalidArgument);
  const StoreDescriptor emptied = *Emptied(emptying, "s03");
  const auto removed = Removed(emptied, "s03");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->members.size(), 5u);
  EXPECT_EQ(removed->epoch, emptied.epoch + 1);
  EXPECT_EQ(Leaving(*removed, "s01", kNow, 900).error().message,
            "without s01 the store would have 4 data servers; names need 5 to survive the loss of any 2");
  EXPECT_EQ(Leaving(*removed, "s03", kNow, 900).code(), Code::kInvalidArgument);
}

TEST(ListChanges, AChangeIsUndone) {
  EXPECT_EQ(Undone(Settled()).code(), Code::kInvalidArgument);
  const auto joined = Undone(*Joining(Settled(), "root://h7:1094", "h7"));
  EXPECT_EQ(joined->members.back().role, MemberRole::kEmptying);
  EXPECT_TRUE(joined->unswept);
  const auto left = Undone(*Leaving(Settled(), "s03", kNow, 900));
  EXPECT_EQ(left->members[2].role, MemberRole::kFull);
  EXPECT_EQ(left->epoch, 9u);
}

TEST(ListChanges, AMemberMovesAtAnyTime) {
  const auto moved = Moved(*Leaving(Settled(), "s03", kNow, 900), "s05", "root://new:1094", kNow);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->members[4].address, "root://new:1094");
  EXPECT_EQ(moved->members[2].role, MemberRole::kLeaving);
}

TEST(ListChanges, SomeKeepTheHomes) {
  const StoreDescriptor list = Settled();
  EXPECT_TRUE(KeepsHomes(list, *Maintained(list, "s03", kNow)));
  EXPECT_TRUE(KeepsHomes(list, *Labelled(list, "s03", "rack 7")));
  EXPECT_FALSE(KeepsHomes(list, *Moved(list, "s03", "root://new:1094", kNow)));
  EXPECT_FALSE(KeepsHomes(list, *Joining(list, "root://new:1094", "h")));
  const StoreDescriptor leaving = *Leaving(list, "s03", kNow, 900);
  EXPECT_FALSE(KeepsHomes(list, leaving));
  const StoreDescriptor unswept = AfterChange(leaving), emptying = AfterSweep(unswept, kNow);
  EXPECT_FALSE(KeepsHomes(leaving, unswept));
  EXPECT_FALSE(KeepsHomes(unswept, emptying))
      << "states on former homes count by neither, but one may be swept";
  const StoreDescriptor emptied = *Emptied(emptying, "s03");
  EXPECT_TRUE(KeepsHomes(emptying, emptied));
  EXPECT_FALSE(KeepsHomes(emptied, *Removed(emptied, "s03")));
  EXPECT_FALSE(KeepsHomes(emptied, emptying)) << "one after the other";
}

TEST(ListChanges, WhatIsWrittenBesideAMember) {
  const auto moved = Moved(Settled(), "s02", "root://new:1094", kNow);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->members[1], (Member{"s02", "root://new:1094", "h2"}));
  EXPECT_EQ(moved->epoch, 8u);
  EXPECT_EQ(Leaving(*moved, "s01", kNow + 1, 900).code(), Code::kConflict)
      << "the old address may still be asked";
  const auto labelled = Labelled(*moved, "s03", "rack 7");
  ASSERT_TRUE(labelled);
  EXPECT_EQ(labelled->members[2].host, "rack 7");
  const auto maintained = Maintained(*labelled, "s03", kNow + 60);
  ASSERT_TRUE(maintained);
  EXPECT_EQ(maintained->members[2].maintenance_until_s, kNow + 60);
  EXPECT_EQ(*ParseDescriptor(FormatDescriptor(*maintained)), *maintained);
  EXPECT_EQ(Maintained(*maintained, "s03", 0)->members, labelled->members);
  const auto joining = Joining(Settled(), "root://h7:1094", "h7");
  EXPECT_EQ(Labelled(*joining, "s02", "x").code(), Code::kConflict);
  EXPECT_EQ(Maintained(*joining, "s02", kNow).code(), Code::kConflict);
  EXPECT_EQ(Maintained(Settled(), "s99", kNow).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace xec
