// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/caller.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

std::string DnOf(std::string told) {
  XrdSecEntity client("host");
  client.moninfo = told.data();
  return CallerOf(client).dn;
}

TEST(CallerTest, ADnIsThatOfACertificate) {
  EXPECT_EQ(DnOf("/DC=org/CN=alice"), "/DC=org/CN=alice");
  EXPECT_EQ(DnOf("&R=v5.5.3&x=/usr/bin/xrdcp&y=/DC=org/CN=alice&I=4"), "")
      << "a client's word, without a login";
}

}  // namespace
}  // namespace xec
