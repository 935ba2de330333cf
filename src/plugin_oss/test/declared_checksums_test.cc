// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/declared_checksums.hh"

#include <gmock/gmock.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/opaque.hh"

namespace xec {
namespace {

using testing::HasSubstr;

// Of "hello".
constexpr const char* kMd5 = "5d41402abc4b2a76b9719d911017c592";
constexpr const char* kSha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d";
constexpr const char* kSha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

ChecksumValues Declared(std::string_view opaque) {
  const Result<ChecksumValues> declared = DeclaredChecksums(opaque);
  EXPECT_TRUE(declared) << opaque << ": " << declared.error().message;
  return declared ? *declared : ChecksumValues();
}

TEST(Opaque, OnlyWhatIsReadHereIsKept) {
  XrdOucEnv env("authz=secret&cks.type=md5&oss.asize=5&xec.if-match=\"1\"&xec.if-match=2");
  EXPECT_EQ(OpaqueOf(&env), "&cks.type=md5&xec.if-match=\"1\"&xec.if-match=2");
  EXPECT_EQ(OpaqueList(OpaqueOf(&env), "xec.if-match"), (std::vector<std::string>{"\"1\"", "2"}));
  EXPECT_EQ(OpaqueOf(nullptr), "");
  XrdOucEnv none("");
  EXPECT_EQ(OpaqueOf(&none), "");
}

TEST(DeclaredChecksums, NoneIfNothingIsSaid) {
  EXPECT_TRUE(Declared("").empty());
  EXPECT_TRUE(Declared("&oss.asize=5&authz=Bearer%20cks.type").empty());
}

TEST(DeclaredChecksums, OpaqueInformation) {
  EXPECT_EQ(Declared("&cks.type=adler32&cks.value=062C0215"), (ChecksumValues{{"adler32", "062c0215"}}));
  EXPECT_EQ(Declared("&cks.type=adler&cks.value=062c0215&cks.type=md5&cks.value=" + std::string(kMd5)),
            (ChecksumValues{{"adler32", "062c0215"}, {"md5", kMd5}}));
  // So XrdHttp 6 hands the first Repr-Digest of a third-party copy on.
  EXPECT_EQ(Declared("&cks.type=sha-256&cks.value=" + std::string(kSha256)),
            (ChecksumValues{{"sha256", kSha256}}));
}

TEST(DeclaredChecksums, HeadersAsXrdHttpEncodesThem) {
  EXPECT_EQ(Declared("&xec.digest=adler32=062c0215,%20MD5=XUFAKrxLKna5cZ2REBfFkg=="),
            (ChecksumValues{{"adler32", "062c0215"}, {"md5", kMd5}}));
  EXPECT_EQ(Declared("&xec.digest=sha=" + std::string(kSha1)), (ChecksumValues{{"sha1", kSha1}}));
  EXPECT_EQ(Declared("&xec.repr-digest=adler=%3ABiwCFQ==%3A"), (ChecksumValues{{"adler32", "062c0215"}}));
  EXPECT_EQ(Declared("&xec.repr-digest=sha-256=:LPJNul%2bwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
                     "&xec.repr-digest=md5=%3AXUFAKrxLKna5cZ2REBfFkg==%3A"),
            (ChecksumValues{{"sha256", kSha256}, {"md5", kMd5}}));
}

TEST(DeclaredChecksums, OneThatIsDeclaredTwiceHasOneValue) {
  EXPECT_EQ(Declared("&cks.type=adler32&cks.value=062c0215&xec.digest=adler=062c0215").size(), 1u);
  EXPECT_THAT(
      DeclaredChecksums("&cks.type=adler32&cks.value=062c0215&xec.digest=adler=062c0216").error().message,
      HasSubstr("062c0215 and 062c0216"));
}

TEST(DeclaredChecksums, WhatIsNoChecksumIsRefused) {
  for (const char* opaque : {
           "&cks.type=adler32",  // nothing to compare with
           "&cks.value=062c0215",
           "&cks.type=sha3&cks.value=00",
           "&cks.type=&cks.value=",
           "&cks.type=adler32&cks.value=",
           "&cks.type=adler32&cks.value=62c0215",
           "&cks.type=adler32&cks.value=0062c0215",
           "&cks.type=adler32&cks.value=062c021x",
           "&cks.type=adler32&cks.value=BiwCFQ==",
           "&xec.digest=adler32",
           "&xec.digest=unixcksum=1",
           "&xec.digest=md5=062c0215",
           "&xec.digest=adler32=BiwCFQ=",
           "&xec.digest=adler32=BiwCFQ",
           "&xec.digest=adler32=BiwCFR==",  // bits behind the last byte
           "&xec.digest=adler32=BiwC====",
           "&xec.digest=adler32=Bi=CFQ==",
           "&xec.repr-digest=adler=062c0215",
           "&xec.repr-digest=adler=:062c0215:",
           "&xec.repr-digest=adler=:",
           "&xec.repr-digest=adler=::",
       }) {
    EXPECT_EQ(DeclaredChecksums(opaque).code(), Code::kInvalidArgument) << opaque;
  }
}

}  // namespace
}  // namespace xec
