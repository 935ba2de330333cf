// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/xrdec_paths.hh"

#include <gtest/gtest.h>

#include "protocol/object_path.hh"

namespace xec {
namespace {

const std::string kOid = "00112233445566778899aabb";

TEST(XrdecPaths, StagedNamesRoundTrip) {
  EXPECT_EQ((StagedName{kOid, {}}.Path()), "/.xec/staged/" + kOid);
  EXPECT_EQ((StagedName{kOid, 17}.Path()), "/.xec/staged/" + kOid + ".17");
  EXPECT_EQ(StagedName::Parse(kOid), (StagedName{kOid, {}}));
  EXPECT_EQ(StagedName::Parse(kOid + ".17"), (StagedName{kOid, 17}));
  for (const std::string& bad : {std::string(), kOid.substr(1), kOid + "x", kOid + ".", kOid + ".x",
                                 kOid + ".-1", kOid + ".99999999999999999999", std::string(24, 'x')}) {
    EXPECT_FALSE(StagedName::Parse(bad)) << bad;
  }
}

TEST(XrdecPaths, NamesThatAServerWouldReadOtherwise) {
  for (const char* good : {"/a b", "/a%41#&\xc3\xa9", "/x.zip"})
    EXPECT_TRUE(CheckPlainName(*ObjectPath::Parse(good)));
  for (const char* bad : {"/a?b", "/d\t/b", "/a\x7f"}) {
    EXPECT_EQ(CheckPlainName(*ObjectPath::Parse(bad)).code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace xec
