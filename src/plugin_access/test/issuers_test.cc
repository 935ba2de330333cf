// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/issuers.hh"

#include <gtest/gtest.h>

#include <XrdNet/XrdNetAddr.hh>

#include "plugin_access/bans.hh"

namespace xec {
namespace {

TEST(ParseIssuersTest, ReadsTheFileOfXrootdsPlugin) {
  const Result<Issuers> issuers = ParseIssuers(
      "[Global]\naudience = https://a, https://b\nbase_path = /not/of/an/issuer\n"
      "# comment\n; another\n"
      "[Issuer ATLAS]\nissuer = https://atlas-auth.cern.ch/\nbase_path = /atlas/, /scratch//atlas ; both\n"
      "restricted_path = /a /b\r\nmap_subject = True\nunknown\n"
      "[Issuer CMS]\nissuer: https://cms\nbase_path: /\n");
  ASSERT_TRUE(issuers) << issuers.error().message;
  ASSERT_EQ(issuers->size(), 2u);
  const IssuerPaths& atlas = issuers->at("https://atlas-auth.cern.ch/");
  EXPECT_EQ(atlas.base, (std::vector<std::string>{"/atlas", "/scratch/atlas"}));
  EXPECT_EQ(atlas.restricted, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(issuers->at("https://cms").base, std::vector<std::string>{""});
}

TEST(ParseIssuersTest, APathThatEscapesIsAnError) {
  const Result<Issuers> issuers = ParseIssuers("[Issuer A]\nissuer = https://a\nbase_path = /a/../b\n");
  ASSERT_FALSE(issuers);
  EXPECT_EQ(issuers.error().message, "\"/a/../b\" is no absolute path without . and ..");
}

TEST(BansTest, NameDnVoHostAndSubject) {
  const Result<Bans> bans = ParseBans(
      "# whom we do not want\n\ndn /DC=org/CN=Alice A\n name\tbob\nvo  evilvo\nhost h.example.org\nsubject "
      "d0c4\n");
  ASSERT_TRUE(bans) << bans.error().message;
  XrdSecEntity client("gsi");
  EXPECT_EQ(BanOf(*bans, client, {}), "");
  EXPECT_EQ(BanOf(*bans, client, {.subject = "d0c4"}), "subject d0c4");
  char dn[] = "/DC=org/CN=Alice A/CN=1234/CN=limited proxy";
  client.moninfo = dn;
  EXPECT_EQ(BanOf(*bans, client, {}), "dn /DC=org/CN=Alice A");
  char other[] = "/DC=org/CN=Alice AB";
  client.moninfo = other;
  EXPECT_EQ(BanOf(*bans, client, {}), "");
  char vos[] = "goodvo evilvo";
  client.vorg = vos;
  EXPECT_EQ(BanOf(*bans, client, {}), "vo evilvo");
  char name[] = "bob";
  client.name = name;
  EXPECT_EQ(BanOf(*bans, client, {}), "name bob");
  client.moninfo = client.vorg = client.name = nullptr;
}

TEST(BansTest, AHostByItsNameOrItsAddress) {
  char name[] = "H.example.org", address[] = "[::ffff:192.0.2.1]";
  const auto ban_of = [&](const char* text, char* host, const char* from = nullptr) {
    XrdNetAddr place;
    if (from != nullptr) place.Set(from, 0);
    XrdSecEntity client("host");
    client.host = host;
    client.addrInfo = from == nullptr ? nullptr : &place;
    return BanOf(*ParseBans(text), client, {});
  };
  EXPECT_EQ(ban_of("host h.example.org", name), "host h.example.org");
  EXPECT_EQ(ban_of("host example.org", name), "");
  EXPECT_EQ(ban_of("host 192.0.2.1", address), "host 192.0.2.1");
  EXPECT_EQ(ban_of("host [::ffff:192.0.2.1]", address), "host 192.0.2.1");
  EXPECT_EQ(ban_of("host 192.0.2.1", name, "192.0.2.1"), "host 192.0.2.1");
  EXPECT_EQ(ban_of("host 2001:DB8:0::1", name, "[2001:db8::1]"), "host 2001:db8::1");
  EXPECT_EQ(ban_of("host 192.0.2.2", name, "192.0.2.1"), "");
}

TEST(BansTest, AWrongLineIsAnError) {
  for (const char* text : {"\nbob\n", "\nuser bob\n", "\nname\n"}) {
    const Result<Bans> bans = ParseBans(text);
    ASSERT_FALSE(bans) << text;
    EXPECT_EQ(bans.error().message, "line 2: say dn, name, vo, host or subject, and which");
  }
}

}  // namespace
}  // namespace xec
