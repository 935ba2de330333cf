// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_helper.hh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/exit_code.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> WordsOf(const std::vector<std::string>& words) {
  const auto out = WordsOfMountHelper(words);
  return out ? *out : std::vector<std::string>{out.error().message};
}

TEST(MountHelperTest, ItIsKnownByItsName) {
  EXPECT_TRUE(IsMountHelper("/sbin/mount.xec"));
  EXPECT_TRUE(IsMountHelper("mount.xec"));
  EXPECT_FALSE(IsMountHelper("/usr/bin/xec"));
  EXPECT_FALSE(IsMountHelper("/mount.xec/xec"));
}

TEST(MountHelperTest, WhatMountSaysIsACommandLineOfOurs) {
  EXPECT_THAT(WordsOf({"/etc/xec/xec.conf", "/mnt/a b", "-o", "rw,_netdev,log=/var/log/m,uid=3", "-n", "-v"}),
              ElementsAre("mount", "--log", "/var/log/m", "-o", "rw,_netdev,uid=3", "-c", "/etc/xec/xec.conf",
                          "/mnt/a b"));
  EXPECT_THAT(WordsOf({"root://host//d", "/mnt", "-sn", "-t", "fuse.xec"}),
              ElementsAre("mount", "root://host//d", "/mnt"));
  EXPECT_THAT(WordsOf({"root://host//d", "/mnt", "-f", "-o", "rw"}), IsEmpty());
}

TEST(MountHelperTest, WrongUseIsRefused) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"a"}, {"a", "b", "c"}, {"a", "b", "-o"}, {"a", "b", "-x"}, {"a", "b", "--help"}}) {
    const auto out = WordsOfMountHelper(words);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.code(), Code::kInvalidArgument);
  }
}

TEST(MountHelperTest, ExitCodesAreThoseOfMount) {
  EXPECT_EQ(MountHelperExitCode(kExitOk), 0);
  EXPECT_EQ(MountHelperExitCode(kExitUsage), 1);
  EXPECT_EQ(MountHelperExitCode(kExitRetry), 32);
}

}  // namespace
}  // namespace xec
