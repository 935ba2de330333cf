// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_list.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(MountListTest, ThoseOfThisKindAreFound) {
  const std::vector<ListedMount> found = MountsIn(
      "22 1 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
      "36 22 0:33 / /mnt/a\\040b\\134 rw,nosuid shared:9 master:1 - fuse.xec root://host//d "
      "rw,user_id=7,group_id=8,allow_other\n"
      "37 22 0:34 / /mnt/c ro - fuse.xec /etc/xec/xec.conf ro,user_id=0,group_id=0\n"
      "38 22 0:35 / /mnt/d rw - fuse.sshfs host: rw,user_id=0,group_id=0\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].directory, "/mnt/a b\\");
  EXPECT_EQ(found[0].source, "root://host//d");
  EXPECT_EQ(found[0].user, 7u);
  EXPECT_EQ(found[0].group, 8u);
  EXPECT_EQ(found[1].directory, "/mnt/c");
  EXPECT_EQ(found[1].source, "/etc/xec/xec.conf");
}

TEST(MountListTest, WhatMakesNoSenseIsLeftOut) {
  for (const char* text :
       {"", "\n", "- fuse.xec", "1 2 3 4 5 6 - fuse.xec", "1 2 3 4 5 6 7 8 9", "1 2 3 4 - fuse.xec x rw"})
    EXPECT_TRUE(MountsIn(text).empty()) << text;
}

}  // namespace
}  // namespace xec
