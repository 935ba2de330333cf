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

}  // namespace
}  // namespace xec
