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

TEST(AccessLineTest, ALineMayGoOn) {
  EXPECT_EQ(
      LineFor(
          "ofs.authorize\nofs.authlib ++ \\ \n\n# of our issuers\n  libXrdAccSciTokens.so \\\n config=/t\n"),
      "ofs.authlib ++ /p.so tokens=/t\n");
}

TEST(AccessLineTest, BansWithoutAuthorizationAreAnError) {
  EXPECT_EQ(LineFor("", "/bans"),
            "xec.banned needs a file with XRootD's lines for authorization, `ofs.authorize` and more (see "
            "docs/credentials.md)");
}

TEST(WithRevocationsTest, GsiGetsOurFunction) {
  EXPECT_EQ(
      WithRevocations("xrd.port 1\nsec.protocol gsi -certdir:/c \\\n  -ca:2\n", "/p.so"),
      "xrd.port 1\nsec.protocol gsi -certdir:/c    -ca:2 -authzfun:/p.so -authzfunparms:/c -authzto:600\n");
  EXPECT_EQ(WithRevocations("sec.protocol /lib gsi -crldir:/r -certdir:/c\n", "/p.so"),
            "sec.protocol /lib gsi -crldir:/r -certdir:/c -authzfun:/p.so -authzfunparms:/r -authzto:600\n");
  EXPECT_EQ(WithRevocations("sec.protocol gsi\n", "/p.so"),
            "sec.protocol gsi -authzfun:/p.so -authzfunparms:/etc/grid-security/certificates -authzto:600\n");
  for (const char* line :
       {"sec.protocol gsi -authzfun:libXrdLcmaps.so\n", "sec.protocol sss -s gsi\n", "#sec.protocol gsi\n"})
    EXPECT_EQ(WithRevocations(line, "/p.so"), line);
}

TEST(WithRevocationsTest, GsiMayBeToldElsewhere) {
  EXPECT_EQ(WithRevocations("sec.protparm gsi -certdir:/c\nsec.protocol gsi -ca:2\n", "/p.so"),
            "sec.protparm gsi -certdir:/c\nsec.protocol gsi -ca:2 -authzfun:/p.so -authzfunparms:/c "
            "-authzto:600\n");
  const char* const own = "sec.protparm gsi -authzfun:libXrdLcmaps.so\nsec.protocol gsi\n";
  EXPECT_EQ(WithRevocations(own, "/p.so"), own);
}

TEST(WithRevocationsTest, ACommentDoesNotGoOn) {
  EXPECT_EQ(WithRevocations("# a folder \\\nsec.protocol gsi\n", "/p.so"),
            "# a folder \\\nsec.protocol gsi -authzfun:/p.so -authzfunparms:/etc/grid-security/certificates "
            "-authzto:600\n");
}

TEST(DirectiveLinesTest, AreNumberedByTheirFirst) {
  const std::vector<DirectiveLine> lines = DirectiveLines("a \\\n b\n\n# c \\\nd\n");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text, "a   b");
  EXPECT_EQ(lines[2].text, "# c \\");
  EXPECT_EQ(lines[3].number, 5u);
  EXPECT_EQ(lines[3].text, "d");
}

TEST(WithRevocationsTest, HttpsGetsOurExtractor) {
  EXPECT_EQ(WithRevocations("http.secxtractor libXrdVoms.so a=b c\n", "/p.so"),
            "http.secxtractor /p.so libXrdVoms.so a=b c\n");
  EXPECT_EQ(WithRevocations("http.secxtractor required libXrdVoms.so\n", "/p.so"),
            "http.secxtractor required /p.so libXrdVoms.so\n");
  EXPECT_EQ(WithRevocations("xrd.tlsca certdir /c\n", "/p.so"),
            "xrd.tlsca certdir /c\nhttp.secxtractor /p.so\n");
  EXPECT_EQ(WithRevocations("xrd.tlsca certfile /c\n", "/p.so"), "xrd.tlsca certfile /c\n");
}

}  // namespace
}  // namespace xec
