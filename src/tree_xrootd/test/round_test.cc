// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/round.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

TimePoint Soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); }
std::string Nobody(size_t) { return "somebody"; }

TEST(Round, WhatIsMissingAtTheDeadlineIsTold) {
  Round<int> round(3, nullptr);
  round.Take(2, 7);
  EXPECT_FALSE(round.over());
  const auto answers = round.Wait(Soon(), Nobody);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].code(), Code::kDeadlineExceeded);
  EXPECT_EQ(*answers[2], 7);
  // What comes later goes nowhere.
  EXPECT_TRUE(round.over());
  round.Take(0, 1);
}

TEST(Round, OneThatIsEnoughIsAll) {
  Round<int> round(2, [](const Result<int>& answer) { return answer.has_value(); });
  round.Take(0, Fail(Code::kNotFound, "missing"));
  EXPECT_FALSE(round.over());
  round.Take(1, 7);
  EXPECT_TRUE(round.over());
  EXPECT_EQ(*round.Wait(TimePoint::max(), Nobody)[1], 7);
}

}  // namespace
}  // namespace xec
