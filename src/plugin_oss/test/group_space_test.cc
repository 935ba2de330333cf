// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/group_space.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const StoreSpace kStore = {.raw_total_bytes = 1500,
                           .raw_free_bytes = 900,
                           .usable_total_bytes = 1000,
                           .usable_free_bytes = 600,
                           .servers_heard = 3};

GroupSpace Of(std::optional<uint64_t> quota, std::optional<Usage> used) {
  return SpaceOf(kStore, GroupUse{.group = {"g", "/g", quota}, .used = used});
}

TEST(GroupSpaceTest, WithoutGroupsItIsTheStores) {
  const GroupSpace space = SpaceOf(kStore, std::nullopt);
  EXPECT_EQ(space.name, "public");
  EXPECT_EQ(space.total_bytes, 1000u);
  EXPECT_EQ(space.free_bytes, 600u);
  EXPECT_EQ(space.used_bytes, 400u);
  EXPECT_EQ(space.quota_bytes, -1);
}

TEST(GroupSpaceTest, OfAGroupWithoutAQuotaWhatItUses) {
  const GroupSpace space = Of({}, Usage{30, 1});
  EXPECT_EQ(space.name, "g");
  EXPECT_EQ(space.total_bytes, 1000u);
  EXPECT_EQ(space.free_bytes, 600u);
  EXPECT_EQ(space.used_bytes, 30u);
  EXPECT_EQ(Of({}, {}).used_bytes, 400u) << "not counted yet";
}

TEST(GroupSpaceTest, FreeIsWhatIsLeftOfBoth) {
  EXPECT_EQ(Of(100, Usage{30, 1}).free_bytes, 70u);
  EXPECT_EQ(Of(100, Usage{30, 1}).total_bytes, 100u);
  EXPECT_EQ(Of(100, Usage{30, 1}).quota_bytes, 100);
  EXPECT_EQ(Of(100, Usage{130, 1}).free_bytes, 0u);
  EXPECT_EQ(Of(5000, Usage{30, 1}).free_bytes, 600u);
  EXPECT_EQ(Of(100, {}).free_bytes, 100u) << "not counted yet";
}

}  // namespace
}  // namespace xec
