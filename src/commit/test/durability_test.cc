// SPDX-License-Identifier: LGPL-3.0-or-later
// Sync policy commit: what an answer relies on is on the disks, also where it was only seen in a listing.
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

// A name that a listing shows need not be on the disk: a power cut may undo what could not be synced, and
// what somebody else has made just now.
TEST(Durability, WhatIsOnlySeenIsMadeDurableBeforeItCounts) {
  for (const bool can_sync : {true, false}) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    const Error not_synced{Code::kUnknown, "a power cut may undo it"};
    for (const auto& fault : gateway.faults) {
      fault->plan().Add(
          {.kind = FaultKind::kFailAfter, .operation = Operation::kRename, .error = not_synced});
      if (!can_sync) fault->plan().Add({.operation = Operation::kMakeDirectory, .error = not_synced});
    }
    const Result<Version> put = world.Put(gateway, "/a");
    EXPECT_EQ(put.has_value(), can_sync);
    EXPECT_TRUE(put || put.code() == Code::kUnknown);
    EXPECT_TRUE(world.Lives(world.NewGateway(), "/a"));
  }
}

}  // namespace
}  // namespace xec
