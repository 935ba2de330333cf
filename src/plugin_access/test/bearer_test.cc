// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/bearer.hh"

#include <gtest/gtest.h>

#include "plugin_access/test/bearers.hh"

namespace xec {
namespace {

TEST(ReadTokenTest, ReadsIssuerSubjectAndScopes) {
  const std::optional<TokenClaims> claims =
      ReadToken(TokenOf(R"({"iss":"https://i","sub":"alice","scope":"storage.read:/a","aud":["x","y"]})"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->issuer, "https://i");
  EXPECT_EQ(claims->subject, "alice");
  ASSERT_TRUE(claims->scopes);
  EXPECT_EQ(claims->scopes->front().path, "/a");
}

TEST(ReadTokenTest, ClaimsOfAnotherKindAreNone) {
  const std::optional<TokenClaims> claims =
      ReadToken(TokenOf(R"({"iss":1,"sub":null,"scope":["storage.read:/a"]})"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->issuer + claims->subject, "");
  EXPECT_FALSE(claims->scopes);
}

TEST(ReadTokenTest, WhatIsNoTokenIsNone) {
  for (const std::string& text :
       {std::string(), std::string("a.b"), std::string("a.b.c.d"), std::string("e30.*.e30"),
        std::string("e30.e.e30"), TokenOf("[]"), TokenOf("{"), TokenOf("{\"a\":\xff}"),
        TokenOf(fmt::format("{:>{}}", "{}", kMaxBearerBytes))}) {
    EXPECT_FALSE(ReadToken(text)) << text.substr(0, 40);
  }
}

TEST(ReadMacaroonTest, ReadsTheFoldersItIsConfinedTo) {
  const auto claims = ReadMacaroon(MacaroonOf({"location x", "identifier y", "cid activity:DOWNLOAD",
                                               "cid path:/a", "cid path:/a//b/", "signature z"}));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->paths, (std::vector<std::string>{"/a", "/a/b"}));
}

TEST(ReadMacaroonTest, ANameIsTheOneThatTheGatewaySaidFirst) {
  const auto name_in = [](const std::vector<std::string>& packets) {
    return ReadMacaroon(MacaroonOf(packets))->name;
  };
  EXPECT_EQ(name_in({"location x", "identifier y", "cid name:alice", "cid activity:LIST", "cid name:bob"}),
            "alice");
  EXPECT_EQ(name_in({"identifier name:bob", "cid activity:LIST", "cid name:bob"}), "");
}

TEST(ReadMacaroonTest, WhatIsNoMacaroonIsNone) {
  EXPECT_FALSE(ReadMacaroon(""));
  EXPECT_FALSE(ReadMacaroon(MacaroonOf({"location x", "cid path:/a/../b"})));
  for (const char* bytes :
       {"0004", "0005x", "0009cid a", "00zzcid a\n", "ffffcid a\n", "0011cid path:/a\n"}) {
    EXPECT_FALSE(ReadMacaroon(Base64Url(bytes))) << bytes;
  }
}

}  // namespace
}  // namespace xec
