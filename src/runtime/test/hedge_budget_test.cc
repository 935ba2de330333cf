// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/hedge_budget.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));

uint64_t TakeAll(HedgeBudget& budget, TimePoint now) {
  uint64_t taken = 0;
  while (budget.Take(1, now)) ++taken;
  return taken;
}

TEST(HedgeBudgetTest, ALoneReaderMayHedgeAtOnceAndAgainSoon) {
  HedgeBudget budget(5);
  EXPECT_EQ(TakeAll(budget, kStart), HedgeBudget::kBurst);
  EXPECT_EQ(TakeAll(budget, kStart + milliseconds(99)), 0u);
  EXPECT_EQ(TakeAll(budget, kStart + milliseconds(201)), 2u);
  EXPECT_EQ(TakeAll(budget, kStart + std::chrono::hours(5)), HedgeBudget::kBurst);
}

TEST(HedgeBudgetTest, OftenAskedItStillGrowsWithTime) {
  HedgeBudget budget(5);
  TakeAll(budget, kStart);
  uint64_t taken = 0;
  for (int i = 1; i <= 20'000; ++i) taken += TakeAll(budget, kStart + std::chrono::microseconds(50 * i));
  EXPECT_EQ(taken, HedgeBudget::kFloorPerSecond);
}

TEST(HedgeBudgetTest, WhoLookedAtItsClockBeforeAndComesLaterFillsNothing) {
  HedgeBudget budget(5);
  TakeAll(budget, kStart);
  EXPECT_FALSE(budget.Take(1, kStart - milliseconds(1)));
}

TEST(HedgeBudgetTest, AShareOfWhatIsNeeded) {
  HedgeBudget budget(5);
  TakeAll(budget, kStart);
  uint64_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    budget.Note(8);
    taken += TakeAll(budget, kStart);
  }
  EXPECT_EQ(taken, 400u);
  EXPECT_EQ(budget.taken(), 400u + HedgeBudget::kBurst);
}

TEST(HedgeBudgetTest, AllOrNothing) {
  HedgeBudget budget(100);
  EXPECT_FALSE(budget.Take(HedgeBudget::kBurst + 1, kStart));
  EXPECT_TRUE(budget.Take(HedgeBudget::kBurst - 1, kStart));
  EXPECT_FALSE(budget.Take(2, kStart));
  EXPECT_TRUE(budget.Take(1, kStart));
}

TEST(HedgeBudgetTest, NoShareNoHedges) {
  HedgeBudget budget(0);
  budget.Note(1000);
  EXPECT_FALSE(budget.Take(1, kStart + seconds(100)));
}

}  // namespace
}  // namespace xec
