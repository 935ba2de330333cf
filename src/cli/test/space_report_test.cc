// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/space_report.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

SpaceReport Report() {
  SpaceReport report;
  report.store = {.raw_total_bytes = 1500,
                  .raw_free_bytes = 900,
                  .usable_total_bytes = 1000,
                  .usable_free_bytes = 600,
                  .servers_heard = 3};
  report.groups = {{.group = {"atlas", "/atlas", 500}, .used = Usage{120, 2}, .counted_ms = 4000},
                   {.group = {"store", "/", {}}, .used = Usage{30, 1}, .counted_ms = 4000}};
  report.now_ms = 1'800'000'000'999;
  return report;
}

TEST(SpaceReportTest, JsonHasNullForWhatIsNotKnown) {
  SpaceReport report = Report();
  report.groups[1].used.reset();
  const Json json = SpaceJson(report);
  EXPECT_EQ(json["usable_free_bytes"], 600);
  EXPECT_EQ(json["groups"][0], Json({{"group", "atlas"},
                                     {"path", "/atlas"},
                                     {"quota_bytes", 500},
                                     {"free_bytes", 380},
                                     {"used_bytes", 120},
                                     {"objects", 2},
                                     {"counted_ms", 4000}}));
  EXPECT_TRUE(json["groups"][1]["used_bytes"].is_null());
  EXPECT_TRUE(json["groups"][1]["quota_bytes"].is_null());
  EXPECT_EQ(json["groups"][1]["free_bytes"], 600);
}

// Bug: a group that was misspelt went into the report under its own name.
TEST(SpaceReportTest, AnOrganisationIsOfAGroupThatThereIs) {
  const SpaceReport report = Report();
  EXPECT_TRUE(NeedGroups({{"atlas", "x"}, {"store", "y"}}, report.groups));
  const Status refused = NeedGroups({{"altas", "x"}}, report.groups);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "--vo altas=x: there is no group altas");
}

TEST(SpaceReportTest, ASharePerGroupAndAnEndpointPerUrl) {
  const SiteWords site = {.name = "SITE",
                          .id = "abc",
                          .endpoints = {"root://gw:1094/", "davs://gw:443/"},
                          .vos = {{"store", "dteam"}}};
  const Json service = SrrJson(Report(), site, "1.2")["storageservice"];
  EXPECT_EQ(service["name"], "SITE");
  EXPECT_EQ(service["latestupdate"], 1'800'000'000);
  EXPECT_EQ(service["storagecapacity"]["online"], Json({{"totalsize", 1000}, {"usedsize", 400}}));
  ASSERT_EQ(service["storageendpoints"].size(), 2u);
  EXPECT_EQ(service["storageendpoints"][0]["interfacetype"], "xroot");
  EXPECT_EQ(service["storageendpoints"][1]["interfacetype"], "https");
  ASSERT_EQ(service["storageshares"].size(), 2u);
  const Json& atlas = service["storageshares"][0];
  EXPECT_EQ(atlas["totalsize"], 500);
  EXPECT_EQ(atlas["usedsize"], 120);
  EXPECT_EQ(atlas["vos"], Json::array({"atlas"}));
  EXPECT_EQ(atlas["path"], Json::array({"/atlas"}));
  EXPECT_EQ(service["storageshares"][1]["totalsize"], 1000);
  EXPECT_EQ(service["storageshares"][1]["vos"], Json::array({"dteam"}));
}

}  // namespace
}  // namespace xec
