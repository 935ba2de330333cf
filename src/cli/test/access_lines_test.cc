// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/access_lines.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

std::string LineFor(const std::string& users_lines, const std::string& banned = "") {
  const Result<std::string> line = AccessLine(users_lines, "/p.so", banned);
  return line ? *line : line.error().message;
}

TEST(AccessLineTest, StandsInFrontOfXrootdsAuthorization) {
  EXPECT_EQ(LineFor(""), "");
  EXPECT_EQ(LineFor("xrd.tls a b\n#ofs.authorize\n"), "");
  EXPECT_EQ(LineFor("  ofs.authorize 1\n"), "ofs.authlib ++ /p.so\n");
  EXPECT_EQ(LineFor("ofs.authorize\n", "/bans"), "ofs.authlib ++ /p.so banned=/bans\n");
}

TEST(AccessLineTest, KnowsWhereTheIssuersAre) {
  EXPECT_EQ(LineFor("ofs.authorize\nofs.authlib ++ libXrdMacaroons.so config=/m\nofs.authlib ++ "
                    "/l/libXrdAccSciTokens-5.so "
                    "config=/t\n"),
            "ofs.authlib ++ /p.so tokens=/t\n");
  EXPECT_EQ(LineFor("ofs.authlib ++ libXrdAccSciTokens.so\nofs.authorize\n", "/b"),
            "ofs.authlib ++ /p.so tokens=/etc/xrootd/scitokens.cfg banned=/b\n");
}

TEST(AccessLineTest, BansWithoutAuthorizationAreAnError) {
  EXPECT_EQ(LineFor("", "/bans"),
            "xec.banned needs a file with XRootD's lines for authorization, `ofs.authorize` and more (see "
            "docs/credentials.md)");
}

}  // namespace
}  // namespace xec
