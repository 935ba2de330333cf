// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/configuration.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assembly/configuration/configuration_file.hh"
#include "assembly/configuration/options.hh"

namespace xec {
namespace {

using testing::HasSubstr;

// The message of the error that this text gives.
std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseConfiguration(text, "xec.conf");
  if (parsed) return "no error";
  EXPECT_EQ(parsed.code(), Code::kInvalidArgument);
  return parsed.error().message;
}

TEST(ConfigurationTest, ReadsDirectivesAmongOtherLines) {
  const auto c = ParseConfiguration(
      "# a comment\n"
      "all.export /\n"
      "  xec.data /data/with blank\t\r\n"
      "xec.data /data/2/,host=h1\n"
      "xec.geometry 1+1\n"
      "xec.chunk-size 64KiB\n"
      "if exec cmsd\nall.role manager\nfi\n"
      "xec.rule /small%20ones/ 1+1 4KiB\n"
      "xec.checksums / md5\n"
      "xec.checksums /raw adler32\n"
      "xec.read-timeout 5s\n"
      "xec.min-redundancy 1\n",
      "xec.conf");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->data, (std::vector<Site>{{"/data/with blank", ""}, {"/data/2", "h1"}}));
  EXPECT_EQ(c->GeometryOver(Geometry{}), (Geometry{1, 1, 64 * kKiB}));
  EXPECT_EQ(c->RulesOver(Geometry{}), (std::vector<PathRule>{{"/small ones", Geometry{1, 1, 4 * kKiB}}}));
  EXPECT_TRUE(c->DigestsFor("/x").md5);
  EXPECT_FALSE(c->DigestsFor("/raw/x").md5);
  EXPECT_TRUE(c->DigestsFor("/rawer/x").md5);
  EXPECT_EQ(c->engine.read_timeout, std::chrono::seconds(5));
  EXPECT_EQ(c->ArchivesMin(Geometry{4, 2, kMiB}), 5u);
}

TEST(ConfigurationTest, ErrorsNameFileAndLine) {
  EXPECT_EQ(ErrorOf("\nxec.chunk-size 0\n"),
            "xec.conf:2: xec.chunk-size: '0' is no chunk size: a multiple of 4KiB from 4KiB to 64MiB");
  EXPECT_EQ(ErrorOf("xec.chunksize 1MiB"), "xec.conf:1: xec.chunksize: there is no such option");
  EXPECT_EQ(ErrorOf("xec.port 1\n\nxec.port 2"), "xec.conf:3: xec.port: it was given already (line 1)");
  EXPECT_EQ(ErrorOf("xec.port 65536"), "xec.conf:1: xec.port: '65536' is no port: a number from 1 to 65535");
  EXPECT_EQ(ErrorOf("xec.data /d /"),
            "xec.conf:1: xec.data: '/d /': a directory's name may not begin or end with a blank");
  EXPECT_EQ(ErrorOf("xec.data"), "xec.conf:1: xec.data: a value is missing: DIR[,host=NAME]");
  EXPECT_THAT(ErrorOf("xec.geometry 8-2"), HasSubstr("xec.conf:1: xec.geometry: "));
  EXPECT_THAT(ErrorOf("xec.geometry 30+3"), HasSubstr("xec.conf:1: xec.geometry: "));
  EXPECT_THAT(ErrorOf("xec.server http://a:1"), HasSubstr("'http://a:1' is no server"));
  EXPECT_THAT(ErrorOf("xec.server root://a:99999"), HasSubstr("the port must be"));
  EXPECT_THAT(ErrorOf("xec.data root://a:1"), HasSubstr("is a server, not a directory"));
  EXPECT_THAT(ErrorOf("xec.data /a\nxec.data /a/"),
              HasSubstr("xec.conf:2: xec.data: the directory /a is given twice"));
  EXPECT_THAT(ErrorOf("xec.layout zip"), HasSubstr("xec.conf:1: xec.layout: 'zip' is no layout"));
  EXPECT_THAT(ErrorOf("xec.rule a 1+1"), HasSubstr("must start with '/'"));
  EXPECT_THAT(ErrorOf("xec.checksums / sha3"), HasSubstr("sha3"));
  EXPECT_THAT(ErrorOf("if x\nxec.port 1\nfi"),
              HasSubstr("xec.conf:2: xec.port: xec directives cannot stand"));
  EXPECT_THAT(ErrorOf("xec.data /a" + std::string(kConfigurationLineMax, 'a')),
              HasSubstr("xec.conf:1: the line is longer"));
  EXPECT_THAT(ErrorOf(std::string(kConfigurationBytesMax + 1, '\n')), HasSubstr("the file is larger"));
  EXPECT_THAT(ErrorOf(std::string("xec.data /a\0b", 13)), HasSubstr("xec.conf:1: the line has a zero byte"));
}

TEST(ConfigurationTest, RefusesWhatCannotWork) {
  EXPECT_THAT(ErrorOf("xec.geometry 16+4\nxec.chunk-size 64MiB\n"),
              HasSubstr("more than the budget of 1.0 GiB"));
  EXPECT_THAT(ErrorOf("xec.rule /big 16+4 64MiB\n"), HasSubstr("more than the budget"));
  EXPECT_EQ(ErrorOf("xec.geometry 16+4\nxec.chunk-size 64MiB\nxec.memory 2GiB"), "no error");
  EXPECT_THAT(ErrorOf("xec.data /1\nxec.server root://a:1\n"), HasSubstr("not on both"));
  EXPECT_THAT(ErrorOf("xec.port 80\nxec.http-port 80\n"), HasSubstr("http-port 80"));
  EXPECT_THAT(ErrorOf("xec.operation-limit 60s\nxec.tombstone-horizon 119s"),
              HasSubstr("at most half of tombstone-horizon"));
  EXPECT_THAT(ErrorOf("xec.operation-limit 61s"), HasSubstr("operation-limit must be at most 60s"));
  EXPECT_THAT(ErrorOf("xec.descriptor-interval 31s"), HasSubstr("descriptor-interval must be at most 30s"));
}

