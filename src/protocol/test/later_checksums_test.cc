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
                              {"xec.test", "1"}};
  EXPECT_EQ(WithoutLaterChecksums(all), (UserAttributes{{"k", "v"}, {"xec.test", "1"}}));
  EXPECT_EQ(OnlyLaterChecksums(all), (UserAttributes{{"md5", "00ff"}}));
  EXPECT_TRUE(CheckUserAttributeName("xec.test"));
  EXPECT_EQ(CheckUserAttributeName("").code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckUserAttributeName("xec.checksum.md5").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace xec
