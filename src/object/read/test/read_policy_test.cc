// SPDX-License-Identifier: LGPL-3.0-or-later
// Every order of answers and lateness for small stripes, and the numbers that matter for large ones.
#include "object/read/read_policy.hh"

#include <bit>

#include <gtest/gtest.h>

namespace xec {
namespace {

int Count(ChunkMask mask) { return std::popcount(mask); }

using Actions = ReadPolicy::Actions;

constexpr TimePoint kStart = TimePoint(std::chrono::hours(1));
constexpr Duration kDelay = std::chrono::milliseconds(100);

// Chunk i is on server i; those of `chunks` have that rank.
ReadPolicy::Holders HoldersOf(ChunkMask chunks, int rank) {
  ReadPolicy::Holders holders;
  for (uint32_t chunk = 0; chunk < kChunksMax; ++chunk) {
    holders[chunk].server = static_cast<MemberIndex>(chunk);
    if (chunks & ChunkBit(chunk)) holders[chunk].rank = rank;
  }
  return holders;
}

ReadPolicy::Holders AllWell() { return HoldersOf(0, 0); }

ReadPolicy::Stripe StripeOf(uint32_t k, uint32_t m, ChunkMask needed, ChunkMask empty = 0) {
  return {.data_chunks = k, .parity_chunks = m, .needed = needed, .empty = empty, .hedge_delay = kDelay};
}

bool PaysAll(uint64_t) { return true; }
bool PaysNothing(uint64_t) { return false; }
// For what must be free.
bool MustNotPay(uint64_t) {
  ADD_FAILURE() << "it is not free";
  return false;
}

// A policy with what the driver would tell it besides the answers.
class Read {
 public:
  explicit Read(const ReadPolicy::Stripe& stripe, ReadPolicy::Holders all = AllWell())
      : holders(std::move(all)), policy(stripe) {}
  explicit Read(ReadPolicy begun) : holders(AllWell()), policy(std::move(begun)) {}

  Actions Start() { return Send(policy.Start(holders)); }
  Actions Good(uint32_t chunk) { return Send(policy.OnGood(chunk)); }
  Actions Bad(uint32_t chunk) { return Send(policy.OnBad(chunk, false, holders)); }
  Actions Silent(uint32_t chunk) { return Send(policy.OnBad(chunk, true, holders)); }
  Actions Late(ChunkMask late, const ReadPolicy::Pay& pay = PaysAll) {
    return Send(policy.OnLate(late, holders, now, pay));
  }
  Actions Back(ChunkMask back) { return Send(policy.OnBack(back, holders, now)); }

  TimePoint now = kStart;
  ReadPolicy::Holders holders;
  ReadPolicy policy;

 private:
  Actions Send(Actions actions) {
    for (uint32_t chunk = 0; chunk < kChunksMax; ++chunk) {
      if (actions.start & ChunkBit(chunk))
        policy.OnAsked(chunk, holders[chunk].server, holders[chunk].rank, now);
    }
    return actions;
  }
};

// One whose earlier try has found these bad.
ReadPolicy PolicyWithBad(const ReadPolicy::Stripe& stripe, ChunkMask bad) {
  Read read(stripe);
  const ChunkMask all = FirstChunks(stripe.data_chunks + stripe.parity_chunks) & ~stripe.empty;
  ChunkMask asked = read.Start().start;
  while (bad != 0 && asked != all) asked |= read.Late(asked).start;
  for (uint32_t chunk = 0; chunk < kChunksMax; ++chunk) {
    if (bad & ChunkBit(chunk)) read.Bad(chunk);
  }
  EXPECT_EQ(read.policy.bad(), bad);
  return read.policy;
}

// Walks through all orders in which the reads asked for can end, and all that are left be late between any
// two of them.
class Explorer {
 public:
  Explorer(const ReadPolicy::Stripe& stripe, ReadPolicy::Holders holders, ChunkMask absent, ChunkMask good)
      : stripe_(stripe), holders_(std::move(holders)), absent_(absent), good_(good) {}

