// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/mount_options.hh"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount/errno_of.hh"

namespace xec {
namespace {

TEST(MountOptionsTest, ThoseOfOursAndThoseOfTheKernel) {
  const auto options =
      ParseMountOptions({"attr_timeout=500ms,ro", "uid=7,file_mode=640,threads=4,fsname=x,,_netdev,x-a.b"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->attributes_s, 0.5);
  EXPECT_EQ(options->names_s, 1);
  EXPECT_FALSE(options->listings_s);
  EXPECT_EQ(options->uid, 7u);
  EXPECT_EQ(options->gid, getgid());
  EXPECT_EQ(options->file_mode, 0640u);
  EXPECT_EQ(options->directory_mode, 0755u);
  EXPECT_EQ(options->threads, 4u);
  EXPECT_THAT(options->of_fuse, testing::ElementsAre("ro", "fsname=x"));
  EXPECT_FALSE(options->last_writer_wins);
  EXPECT_TRUE(ParseMountOptions({"ro,last_writer_wins"})->last_writer_wins);
}

TEST(MountOptionsTest, WhatFstabSaysToOthersIsLeftOut) {
  const auto options = ParseMountOptions(
      {"defaults,noauto,user=joe,nofail,_netdev,x-systemd.automount,x-systemd.idle-timeout=60,X-mount.mkdir,"
       "relatime,comment=x,rw,nosuid"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->of_fuse, testing::ElementsAre("rw", "nosuid"));
}

TEST(MountOptionsTest, ListingsHaveATimeOfTheirOwn) {
  const auto options = ParseMountOptions({"attr_timeout=0,dir_timeout=1m"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->attributes_s, 0);
  EXPECT_EQ(options->listings_s, 60);
}

TEST(MountOptionsTest, VariablesOfTheProcess) {
  const auto options = ParseMountOptions({"setenv=A=b=c,setenv=B="});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->environment, testing::ElementsAre(testing::Pair("A", "b=c"), testing::Pair("B", "")));
}

TEST(MountOptionsTest, WhatIsNoneOfThemIsRefusedByItsName) {
  for (const char* wrong : {"nonsense", "nonsense=1", "threads=0", "threads=257", "remount", "threads=x",
                            "uid=-1", "dir_mode=9", "dir_mode=", "attr_timeout=soon", "allow_other=1", "ro,x",
                            "setenv=A", "setenv", "setenv==", "last_writer_wins=1"}) {
    const auto options = ParseMountOptions({wrong});
    ASSERT_FALSE(options) << wrong;
    EXPECT_EQ(options.code(), Code::kInvalidArgument);
    EXPECT_THAT(options.error().message, testing::StartsWith("-o ")) << wrong;
  }
}

TEST(MountErrnoTest, NoErrorIsASuccessOrMakesProgramsSpin) {
  for (int code = 0; code < kCodeCount; ++code) {
    EXPECT_GT(MountErrnoOf(static_cast<Code>(code)), 0);
    EXPECT_NE(MountErrnoOf(static_cast<Code>(code)), EAGAIN);
  }
}

}  // namespace
}  // namespace xec
