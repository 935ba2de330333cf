// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/changed_settings.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const Version kV1{1 << kLogicalBits, 1, 0};
const Version kV2{2 << kLogicalBits, 1, 0};
const Version kR1{8 << kLogicalBits, 1, 0};
const Version kR2{9 << kLogicalBits, 1, 0};
const State kThere = WitnessState(kV2, "aaaaaaaaaaaaaaaaaaaaaaaa", 1);
const Settings kSet = {.mode = 0600};

State Revision(Version version, Version revision, std::optional<Settings> changed) {
  State state;
  state.kind = StateKind::kAttributes;
  state.version = version;
  state.target = revision;
  state.changed = changed;
  return state;
}

std::optional<Settings> OnFive(const std::vector<States>& listings) {
  std::map<MemberIndex, States> by_home;
  for (size_t i = 0; i < listings.size(); ++i) by_home[static_cast<MemberIndex>(i)] = listings[i];
  return ChangedSettings(by_home, kV2, 3);
}

TEST(ChangedSettingsTest, AQuorumThatShowsNoRevisionOrTheSameOneTells) {
  const States none = {kThere}, set = {kThere, Revision(kV2, kR2, kSet)};
  EXPECT_EQ(OnFive({none, none, none}), Settings());
  EXPECT_EQ(OnFive({set, set, set}), kSet);
  const States no_setting = {kThere, Revision(kV2, kR2, Settings())};
  EXPECT_EQ(OnFive({no_setting, no_setting, no_setting}), Settings());
  EXPECT_EQ(OnFive({set, none, set, set}), kSet) << "a home that missed it";
  EXPECT_EQ(OnFive({none, set, none, none}), Settings()) << "one that is being set";
  const States both = {kThere, Revision(kV2, kR1, Settings()), Revision(kV2, kR2, kSet)};
  EXPECT_EQ(OnFive({set, both, set, set}), kSet);
}

TEST(ChangedSettingsTest, TooFewOrSeveralTellNothing) {
  const States none = {kThere}, set = {kThere, Revision(kV2, kR2, kSet)};
  EXPECT_EQ(OnFive({}), std::nullopt);
  EXPECT_EQ(OnFive({set, set}), std::nullopt);
  EXPECT_EQ(OnFive({set, set, none}), std::nullopt);
  EXPECT_EQ(OnFive({set, set, none, none}), std::nullopt);
  // Neither need contain the other.
  const States both = {kThere, Revision(kV2, kR1, Settings()), Revision(kV2, kR2, kSet)};
  EXPECT_EQ(OnFive({both, both, both}), std::nullopt);
  EXPECT_EQ(OnFive({set, set, both}), std::nullopt);
  // It was made by a program that did not tell them.
  const States untold = {kThere, Revision(kV2, kR2, std::nullopt)};
  EXPECT_EQ(OnFive({untold, untold, untold}), std::nullopt);
  EXPECT_EQ(OnFive({untold, set, set}), std::nullopt);
}

TEST(ChangedSettingsTest, AHomeCountsOnceItShowsTheVersion) {
  const States set = {kThere, Revision(kV2, kR2, kSet)};
  // A rename brings attributes to a quorum before any home accepts its version.
  EXPECT_EQ(OnFive({set, set, {Revision(kV2, kR2, kSet)}}), std::nullopt);
  EXPECT_EQ(OnFive({{kThere}, {kThere}, {}}), std::nullopt);
  const State earlier = WitnessState(kV1, "bbbbbbbbbbbbbbbbbbbbbbbb", 1);
  const States beside = {earlier, Revision(kV1, kR1, Settings()), kThere, Revision(kV2, kR2, kSet)};
  EXPECT_EQ(OnFive({beside, set, set}), kSet) << "those of another version do not count";
}

}  // namespace
}  // namespace xec