  void Run() {
    ReadPolicy policy = PolicyWithBad(stripe_, absent_);
    const Actions actions = policy.Start(holders_);
    Step(policy, actions, 0, 0, 1);
  }

  uint64_t walks = 0;

 private:
  void Step(const ReadPolicy& policy, const Actions& actions, ChunkMask asked, ChunkMask answered,
            int timers_left) {
    ASSERT_EQ(actions.start & asked, 0u) << "a chunk is read twice";
    ASSERT_EQ(actions.start & (stripe_.empty | absent_), 0u);
    asked |= actions.start;
    const ChunkMask all = FirstChunks(stripe_.data_chunks + stripe_.parity_chunks);
    const ChunkMask can_be_good = (good_ | stripe_.empty) & all & ~(absent_ & ~stripe_.empty);
    if (actions.outcome != Actions::kGoOn) {
      ++walks;
      if (actions.outcome == Actions::kDone) {
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
      const bool good = (good_ & ChunkBit(chunk)) != 0;
      const Actions then = good ? next.OnGood(chunk) : next.OnBad(chunk, false, holders_);
      Step(next, then, asked, answered | ChunkBit(chunk), timers_left);
      if (testing::Test::HasFatalFailure()) return;
    }
    if (timers_left > 0) {
      ReadPolicy next = policy;
      const Actions then = next.OnLate(waiting, holders_, kStart, PaysAll);
      Step(next, then, asked, answered, timers_left - 1);
    }
  }

  const ReadPolicy::Stripe stripe_;
  const ReadPolicy::Holders holders_;
  const ChunkMask absent_;
  const ChunkMask good_;
};

TEST(ReadPolicyTest, EveryOrderOfEverySmallStripe) {
  uint64_t walks = 0;
  for (const auto& [k, m] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 1u}, {2u, 2u}, {3u, 1u}}) {
    const ChunkMask all = FirstChunks(k + m);
    for (ChunkMask needed = 1; needed <= FirstChunks(k); ++needed) {
      for (ChunkMask good = 0; good <= all; ++good) {
        for (ChunkMask suspect = 0; suspect <= all; ++suspect) {
          Explorer explorer(StripeOf(k, m, needed), HoldersOf(suspect, 3), 0, good);
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

TEST(ReadPolicyTest, EmptyChunksAndThoseFoundBadBefore) {
  const ChunkMask empty = ChunkBit(1) | ChunkBit(2);
  for (ChunkMask good = 0; good < 32; ++good) {
    for (ChunkMask absent = 0; absent < 32; ++absent) {
      Explorer explorer(StripeOf(3, 2, 1, empty), AllWell(), absent & ~empty, good);
      explorer.Run();
      if (HasFatalFailure()) FAIL() << "good " << good << " absent " << absent;
    }
  }
}

TEST(ReadPolicyTest, WithoutTroubleOnlyWhatIsNeededIsRead) {
  Read read(StripeOf(8, 2, ChunkBit(3) | ChunkBit(4)));
  EXPECT_EQ(read.Start().start, ChunkBit(3) | ChunkBit(4));
  EXPECT_EQ(read.Good(3).start, 0u);
  EXPECT_EQ(read.Good(4).outcome, Actions::kDone);
}

TEST(ReadPolicyTest, OneBadChunkOfAWholeStripeCostsOneParityChunk) {
  Read read(StripeOf(8, 2, FirstChunks(8)));
  EXPECT_EQ(read.Start().start, FirstChunks(8));
  EXPECT_EQ(read.Bad(5).start, ChunkBit(8));
  EXPECT_EQ(read.Bad(8).start, ChunkBit(9));
}

TEST(ReadPolicyTest, SuspectsAreAskedLast) {
  Read read(StripeOf(4, 2, FirstChunks(4)), HoldersOf(ChunkBit(1), 3));
  EXPECT_EQ(read.Start().start, FirstChunks(5) & ~ChunkBit(1));
  EXPECT_EQ(read.Bad(0).start, ChunkBit(5));
  EXPECT_EQ(read.Bad(2).start, ChunkBit(1));
  EXPECT_EQ(read.Bad(3).outcome, Actions::kFailed);
}

TEST(ReadPolicyTest, WhoseArchiveCouldNotBeHadIsAskedAfterWhoIsDown) {
  ReadPolicy::Holders holders = HoldersOf(ChunkBit(1), 4);
  holders[2].failed = true;
  Read read(StripeOf(4, 2, FirstChunks(4)), holders);
  EXPECT_EQ(read.Start().start, FirstChunks(6) & ~(ChunkBit(1) | ChunkBit(2)));
  EXPECT_EQ(read.Bad(0).start, ChunkBit(1));
  EXPECT_EQ(read.Bad(3).start, ChunkBit(2));
}

TEST(ReadPolicyTest, LateChunksAreHedgedOnceAndStillCount) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.Good(0);
  read.Good(1);
  read.Good(2);
  EXPECT_EQ(read.Late(ChunkBit(3)).start, ChunkBit(4));
  EXPECT_EQ(read.policy.late(), ChunkBit(3));
  EXPECT_EQ(read.Late(ChunkBit(3)).start, 0u);
  EXPECT_EQ(read.Late(ChunkBit(3) | ChunkBit(4)).start, ChunkBit(5));
  EXPECT_EQ(read.Late(ChunkBit(3) | ChunkBit(4) | ChunkBit(5)).start, 0u);
  EXPECT_EQ(read.Good(3).outcome, Actions::kDone);
}

TEST(ReadPolicyTest, TheBestServersAreAskedAndTheWorstLast) {
  ReadPolicy::Holders holders = HoldersOf(ChunkBit(0), 4);
  holders[2].rank = 1;
  holders[5].rank = 2;
  Read read(StripeOf(4, 2, FirstChunks(4)), holders);
  EXPECT_EQ(read.Start().start, ChunkBit(1) | ChunkBit(2) | ChunkBit(3) | ChunkBit(4));
  EXPECT_EQ(read.Late(ChunkBit(1)).start, ChunkBit(5));
  EXPECT_EQ(read.Late(ChunkBit(1) | ChunkBit(2)).start, ChunkBit(0));
}

TEST(ReadPolicyTest, WhatSparesNobodyIsNotRead) {
  // One chunk is wanted; with three bad servers no four others are better.
  Read all_bad(StripeOf(4, 2, ChunkBit(1)), HoldersOf(ChunkBit(1) | ChunkBit(2) | ChunkBit(5), 3));
  EXPECT_EQ(all_bad.Start().start, ChunkBit(1));
  Read two_bad(StripeOf(4, 2, ChunkBit(1)), HoldersOf(ChunkBit(1) | ChunkBit(2), 3));
  EXPECT_EQ(two_bad.Start().start, ChunkBit(0) | ChunkBit(3) | ChunkBit(4) | ChunkBit(5));
}

TEST(ReadPolicyTest, WhatIsBackIsAskedOnceMoreBesideWhatIsLate) {
  Read read(PolicyWithBad(StripeOf(2, 1, 0b11), 0b100));
  EXPECT_EQ(read.Start().start, 0b11u);
  EXPECT_EQ(read.Good(0).start, 0u);
  EXPECT_EQ(read.Late(0b10).start, 0u);
  EXPECT_EQ(read.Back(0b100).start, 0b100u);
  EXPECT_EQ(read.Bad(2).outcome, Actions::kGoOn) << "the late one may still come";
  EXPECT_EQ(read.Back(0b100).start, 0b100u);
  EXPECT_EQ(read.Good(2).outcome, Actions::kDone);
}

TEST(ReadPolicyTest, NewsOfServersCountsForWhatIsAskedNext) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.holders = HoldersOf(ChunkBit(4), 3);
  EXPECT_EQ(read.Late(ChunkBit(0)).start, ChunkBit(5));
}

// --- Whether to ask others in place of late ones.

TEST(ReadPolicyHedgingTest, WhatTheBudgetRefusesIsLookedAtAgainSoon) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  std::vector<uint64_t> asked;
  const Actions refused = read.Late(ChunkBit(0) | ChunkBit(1), [&](uint64_t requests) {
    asked.push_back(requests);
    return false;
  });
  EXPECT_EQ(asked, std::vector<uint64_t>{2});
  EXPECT_EQ(refused.start, 0u);
  EXPECT_EQ(refused.look_again, kStart + ReadPolicy::kLookAgain);
  EXPECT_EQ(read.policy.late(), 0u);
  const Actions granted = read.Late(ChunkBit(0) | ChunkBit(1));
  EXPECT_EQ(granted.start, ChunkBit(4) | ChunkBit(5));
  EXPECT_EQ(granted.look_again, TimePoint::max());
  EXPECT_EQ(read.policy.late(), ChunkBit(0) | ChunkBit(1));
}

TEST(ReadPolicyHedgingTest, WithNobodyLeftToAskNothingIsPaid) {
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  EXPECT_EQ(read.Late(0b01).start, 0b100u);
  EXPECT_EQ(read.Late(0b11, MustNotPay).start, 0u);
  EXPECT_EQ(read.policy.late(), 0b11u);
}

TEST(ReadPolicyHedgingTest, AServerThatWasWellAndHasBecomeBadIsReplacedForNothing) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.holders = HoldersOf(ChunkBit(2), 3);
  EXPECT_EQ(read.Late(ChunkBit(2), MustNotPay).start, ChunkBit(4));
}

TEST(ReadPolicyHedgingTest, OnlyLateIsNotBadAndHasToBePaid) {
  for (const int rank : {0, 1, 2}) {
    Read read(StripeOf(4, 2, FirstChunks(4)));
    read.Start();
    read.holders = HoldersOf(ChunkBit(2), rank);
    EXPECT_EQ(read.Late(ChunkBit(2), PaysNothing).start, 0u) << rank;
  }
}

TEST(ReadPolicyHedgingTest, WhoIsNoBetterHasToBePaid) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.holders = HoldersOf(ChunkBit(2) | ChunkBit(4) | ChunkBit(5), 3);
  EXPECT_EQ(read.Late(ChunkBit(2), PaysNothing).start, 0u);
  EXPECT_EQ(read.Late(ChunkBit(2)).start, ChunkBit(4));
}

TEST(ReadPolicyHedgingTest, WhoWasNotTrustedWhenItWasAskedIsReplacedForNothingOnlyAfterLong) {
  // All are: no others are better, so they are asked.
  Read read(StripeOf(2, 1, 0b11), HoldersOf(0b111, 2));
  EXPECT_EQ(read.Start().start, 0b11u);
  read.holders = HoldersOf(0b001, 3);
  const Duration long_wait = ReadPolicy::kLongWait * kDelay;
  read.now = kStart + long_wait - std::chrono::milliseconds(1);
  EXPECT_EQ(read.Late(0b001, PaysNothing).start, 0u);
  read.now = kStart + long_wait;
  EXPECT_EQ(read.Late(0b001, MustNotPay).start, 0b100u);
}

TEST(ReadPolicyHedgingTest, WhatIsFreeDoesNotWaitForWhatCannotBePaid) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.holders = HoldersOf(ChunkBit(3), 3);
  const Actions actions = read.Late(ChunkBit(0) | ChunkBit(3), PaysNothing);
  EXPECT_EQ(actions.start, ChunkBit(4));
  EXPECT_EQ(actions.look_again, kStart + ReadPolicy::kLookAgain);
  EXPECT_EQ(read.policy.late(), ChunkBit(3));
}

