// SPDX-License-Identifier: LGPL-3.0-or-later
// What `xec doctor` makes of files that a gateway's lines name. Certificates are in
// tests/component/test_doctor.py.
#include "cli/doctor.hh"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace xec {
namespace {

class DoctorTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, int mode = 0600) {
    std::string path = testing::TempDir() + "doctor_test." + name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }

  // The one finding of one line.
  Finding Check(const std::string& line) {
    Configuration configuration;
    configuration.data = {{"/d1", ""}};
    const Findings findings = CheckSite(WordsOfLines(line), configuration, view);
    EXPECT_EQ(findings.size(), 1u) << line;
    return findings.empty() ? Finding() : findings.front();
  }

  DoctorView view = {.host = "gateway1.example.org",
                     .gateway_uid = geteuid(),
                     .gateway_user = "me",
                     .now_s = 1000,
                     .key_file = ""};
};

TEST_F(DoctorTest, LinesHaveNoCommentsAndNothingOfXec) {
  EXPECT_EQ(WordsOfLines("# a\nxec.data /d1\n  xrd.tls  /c /k # both\n\n"),
            (SiteLines{{"xrd.tls", "/c", "/k"}}));
}

TEST_F(DoctorTest, ASecretIsForTheGatewayAlone) {
  EXPECT_EQ(Check("macaroons.secretkey " + Write("good", "x")).level, FindingLevel::kOk);
  const std::string open = Write("open", "x", 0644);
  EXPECT_EQ(Check("macaroons.secretkey " + open).todo, "chmod 0600 " + open);
  EXPECT_EQ(Check("macaroons.secretkey /nowhere").level, FindingLevel::kFail);
  view.gateway_uid += 1;
  EXPECT_EQ(Check("macaroons.secretkey " + Write("other", "x")).level, FindingLevel::kFail);
}

TEST_F(DoctorTest, KeysThatAreAllOverLetNobodyIn) {
  const std::string key = "0 u:xec g:xec n:xec N:1 c:10 e:{} f:0 k:5ec3e7\n";
  const auto keytab = [&](const std::string& text) {
    return Check("sec.protocol sss -s " + Write("keytab", text));
  };
  const Finding good = keytab(fmt::format(fmt::runtime(key), 0) + fmt::format(fmt::runtime(key), 999));
  EXPECT_EQ(good.level, FindingLevel::kOk) << good.found;
  EXPECT_EQ(good.found.find("5ec3e7"), std::string::npos);
  EXPECT_EQ(keytab(fmt::format(fmt::runtime(key), 999)).level, FindingLevel::kFail);
  EXPECT_EQ(keytab("").level, FindingLevel::kFail);
}

TEST_F(DoctorTest, TheAudienceIsTheNameOfTheHostOrOfItsRedirector) {
  const auto level = [&](const std::string& audience, const std::string& more = "") {
    const std::string file = Write("scitokens", "[Global]\n" + audience + "\n");
    return Check("ofs.authlib ++ libXrdAccSciTokens.so config=" + file + "\n" + more).level;
  };
  EXPECT_EQ(level("audience = https://gateway1.example.org"), FindingLevel::kOk);
  EXPECT_EQ(level("audience = https://r.example.org"), FindingLevel::kWarn);
  EXPECT_EQ(level("audience = https://r.example.org", "all.manager r.example.org:1213\n"), FindingLevel::kOk);
  EXPECT_EQ(level(""), FindingLevel::kFail);
}

TEST_F(DoctorTest, DataServersNeedAKey) {
  Configuration configuration;
  configuration.servers = {{"root://a:1095", ""}};
  EXPECT_EQ(CheckSite({}, configuration, view).front().level, FindingLevel::kWarn);
  view.key_file = Write("key", "0 u:xec g:xec n:xec N:1 c:10 e:0 f:0 k:5ec3e7\n");
  EXPECT_EQ(CheckSite({}, configuration, view).front().level, FindingLevel::kOk);
}

TEST_F(DoctorTest, AProcessHasOneFileOfSharedSecrets) {
  const std::string key = "0 u:xec g:xec n:xec N:1 c:10 e:0 f:0 k:5ec3e7\n";
  const std::string clients = Write("clients", key);
  const auto found = [&] {
    const Findings findings = CheckSite(WordsOfLines("sec.protocol sss -s " + clients), {}, view);
    EXPECT_EQ(findings.back().what, "files of shared secrets");
    return findings.back();
  };
  view.key_file = Write("servers", key);
  EXPECT_EQ(found().level, FindingLevel::kWarn);
  EXPECT_NE(found().found.find(clients), std::string::npos);
  EXPECT_NE(found().found.find(view.key_file), std::string::npos);
  view.key_file = clients;
  EXPECT_EQ(found().level, FindingLevel::kOk);
  std::filesystem::remove(view.key_file = clients + ".link");
  std::filesystem::create_symlink(clients, view.key_file);
  EXPECT_EQ(found().level, FindingLevel::kOk);
}

TEST_F(DoctorTest, TheFileOfBansIsReadByTheGatewaysUser) {
  Configuration configuration;
  const auto found = [&](const std::string& path) {
    configuration.banned = path;
    return CheckSite({}, configuration, view).front();
  };
  EXPECT_EQ(found(Write("bans", "name mallory\n")).level, FindingLevel::kOk);
  EXPECT_EQ(found("/nowhere/banned").level, FindingLevel::kFail);
  if (geteuid() != 0) GTEST_SKIP() << "needs root: another user";
  view.gateway_uid = 65534;
  EXPECT_EQ(found(Write("bans", "", 0644)).level, FindingLevel::kOk);
  EXPECT_EQ(found(Write("bans", "", 0600)).level, FindingLevel::kFail);
  std::ifstream again(configuration.banned);
  EXPECT_TRUE(again) << "the doctor is root again";
}

}  // namespace
}  // namespace xec