TEST(ConfigurationTest, ListsTooShortForANewStore) {
  const auto verdict = [](const std::string& text) {
    const auto configuration = ParseConfiguration(text, "xec.conf");
    if (!configuration) return configuration.error().message;
    const Status enough = CheckListed(*configuration);
    return enough ? "" : enough.error().message;
  };
  const std::string two = "xec.data /1\nxec.data /2\n";
  EXPECT_EQ(verdict(two + "xec.geometry 8+2\n"), "geometry 8+2 needs 10 data servers, only 2 are listed");
  EXPECT_EQ(verdict(two), "geometry 8+2 needs 10 data servers, only 2 are listed");
  EXPECT_EQ(verdict(two + "xec.geometry 1+1\n"), "");
  EXPECT_EQ(verdict(two + "xec.geometry 1+1\nxec.rule /a 2+1\n"),
            "geometry 2+1 needs 3 data servers, only 2 are listed");
  EXPECT_EQ(verdict("xec.server root://a\nxec.origin root://b\nxec.geometry 8+2\n"), "");
  EXPECT_EQ(verdict("xec.geometry 8+2\n"), "");
}

TEST(ConfigurationTest, DirectivesRestoreTheConfiguration) {
  const auto first = ParseConfiguration(
      "xec.server root://a,host=x\nxec.server root://[::1]:2/\nxec.origin root://r:1\nxec.geometry "
      "1+1\nxec.chunk-size 8KiB\n"
      "xec.rule /a%20%25 1+1 12KiB\nxec.group a.b /a%20b 12KB\nxec.layout xrdec\nxec.sync "
      "none\nxec.checksums /m "
      "md5,sha256\nxec.min-redundancy 1\n"
      "xec.port 5\nxec.http-port 6\nxec.state /s\nxec.export /e\nxec.banned /b\nxec.audit /j\nxec.scratch "
      "/c\nxec.scratch-size 3GiB\nxec.user "
      "u\nxec.xrootd "
      "/x\nxec.clean-interval 5s\nxec.clean-rate 7\n"
      "xec.rebuild-after 0\nxec.inventory /i\nxec.inventory-interval 3s\nxec.inventory-rate 0\n"
      "xec.reserve 3GiB\nxec.memory 2GiB\nxec.cache 3MiB\nxec.stripes-in-flight 5\nxec.retries "
      "0\nxec.metadata-timeout "
      "1s\nxec.read-timeout "
      "2s\n"
      "xec.write-timeout 3s\nxec.hedge-delay 4ms\nxec.hedge-percent 7\nxec.superseded-grace "
      "5s\nxec.upload-grace 6s\n"
      "xec.tombstone-horizon 70s\nxec.operation-limit 8s\nxec.descriptor-interval 9s\n",
      "a");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->servers[0].address, "root://a:1094");
  const std::string text = FormatDirectives(*first);
  const auto second = ParseConfiguration(text, "b");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(FormatDirectives(*second), text);
  // Every option but data (not together with servers) was given, so a row that does not come back is noticed.
  for (const OptionRow& row : OptionTable()) {
    if (row.name != "data") {
      EXPECT_FALSE(row.get(*second).empty()) << row.name;
    }
  }
  EXPECT_EQ(FormatDirectives(Configuration{}), "");
}

TEST(ConfigurationTest, GroupsHaveANameAPathAndPerhapsAQuota) {
  Configuration c;
  EXPECT_TRUE(SetOption(c, "group", "atlas /atlas/ 10TiB", "test"));
  EXPECT_TRUE(SetOption(c, "group", "all /", "test"));
  ASSERT_EQ(c.groups.size(), 2u);
  EXPECT_EQ(c.groups[0], (SpaceGroup{"atlas", "/atlas", uint64_t{10} << 40}));
  EXPECT_EQ(c.groups[1], (SpaceGroup{"all", "/", {}}));
  for (const char* const wrong :
       {"atlas", "atlas atlas", "a b /x", "a,b /x", "x /x 1Q", "atlas /other", "other /atlas", "x /x 1 2"})
    EXPECT_EQ(SetOption(c, "group", wrong, "test").code(), Code::kInvalidArgument) << wrong;
}

TEST(ConfigurationTest, DocumentedDefaultsAreTheDefaults) {
  for (const OptionRow& row : OptionTable()) {
    // A share and two bounds are no value.
    if (row.name == "reserve") continue;
    const bool value = row.group == OptionGroup::kLimits || row.name == "port" ||
                       row.name == "clean-interval" || row.name == "clean-rate" || row.name == "export" ||
                       row.name == "inventory-interval" || row.name == "inventory-rate" ||
                       row.name == "rebuild-after";
    if (!value) continue;
    Configuration c;
    ASSERT_TRUE(SetOption(c, row.name, row.initial, "test")) << row.name;
    EXPECT_TRUE(row.get(c).empty()) << row.name << " is not " << row.initial;
  }
}

TEST(ConfigurationTest, FilesThatCannotBeRead) {
  const std::string folder = testing::TempDir() + "configuration_test";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(ParseConfigurationFile(folder + "/none").code(), Code::kNotFound);
  EXPECT_EQ(ParseConfigurationFile(folder).code(), Code::kIsDirectory);
  std::ofstream(folder + "/x.cf") << "xec.port x\n";
  EXPECT_THAT(ParseConfigurationFile(folder + "/x.cf").error().message, HasSubstr("/x.cf:1: xec.port: 'x'"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace xec