TEST(ReadPolicyHedgingTest, WhatWasLateInATryThatWasBrokenOffIsAskedLastInTheNext) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  read.Late(ChunkBit(1));
  read.policy.BreakOff();
  EXPECT_EQ(read.Start().start, FirstChunks(5) & ~ChunkBit(1));
  EXPECT_EQ(read.policy.late(), 0u);
}

// --- Whether something else helps while late ones are waited for.

TEST(ReadPolicyStuckTest, OnlyWhenLateAndBadOnesAreMoreThanParity) {
  Read read(StripeOf(4, 2, FirstChunks(4)));
  read.Start();
  EXPECT_FALSE(read.policy.WaitsBesideBad());
  read.Late(ChunkBit(0) | ChunkBit(1));
  EXPECT_FALSE(read.policy.IsStuck());
  EXPECT_FALSE(read.policy.WaitsBesideBad()) << "no search finds what is late";
  read.Bad(4);
  EXPECT_TRUE(read.policy.WaitsBesideBad());
  EXPECT_TRUE(read.policy.IsStuck());
  read.Good(0);
  EXPECT_FALSE(read.policy.IsStuck()) << "what came late is good";
  EXPECT_TRUE(read.policy.WaitsBesideBad());
}

TEST(ReadPolicyStuckTest, WhatIsLateBadAndWellAgainByTurns) {
  Read read(StripeOf(2, 2, 0b11));
  read.Start();
  read.Late(0b01);
  read.Silent(2);
  read.Late(0b01, MustNotPay);
  EXPECT_FALSE(read.policy.IsStuck());
  read.Late(0b1001, MustNotPay);
  EXPECT_TRUE(read.policy.IsStuck());
  read.Late(0b0001, MustNotPay);
  EXPECT_FALSE(read.policy.IsStuck()) << "what is late no more counts as well";
}

