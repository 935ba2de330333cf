// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/file_system.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(ClientFileSystem, TellsHttpOfNoChecksumThatItWouldNotFindAgain) {
  EXPECT_EQ(WithoutSha("0:adler32,1:crc32c,2:sha1,3:md5,4:sha256"), "0:adler32,1:crc32c,3:md5");
  EXPECT_EQ(WithoutSha("0:sha1"), "");
}

// MOVE to /a%20b made an object called a%20b.
TEST(ClientFileSystem, TheTargetOfAnHttpMoveIsDecodedOnce) {
  EXPECT_EQ(*DecodeDestination("/a%20b/c%25d"), "/a b/c%d");
  EXPECT_EQ(*DecodeDestination("/plain/"), "/plain/");
  for (const char* path : {"/a%2fb", "/a%3Fb", "/a%00b", "/50%", "/a%2"})
    EXPECT_EQ(DecodeDestination(path).code(), Code::kInvalidArgument) << path;
}

}  // namespace
}  // namespace xec
