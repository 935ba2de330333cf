// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/member.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(MemberName, RoundTrips) {
  for (const MemberName name : {MemberName{0, 0}, MemberName{12, 3}, MemberName{4294967295u, 4294967295u}}) {
    EXPECT_EQ(MemberName::Parse(name.ToString()), name);
    EXPECT_LE(name.ToString().size(), kMemberNameSizeMax);
  }
  EXPECT_EQ((MemberName{12, 3}).ToString(), "obj.12.3");
}

TEST(MemberName, RefusesEverythingElse) {
  for (const char* bad :
       {"", "obj", "obj.", "obj.1", "obj.1.", "obj..1", "obj.01.1", "obj.1.01", "obj.1.1.1", "obj.+1.1",
        "obj. 1.1", "obj.1.1 ", "obj.-1.1", "obj.4294967296.0", "obj.0.4294967296", "Obj.1.1", "xobj.1.1",
        "obj.0x1.1", "obj.1.00000000000000000000000000001"}) {
    EXPECT_FALSE(MemberName::Parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace xec