TEST(ReadPolicyStuckTest, LooksAgainSoonUnlessOnlyTheSearchCanTellMore) {
  const TimePoint searched = kStart + std::chrono::seconds(4);
  const TimePoint soon = kStart + ReadPolicy::kLookAgain;
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  read.Bad(0);
  EXPECT_EQ(read.policy.LookAgainAt(kStart, searched), soon) << "it is not stuck";
  read.Late(0b10);
  ASSERT_TRUE(read.policy.IsStuck());
  EXPECT_EQ(read.policy.LookAgainAt(kStart, searched), searched);
  read.Silent(2);
  EXPECT_EQ(read.policy.LookAgainAt(kStart, searched), soon) << "who is silent may be back any time";
  EXPECT_EQ(read.policy.LookAgainAt(kStart, kStart), kStart);
}

TEST(ReadPolicyStuckTest, OnlyWhoDidNotAnswerMayBeBack) {
  Read read(StripeOf(3, 3, 0b111));
  read.Start();
  read.Bad(0);
  read.Silent(1);
  EXPECT_EQ(read.policy.MayBeBack(kStart, true), 0b010u);
}

TEST(ReadPolicyStuckTest, WhoIsBackIsAskedFourTimesWithGrowingPauses) {
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  read.Late(0b10);
  read.Silent(0);
  Duration pause = ReadPolicy::kReturnPause;
  for (int times = 0; times < ReadPolicy::kReturnsMax; ++times) {
    ASSERT_EQ(read.policy.MayBeBack(read.now, true), 0b01u) << times;
    EXPECT_EQ(read.Back(0b01).start, 0b01u);
    EXPECT_EQ(read.policy.MayBeBack(read.now, true), 0u) << "it is asked";
    read.Silent(0);
    EXPECT_EQ(read.policy.MayBeBack(read.now + pause - Duration(1), true), 0u);
    const bool last = times + 1 == ReadPolicy::kReturnsMax;
    EXPECT_EQ(read.policy.MayBeBack(read.now, false), last ? 0u : 0b01u) << "after a failure nothing pauses";
    read.now += pause;
    pause *= 2;
  }
  EXPECT_EQ(read.policy.MayBeBack(read.now + std::chrono::hours(1), true), 0u);
}

