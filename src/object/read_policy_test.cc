// SPDX-License-Identifier: LGPL-3.0-or-later
// Every order of answers and lateness for small stripes, and the numbers that matter for large ones.
#include "object/read_policy.hh"

#include <bit>

#include <gtest/gtest.h>

namespace xec {
namespace {

int Count(ChunkMask mask) { return std::popcount(mask); }

ReadPolicy::Ranks RanksOf(ChunkMask chunks, uint8_t rank) {
  ReadPolicy::Ranks ranks{};
  for (uint32_t chunk = 0; chunk < kChunksMax; ++chunk) {
    if (chunks & ChunkBit(chunk)) ranks[chunk] = rank;
  }
  return ranks;
}

// Walks through all orders in which the reads asked for can end, and all that are left be late between any
// two of them.
class Explorer {
 public:
  explicit Explorer(const ReadPolicy::Stripe& stripe, ChunkMask good) : stripe_(stripe), good_(good) {}

  void Run() {
    ReadPolicy policy(stripe_);
    const ReadPolicy::Actions actions = policy.OnStart();
    Step(policy, actions, 0, 0, 1);
  }

  uint64_t walks = 0;

 private:
  void Step(const ReadPolicy& policy, const ReadPolicy::Actions& actions, ChunkMask asked, ChunkMask answered,
            int timers_left) {
    ASSERT_EQ(actions.start & asked, 0u) << "a chunk is read twice";
    ASSERT_EQ(actions.start & (stripe_.empty | stripe_.absent), 0u);
    asked |= actions.start;
    const ChunkMask all = FirstChunks(stripe_.data_chunks + stripe_.parity_chunks);
    const ChunkMask can_be_good = (good_ | stripe_.empty) & all & ~(stripe_.absent & ~stripe_.empty);
    if (actions.outcome != ReadPolicy::Actions::kGoOn) {
      ++walks;
      if (actions.outcome == ReadPolicy::Actions::kDone) {
        const bool enough = (stripe_.needed & ~policy.good()) == 0 ||
                            Count(policy.good()) >= static_cast<int>(stripe_.data_chunks);
        ASSERT_TRUE(enough);
        ASSERT_EQ(policy.good() & ~can_be_good, 0u);
      } else {
        ASSERT_LT(Count(can_be_good), static_cast<int>(stripe_.data_chunks)) << "gave up too early";
        ASSERT_NE(stripe_.needed & ~can_be_good, 0u);
      }
      return;
    }
    const ChunkMask waiting = asked & ~answered;
    ASSERT_NE(waiting, 0u) << "waits for nothing";
    for (uint32_t chunk = 0; chunk < stripe_.data_chunks + stripe_.parity_chunks; ++chunk) {
      if (!(waiting & ChunkBit(chunk))) continue;
      ReadPolicy next = policy;
      const ReadPolicy::Actions then = next.OnChunk(chunk, (good_ & ChunkBit(chunk)) != 0);
      Step(next, then, asked, answered | ChunkBit(chunk), timers_left);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (timers_left > 0) {
      ReadPolicy next = policy;
      const ReadPolicy::Actions then = next.OnLate(waiting);
      Step(next, then, asked, answered, timers_left - 1);
    }
  }

  const ReadPolicy::Stripe stripe_;
  const ChunkMask good_;
};

TEST(ReadPolicyTest, EveryOrderOfEverySmallStripe) {
  uint64_t walks = 0;
  for (const auto& [k, m] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 1u}, {2u, 2u}, {3u, 1u}}) {
    const ChunkMask all = FirstChunks(k + m);
    for (ChunkMask needed = 1; needed <= FirstChunks(k); ++needed) {
      for (ChunkMask good = 0; good <= all; ++good) {
        for (ChunkMask suspect = 0; suspect <= all; ++suspect) {
          Explorer explorer({k, m, needed, 0, 0, RanksOf(suspect, 3)}, good);
          explorer.Run();
          if (HasFatalFailure())
            FAIL() << k << "+" << m << " needed " << needed << " good " << good << " suspect " << suspect;
          walks += explorer.walks;
        }
      }
    }
  }
  EXPECT_GT(walks, 10'000u);
}

TEST(ReadPolicyTest, EmptyAndAbsentChunksOfShortStripes) {
  for (ChunkMask good = 0; good < 32; ++good) {
    for (ChunkMask absent = 0; absent < 32; ++absent) {
      Explorer explorer({3, 2, 1, ChunkBit(1) | ChunkBit(2), absent & ~(ChunkBit(1) | ChunkBit(2)), {}},
                        good);
      explorer.Run();
      if (HasFatalFailure()) FAIL() << "good " << good << " absent " << absent;
    }
  }
}

TEST(ReadPolicyTest, WithoutTroubleOnlyWhatIsNeededIsRead) {
  ReadPolicy policy({8, 2, ChunkBit(3) | ChunkBit(4), 0, 0, {}});
  const ReadPolicy::Actions start = policy.OnStart();
  EXPECT_EQ(start.start, ChunkBit(3) | ChunkBit(4));
  EXPECT_EQ(policy.OnChunk(3, true).start, 0u);
  EXPECT_EQ(policy.OnChunk(4, true).outcome, ReadPolicy::Actions::kDone);
}

TEST(ReadPolicyTest, OneBadChunkOfAWholeStripeCostsOneParityChunk) {
  ReadPolicy policy({8, 2, FirstChunks(8), 0, 0, {}});
  EXPECT_EQ(policy.OnStart().start, FirstChunks(8));
  EXPECT_EQ(policy.OnChunk(5, false).start, ChunkBit(8));
  EXPECT_EQ(policy.OnChunk(8, false).start, ChunkBit(9));
}

TEST(ReadPolicyTest, SuspectsAreAskedLast) {
  ReadPolicy policy({4, 2, FirstChunks(4), 0, 0, RanksOf(ChunkBit(1), 3)});
  EXPECT_EQ(policy.OnStart().start, FirstChunks(5) & ~ChunkBit(1));
  EXPECT_EQ(policy.OnChunk(0, false).start, ChunkBit(5));
  EXPECT_EQ(policy.OnChunk(2, false).start, ChunkBit(1));
  EXPECT_EQ(policy.OnChunk(3, false).outcome, ReadPolicy::Actions::kFailed);
}

TEST(ReadPolicyTest, LateChunksAreHedgedOnceAndStillCount) {
  ReadPolicy policy({4, 2, FirstChunks(4), 0, 0, {}});
  policy.OnStart();
  policy.OnChunk(0, true);
  policy.OnChunk(1, true);
  policy.OnChunk(2, true);
  EXPECT_EQ(policy.OnLate(ChunkBit(3)).start, ChunkBit(4));
  EXPECT_EQ(policy.late(), ChunkBit(3));
  EXPECT_EQ(policy.OnLate(ChunkBit(3)).start, 0u);
  EXPECT_EQ(policy.OnLate(ChunkBit(4)).start, ChunkBit(5));
  EXPECT_EQ(policy.OnLate(ChunkBit(5)).start, 0u);
  EXPECT_EQ(policy.OnChunk(3, true).outcome, ReadPolicy::Actions::kDone);
}

TEST(ReadPolicyTest, TheBestServersAreAskedAndTheWorstLast) {
  ReadPolicy::Ranks ranks = RanksOf(ChunkBit(0), 4);
  ranks[2] = 1;
  ranks[5] = 2;
  ReadPolicy policy({4, 2, FirstChunks(4), 0, 0, ranks});
  EXPECT_EQ(policy.OnStart().start, ChunkBit(1) | ChunkBit(2) | ChunkBit(3) | ChunkBit(4));
  EXPECT_EQ(policy.OnLate(ChunkBit(1)).start, ChunkBit(5));
  EXPECT_EQ(policy.OnLate(ChunkBit(2)).start, ChunkBit(0));
}

TEST(ReadPolicyTest, WhatSparesNobodyIsNotRead) {
  // One chunk is wanted; with three bad servers no four others are better.
  ReadPolicy all_bad({4, 2, ChunkBit(1), 0, 0, RanksOf(ChunkBit(1) | ChunkBit(2) | ChunkBit(5), 3)});
  EXPECT_EQ(all_bad.OnStart().start, ChunkBit(1));
  ReadPolicy two_bad({4, 2, ChunkBit(1), 0, 0, RanksOf(ChunkBit(1) | ChunkBit(2), 3)});
  EXPECT_EQ(two_bad.OnStart().start, ChunkBit(0) | ChunkBit(3) | ChunkBit(4) | ChunkBit(5));
}

TEST(ReadPolicyTest, WhatIsBackIsAskedOnceMoreBesideWhatIsLate) {
  ReadPolicy policy({.data_chunks = 2, .parity_chunks = 1, .needed = 0b11, .absent = 0b100});
  EXPECT_EQ(policy.OnStart().start, 0b11u);
  EXPECT_EQ(policy.OnChunk(0, true).start, 0u);
  EXPECT_EQ(policy.OnLate(0b10).start, 0u);
  const ReadPolicy::Actions back = policy.OnBack(0b100);
  EXPECT_EQ(back.start, 0b100u);
  EXPECT_EQ(policy.OnChunk(2, false).outcome, ReadPolicy::Actions::kGoOn) << "the late one may still come";
  EXPECT_EQ(policy.OnBack(0b100).start, 0b100u);
  EXPECT_EQ(policy.OnChunk(2, true).outcome, ReadPolicy::Actions::kDone);
}

TEST(ReadPolicyTest, NewsOfServersCountsForWhatIsAskedNext) {
  ReadPolicy policy({4, 2, FirstChunks(4), 0, 0, {}});
  policy.OnStart();
  policy.SetRanks(RanksOf(ChunkBit(4), 3));
  EXPECT_EQ(policy.OnLate(ChunkBit(0)).start, ChunkBit(5));
}

}  // namespace
}  // namespace xec
