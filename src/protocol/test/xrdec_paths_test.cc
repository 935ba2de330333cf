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

TEST(XrdecPaths, WhatWasTakenAsideTellsItsNameAndWhatIsRemoved) {
  const StagedName aside{kOid, {}, TakenAside{17, "/d 1/a.b%"}};
  EXPECT_EQ(aside.Path(), "/.xec/staged/" + kOid + ".aside.17.%2Fd%201%2Fa.b%25");
  EXPECT_EQ(StagedName::Parse(kOid + ".aside.17.%2Fd%201%2Fa.b%25"), aside);
  const StagedName too_long{kOid, {}, TakenAside{17, "/" + std::string(250, 'x')}};
  EXPECT_EQ(too_long.Path(), "/.xec/staged/" + kOid + ".aside.17.");
  EXPECT_EQ(StagedName::Parse(kOid + ".aside.17."), (StagedName{kOid, {}, TakenAside{17, ""}}));
  for (const char* bad : {".aside", ".aside.", ".aside.17", ".aside.x.a", ".aside.17.%2"})
    EXPECT_FALSE(StagedName::Parse(kOid + bad)) << bad;
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
