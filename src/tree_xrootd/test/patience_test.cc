// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/patience.hh"

#include <gtest/gtest.h>

#include "tree_xrootd/ask_limits.hh"

namespace xec {
namespace {

constexpr TimePoint kBegan{std::chrono::seconds(100)};
constexpr TimePoint kDeadline = kBegan + kAnswerLimit;

// Programs in a mount got errors while its gateway was started anew, which takes a second.
TEST(Patience, AServerThatIsStartedAnewIsWaitedFor) {
  Patience patience(true);
  EXPECT_TRUE(patience.Again(true, kBegan, kBegan, kDeadline));
  EXPECT_TRUE(patience.Again(true, kBegan + kRestartLimit / 2, kBegan, kDeadline));
  EXPECT_FALSE(patience.Again(false, kBegan + kRestartLimit / 2, kBegan, kDeadline));
}

TEST(Patience, EndsWithTheDeadline) {
  Patience patience(true);
  EXPECT_FALSE(patience.Again(true, kBegan, kBegan, kBegan + kRestartPause / 2));
}

TEST(Patience, NobodyWaitsAgainInVain) {
  Patience patience(true);
  const TimePoint late = kBegan + kRestartLimit;
  EXPECT_FALSE(patience.Again(true, late, kBegan, kDeadline));
  EXPECT_FALSE(patience.Again(true, late, late, late + kAnswerLimit));
  EXPECT_FALSE(patience.Again(false, late, late, late + kAnswerLimit));
  EXPECT_TRUE(patience.Again(true, late, late, late + kAnswerLimit));
}

TEST(Patience, OneOfManyIsNotWaitedFor) {
  Patience patience(false);
  EXPECT_FALSE(patience.Again(true, kBegan, kBegan, kDeadline));
  EXPECT_FALSE(patience.Again(false, kBegan, kBegan, kDeadline));
  EXPECT_FALSE(patience.Again(true, kBegan, kBegan, kDeadline));
}

}  // namespace
}  // namespace xec
