// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/census.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(LossesSurvivedTest, TheWorstServersAreLostFirst) {
  EXPECT_EQ(LossesSurvived({0, 1, 2, 3, 4, 5}, 4), 2);
  EXPECT_EQ(LossesSurvived({0, 1, 2, 3, 4}, 4), 1);
  EXPECT_EQ(LossesSurvived({0, 1, 2, 3}, 4), 0);
  EXPECT_EQ(LossesSurvived({0, 1, 2}, 4), -1);
  // Two chunks on one server go together.
  EXPECT_EQ(LossesSurvived({0, 0, 1, 2, 3, 4}, 4), 1);
  EXPECT_EQ(LossesSurvived({0, 0, 0, 1, 2, 3}, 4), 0);
}

TEST(NoneToSpareTest, NamesThoseWhoseLossIsTooMuch) {
  EXPECT_EQ(NoneToSpare({0, 1, 2, 3, 4}, 4), (std::vector<MemberIndex>{}));
  EXPECT_EQ(NoneToSpare({7, 1, 2, 3}, 4), (std::vector<MemberIndex>{1, 2, 3, 7}));
  EXPECT_EQ(NoneToSpare({0, 1, 2}, 4), (std::vector<MemberIndex>{})) << "it is lost already";
  // Two chunks on one server go together.
  EXPECT_EQ(NoneToSpare({5, 5, 1, 2, 3}, 4), (std::vector<MemberIndex>{5}));
}

Redundancy Left(int survives, std::set<MemberIndex> critical) {
  return {.geometry = {4, 2, 4096}, .bytes = 10, .survives = survives, .critical = std::move(critical)};
}

TEST(CensusTest, SaysWhatTheNextLossWouldMean) {
  Census census;
  census.Add("/full", Left(2, {}));
  census.Add("/thin", Left(1, {}));
  census.Add("/a", Left(0, {1, 2}));
  census.Add("/b", Left(0, {2}));
  // One stripe is lost already, though another one only depends on a server.
  census.Add("/lost", Left(-1, {3}));
  EXPECT_EQ(census.WithNextLoss(1), (Census::Count{1, 10}));
  EXPECT_EQ(census.WithNextLoss(2), (Census::Count{2, 20}));
  EXPECT_EQ(census.WithNextLoss(3), Census::Count());
}

// Without parity every server counts, though nothing is missing.
TEST(CensusTest, AFullObjectMayHaveNothingToSpare) {
  Census census;
  census.Add("/o", {.geometry = {2, 0, 4096}, .bytes = 7, .survives = 0, .critical = {4}});
  EXPECT_EQ(census.full(), 1u);
  EXPECT_EQ(census.WithNextLoss(4), (Census::Count{1, 7}));
}

}  // namespace
}  // namespace xec