// --- Whether to begin anew.

TEST(ReadPolicyBeginAnewTest, WhenWhatIsLackingWasFoundOnAnotherServer) {
  Read read(StripeOf(2, 2, 0b11));
  read.Start();
  read.Bad(0);
  read.Late(0b10);
  ReadPolicy::Holders found = read.holders;
  found[0].server = MemberIndex{9};
  EXPECT_FALSE(read.policy.FoundElsewhere(0, found)) << "nothing has changed";
  EXPECT_FALSE(read.policy.FoundElsewhere(1, read.holders)) << "it is where it was asked for";
  found[1].server = MemberIndex{8};
  found[0].server.reset();
  EXPECT_FALSE(read.policy.FoundElsewhere(1, found)) << "the late one is not lacking";
  found[0].server = MemberIndex{9};
  EXPECT_TRUE(read.policy.FoundElsewhere(1, found));
  EXPECT_EQ(read.policy.bad(), 0u);
  read.policy.BreakOff();
  read.holders = found;
  EXPECT_NE(read.Start().start & 0b01u, 0u);
  EXPECT_FALSE(read.policy.FoundElsewhere(1, found)) << "it is asked there now";
}

TEST(ReadPolicyBeginAnewTest, AlsoWhenItIsJustBeingAskedOnceMoreWhereItWas) {
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  read.Late(0b10);
  read.Silent(0);
  read.Back(0b01);
  ReadPolicy::Holders found = read.holders;
  found[0].server = MemberIndex{9};
  EXPECT_TRUE(read.policy.FoundElsewhere(1, found));
}

