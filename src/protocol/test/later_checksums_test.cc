// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/later_checksums.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(LaterChecksums, AreAttributesThatUsersNeitherSeeNorSet) {
  const UserAttributes all = {{"k", "v"},
                              {"xec.checksum.md5", "00ff"},
                              {"xec.checksum.sha1", "no hex"},
                              {"xec.checksum.", ""},
                              {"xec.mode", "0750"},
                              {"xec.mtime", "1"},
                              {"xec.test", "1"}};
  EXPECT_EQ(OnlyOfUsers(all), (UserAttributes{{"k", "v"}, {"xec.test", "1"}}));
  EXPECT_EQ(OnlyLaterChecksums(all), (UserAttributes{{"md5", "00ff"}}));
  EXPECT_TRUE(CheckUserAttributeName("xec.test"));
  EXPECT_EQ(CheckUserAttributeName("").code(), Code::kInvalidArgument);
  for (const char* own : {"xec.checksum.md5", "xec.mode", "xec.mtime"})
    EXPECT_EQ(CheckUserAttributeName(own).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace xec
