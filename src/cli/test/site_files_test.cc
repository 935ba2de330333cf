// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec config` prints, and what `xec serve` makes of a file that names a redirector. That the files work
// is shown by component tests.
#include "cli/site_files.hh"

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "base/text.hh"
#include "cli/cluster_daemon.hh"

namespace xec {
namespace {

std::string FileOf(const std::string& kind, const SiteOptions& options = {},
                   const Configuration& configuration = {}) {
  const Result<std::string> text = SiteFile(kind, options, configuration);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : std::string();
}

bool HasLine(const std::string& text, std::string_view start) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(start)) return true;
  }
  return false;
}

TEST(SiteFilesTest, AGatewayHasTheStoreThatIsGiven) {
  Configuration configuration;
  ASSERT_TRUE(SetOption(configuration, "server", "root://a.example.org:1095", "test"));
  ASSERT_TRUE(SetOption(configuration, "geometry", "4+2", "test"));
  const std::string text = FileOf("gateway", {}, configuration);
  EXPECT_TRUE(HasLine(text, "xec.server root://a.example.org:1095"));
  EXPECT_TRUE(HasLine(text, "xec.geometry 4+2"));
  EXPECT_FALSE(HasLine(text, "xec.server root://disk01"));
  EXPECT_TRUE(HasLine(FileOf("gateway"), "xec.server root://disk12.example.org:1095,host=disk12"));
}

TEST(SiteFilesTest, AnOpenGatewayAsksForNothing) {
  const std::string text = FileOf("gateway");
  EXPECT_FALSE(HasLine(text, "xrd.tls"));
  EXPECT_FALSE(HasLine(text, "ofs.authorize"));
  EXPECT_TRUE(HasLine(text, "# Open:"));
}

TEST(SiteFilesTest, EveryCredentialBringsAuthorization) {
  for (const SiteOptions& options :
       {SiteOptions{.voms = true}, SiteOptions{.tokens = true}, SiteOptions{.third_party = true},
        SiteOptions{.shared_secrets = true}, SiteOptions{.kerberos = true}}) {
    const std::string text = FileOf("gateway", options);
    EXPECT_TRUE(HasLine(text, "ofs.authorize 1"));
    EXPECT_TRUE(HasLine(text, "acc.authdb"));
    EXPECT_EQ(HasLine(text, "xrd.tls "), !options.shared_secrets && !options.kerberos);
  }
}

TEST(SiteFilesTest, RedirectorsAreNamedWhereTheyAreJoined) {
  EXPECT_TRUE(
      HasLine(FileOf("gateway", {.redirector = "r.example.org:1213"}), "all.manager r.example.org:1213"));
  EXPECT_TRUE(HasLine(FileOf("redirector", {.higher = "up.org:1213"}), "all.manager meta up.org:1213"));
  EXPECT_FALSE(HasLine(FileOf("redirector"), "all.manager meta"));
}

// A redirector with https sent clients on to plain http, with their tokens in the URL.
TEST(SiteFilesTest, ARedirectorWithTlsSendsOnToHttps) {
  for (const SiteOptions& options : {SiteOptions{.tls = true}, SiteOptions{.tokens = true}})
    EXPECT_TRUE(HasLine(FileOf("redirector", options), "http.desthttps yes"));
}

// Clients were sent to the addresses of gateways that have private ones only, which no certificate has.
TEST(SiteFilesTest, ARedirectorSendsOnToNames) {
  EXPECT_TRUE(HasLine(FileOf("redirector"), "xrd.network rpipa"));
}

TEST(SiteFilesTest, UnknownKindIsOneSentence) {
  const Result<std::string> text = SiteFile("server", {}, {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.code(), Code::kInvalidArgument);
}

TEST(ClusterDaemonTest, ALineOfAManagerIsFound) {
  EXPECT_TRUE(NamesManager("xrd.tls a b\n  all.manager r.example.org:1213\n"));
  EXPECT_FALSE(NamesManager("# all.manager r.example.org:1213\nall.sitename X\n"));
}

TEST(ClusterDaemonTest, CmsdGetsWhatIsForIt) {
  Configuration configuration;
  ASSERT_TRUE(SetOption(configuration, "data", "/d1", "test"));
  const std::string text =
      CmsdConfiguration(configuration, "/state", "/lib/libXrdOssXec.so",
                        "all.manager r:1213\nsec.protocol ztn\nhttp.gridmap /x\n cms.sched runq 100\n");
  EXPECT_TRUE(HasLine(text, "all.adminpath /state/admin"));
  EXPECT_TRUE(HasLine(text, "ofs.osslib /lib/libXrdOssXec.so"));
  EXPECT_TRUE(HasLine(text, "all.manager r:1213"));
  EXPECT_TRUE(HasLine(text, "cms.sched runq 100"));
  EXPECT_TRUE(HasLine(text, "xec.data /d1"));
  EXPECT_FALSE(HasLine(text, "sec."));
  EXPECT_FALSE(HasLine(text, "http."));
}

}  // namespace
}  // namespace xec