TEST(ReadPolicyBeginAnewTest, NoMoreOftenThanTheBound) {
  Read read(StripeOf(2, 1, 0b11));
  const int most = ReadPolicy::kSearchesMax + 3;
  for (int times = 1; times <= most; ++times) {
    read.Start();
    read.Bad(0);
    EXPECT_EQ(read.Bad(1).outcome, Actions::kFailed);
    EXPECT_FALSE(read.policy.OnSearched(static_cast<uint64_t>(times) - 1)) << "no news";
    ASSERT_TRUE(read.policy.OnSearched(static_cast<uint64_t>(times))) << times;
    EXPECT_EQ(read.policy.bad(), 0u);
  }
  read.Start();
  read.Bad(0);
  read.Bad(1);
  EXPECT_FALSE(read.policy.OnSearched(100));
  ReadPolicy::Holders found = read.holders;
  found[0].server = MemberIndex{9};
  EXPECT_FALSE(read.policy.FoundElsewhere(100, found));
}

TEST(ReadPolicyBeginAnewTest, DamagedArchivesAreOpenedAnewOnce) {
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  read.Bad(0);
  EXPECT_EQ(read.Bad(1).outcome, Actions::kFailed);
  EXPECT_TRUE(read.policy.MayReopen());
  read.policy.OnReopened(1);
  EXPECT_FALSE(read.policy.IsNews(1));
  EXPECT_EQ(read.policy.bad(), 0u);
  EXPECT_EQ(read.Start().start, 0b11u);
  EXPECT_FALSE(read.policy.MayReopen());
}

TEST(ReadPolicyBeginAnewTest, AfterAFailureWhoIsBackIsAskedInTheNextTry) {
  Read read(StripeOf(2, 1, 0b11));
  read.Start();
  read.Silent(0);
  EXPECT_EQ(read.Silent(1).outcome, Actions::kFailed);
  read.policy.OnBack(read.policy.MayBeBack(read.now, false), read.holders, read.now);
  EXPECT_EQ(read.policy.bad(), 0u);
  EXPECT_EQ(read.Start().start, 0b11u);
}

}  // namespace
}  // namespace xec
