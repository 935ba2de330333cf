// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/look.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const Version kV1{1 << kLogicalBits, 1, false};
const Version kV2{2 << kLogicalBits, 1, false};
const Version kV3{3 << kLogicalBits, 1, false};
const std::string kA = "aaaaaaaaaaaaaaaaaaaaaaaa";
const std::string kB = "bbbbbbbbbbbbbbbbbbbbbbbb";

Look Five() { return Look({4, 3, 2, 1, 0}); }

TEST(Look, NothingOnAQuorumIsNothing) {
  Look look = Five();
  look.Heard(4, {});
  look.Heard(3, {});
  EXPECT_FALSE(look.Decided());
  look.Heard(2, {SealedState(kA)});
  EXPECT_TRUE(look.Decided());
  EXPECT_EQ(look.highest().kind, Accepted::kNothing);
}

TEST(Look, AVersionOnTooFewHomesMustBeRolledForward) {
  Look look = Five();
  look.Heard(4, {PromotedState(kV2, kA, 1)});
  look.Heard(3, {WitnessState(kV2, kA, 1)});
  look.Heard(2, {PromotedState(kV1, kB, 1)});
  EXPECT_FALSE(look.Decided());
  EXPECT_EQ(look.LackingHighest(), (std::vector<MemberIndex>{2}));
  look.Heard(1, {PromotedState(kV2, kA, 1), PromotedState(kV1, kB, 1)});
  EXPECT_TRUE(look.Decided());
  EXPECT_EQ(look.highest().oid, kA);
}

TEST(Look, TheCeilingCountsExclusiveSealsAndMarks) {
  Look look = Five();
  look.Heard(4, {PromotedState(kV1, kA, 1), AbortMarkState(ExclusiveSealedState(kV3, kB))});
  EXPECT_EQ(look.ceiling(), kV3);
  EXPECT_EQ(look.highest().version, kV1);
}

TEST(Roll, RenamesWhatWaitsElseWritesAWitness) {
  const Accepted goal = HighestAccepted({PromotedState(kV2, kA, 9)});
  EXPECT_EQ(NextRollStep({PromotedState(kV2, kA, 9)}, goal).kind, RollStep::kAccepted);
  EXPECT_EQ(NextRollStep({TombstoneState(kV3)}, goal).kind, RollStep::kSuperseded);
  const RollStep rename = NextRollStep({AbortedState(SealedState(kA))}, goal);
  EXPECT_EQ(rename.kind, RollStep::kRename);
  EXPECT_EQ(rename.from, FormatState(AbortedState(SealedState(kA))));
  EXPECT_EQ(rename.to, FormatState(PromotedState(kV2, kA, 9)));
  EXPECT_EQ(NextRollStep({PromotedState(kV1, kB, 1)}, goal).kind, RollStep::kWitness);
  EXPECT_EQ(NextRollStep({}, HighestAccepted({TombstoneState(kV1)})).kind, RollStep::kMark);
}

TEST(Seal, IsVoidBesideAnAbortMark) {
  const State seal = SealedState(kA);
  EXPECT_TRUE(SealStands({seal}, seal));
  EXPECT_FALSE(SealStands({seal, AbortMarkState(seal)}, seal));
  EXPECT_TRUE(SealStands({seal, AbortMarkState(SealedState(kB))}, seal));
  EXPECT_FALSE(SealStands({AbortedState(seal)}, seal));
}

TEST(Barrier, YieldsToEveryTraceOfARival) {
  const State own = ExclusiveSealedState(kV2, kA);
  const Accepted nothing;
  EXPECT_EQ(RivalAtBarrier({own}, own, nothing), Rivalry::kNone);
  for (const State& rival : {SealedState(kB), ExclusiveSealedState(kV1, kB), AbortedState(SealedState(kB)),
                             AbortMarkState(ExclusiveSealedState(kV1, kB)), PromotedState(kV1, kB, 1), TombstoneState(kV1)}) {
    EXPECT_EQ(RivalAtBarrier({own, rival}, own, nothing), Rivalry::kBusy) << FormatState(rival);
  }
  const Accepted tombstone = HighestAccepted({TombstoneState(kV1)});
  EXPECT_EQ(RivalAtBarrier({own, TombstoneState(kV1)}, own, tombstone), Rivalry::kNone);
  EXPECT_EQ(RivalAtBarrier({own, AbortMarkState(SealedState(kB))}, own, nothing), Rivalry::kNone);
}

TEST(Sweep, RemovesOnlyWhatIsBelow) {
  SweepInput input;
  input.current = HighestAccepted({PromotedState(kV2, kA, 9)});
  const auto names = [](const std::vector<SweepAction>& plan) {
    std::vector<std::string> from;
    for (const SweepAction& action : plan) from.push_back(action.from);
    return from;
  };
  EXPECT_TRUE(PlanSweep({PromotedState(kV2, kA, 9), PromotedState(kV3, kB, 1), SealedState(kB)}, input).empty());
  EXPECT_EQ(names(PlanSweep({PromotedState(kV2, kA, 9), PromotedState(kV1, kB, 1)}, input)),
            (std::vector<std::string>{FormatState(PromotedState(kV1, kB, 1))}));
  input.keep_superseded = true;
  EXPECT_TRUE(PlanSweep({PromotedState(kV1, kB, 1)}, input).empty());
  input.promoted_below = {kB};
  EXPECT_EQ(names(PlanSweep({SealedState(kB)}, input)), (std::vector<std::string>{FormatState(SealedState(kB))}));
  EXPECT_EQ(PlanSweep({WitnessState(kV2, kA, 9), SealedState(kA)}, input)[0].kind, SweepAction::kRename);
  EXPECT_EQ(names(PlanSweep({WitnessState(kV2, kA, 9), PromotedState(kV2, kA, 9)}, input)),
            (std::vector<std::string>{FormatState(WitnessState(kV2, kA, 9))}));
}

TEST(Fence, NeverAbortsWhatWasPromoted) {
  const State seal = SealedState(kA);
  EXPECT_EQ(NextFenceStep({PromotedState(kV1, kA, 1)}, seal).kind, FenceStep::kPromotedHere);
  EXPECT_EQ(NextFenceStep({seal}, seal).kind, FenceStep::kRename);
  EXPECT_EQ(NextFenceStep({}, seal).kind, FenceStep::kMark);
  EXPECT_EQ(NextFenceStep({AbortMarkState(seal)}, seal).kind, FenceStep::kFenced);
  EXPECT_EQ(NextFenceStep({AbortMarkState(seal), seal}, seal).kind, FenceStep::kRename);
}

TEST(Collect, NeedsTheTombstoneAlone) {
  const Accepted tombstone = HighestAccepted({TombstoneState(kV2)});
  EXPECT_TRUE(OnlyTombstone({TombstoneState(kV2), AbortMarkState(SealedState(kA))}, tombstone));
  EXPECT_FALSE(OnlyTombstone({}, tombstone));
  EXPECT_FALSE(OnlyTombstone({TombstoneState(kV2), SealedState(kA)}, tombstone));
  EXPECT_FALSE(OnlyTombstone({TombstoneState(kV2), PromotedState(kV1, kA, 1)}, tombstone));
}

}  // namespace
}  // namespace xec
