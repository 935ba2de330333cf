// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/settings.hh"

#include <limits>

#include <gtest/gtest.h>

namespace xec {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

TEST(Settings, TextsRoundTrip) {
  const std::pair<Settings, std::string> cases[] = {
      {{.mode = 0751}, "m0751"},
      {{.mode = 0}, "m0000"},
      {{.mode = Settings::kModeMax}, "m7777"},
      {{.mtime_ns = 1'700'000'000'123'456'789}, "t1700000000123456789"},
      {{.mtime_ns = kLowest, .mode = 0644}, "m0644_t-9223372036854775808"},
      {{.link = true}, "l"},
      {{.mtime_ns = 0, .mode = 04755, .link = true}, "m4755_t0_l"}};
  for (const auto& [settings, text] : cases) {
    EXPECT_EQ(FormatSettings(settings), text);
    EXPECT_EQ(ParseSettings(text), settings) << text;
    EXPECT_TRUE(settings.Any());
  }
  EXPECT_EQ(FormatSettings({}), "");
  EXPECT_FALSE(Settings().Any());
}

TEST(Settings, EveryOtherTextIsRefused) {
  for (const char* text :
       {"",         "_",           "m",   "m751", "m00751",  "m0855",    "m17777",  "m0751_",
        "_m0751",   "m0751_m0751", "t",   "t+1",  "t01",     "t-0",      "t1.5",    "t9223372036854775808",
        "t1_m0751", "l_m0751",     "l_l", "L",    "m0751_x", "m0751__l", "m0751 l", "m-001"})
    EXPECT_EQ(ParseSettings(text), std::nullopt) << text;
}

TEST(Settings, WhatIsChangedGoesOverWhatWasGiven) {
  const Settings given = {.mtime_ns = 5, .mode = 0640, .link = true};
  EXPECT_EQ(given.With({}), given);
  EXPECT_EQ(given.With({.mode = 0600}), (Settings{.mtime_ns = 5, .mode = 0600, .link = true}));
  EXPECT_EQ(given.With({.mtime_ns = -1}), (Settings{.mtime_ns = -1, .mode = 0640, .link = true}));
  EXPECT_EQ(Settings::OfMode(0100644), Settings{.mode = 0644});
}

TEST(Settings, ChangesAreAttributes) {
  const Settings changed = {.mtime_ns = -1, .mode = 0640};
  std::map<std::string, std::string> attributes = {{"color", "red"}};
  for (const auto& [name, value] : AttributesOf(changed)) attributes[name] = *value;
  EXPECT_EQ(attributes.at("xec.mode"), "0640");
  EXPECT_EQ(attributes.at("xec.mtime"), "-1");
  EXPECT_EQ(SettingsIn(attributes), changed);
  for (const char* odd : {"", "rwx", "0855", "77777", "644 "}) {
    EXPECT_EQ(SettingsIn({{"xec.mode", odd}, {"xec.mtime", "1"}}), Settings{.mtime_ns = 1}) << odd;
    EXPECT_EQ(SettingsIn({{"xec.mode", "0600"}, {"xec.mtime", "soon"}}), Settings{.mode = 0600});
  }
}

TEST(Settings, MillisecondsAreRoundedDown) {
  EXPECT_EQ(MillisOf(1'999'999), 1);
  EXPECT_EQ(MillisOf(0), 0);
  EXPECT_EQ(MillisOf(-1), -1);
  EXPECT_EQ(MillisOf(-2'000'000), -2);
}

}  // namespace
}  // namespace xec
