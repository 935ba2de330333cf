// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/background.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(PauseAfterTest, RoundsThatTakeLongComeLessOften) {
  EXPECT_EQ(PauseAfter(seconds(0), minutes(1)), minutes(1));
  EXPECT_EQ(PauseAfter(seconds(15), minutes(1)), minutes(1));
  EXPECT_EQ(PauseAfter(seconds(30), minutes(1)), minutes(2));
  EXPECT_EQ(PauseAfter(minutes(30), minutes(1)), minutes(10));
  EXPECT_EQ(PauseAfter(minutes(30), minutes(20)), minutes(20));
}

}  // namespace
}  // namespace xec
