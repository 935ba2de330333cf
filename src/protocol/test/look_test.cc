// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/look.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const Version kV1{1 << kLogicalBits, 1, 0};
const Version kV2{2 << kLogicalBits, 1, 0};
const Version kV3{3 << kLogicalBits, 1, 0};
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

const std::string kRid = "cccccccccccccccccccccccc";

State MovedIn(Version version, const std::string& oid) {
  State state = WitnessState(version, oid, 9);
  state.origin = kRid;
  return state;
}

TEST(Look, PrefersTheWitnessThatKnowsItsOrigin) {
  Look look = Five();
  look.Heard(4, {PromotedState(kV2, kA, 9), MovedIn(kV2, kA)});
  look.Heard(3, {PromotedState(kV2, kA, 9)});
  look.Heard(2, {PromotedState(kV2, kA, 9)});
  EXPECT_TRUE(look.Decided());
  EXPECT_EQ(look.highest().origin, kRid);
}

TEST(Look, FindsMovesBelowTheHighest) {
  const State moved = MovedState(kV1, kRid, kV3, "abcdefgh");
  const std::map<MemberIndex, States> listings = {{0, {moved, PromotedState(kV2, kA, 1)}}, {1, {moved}}};
  ASSERT_EQ(MovesIn(listings).size(), 1u);
  EXPECT_EQ(MovedState(MovesIn(listings)[0]), moved);
}

TEST(Roll, TurnsSealsOfTheRenameIntoItsTombstoneAndItsWitness) {
  const Accepted moved = AcceptedFrom(MovedState(kV2, kRid, kV3, "abcdefgh"));
  for (const State& seal : {MoveOutState(kRid), AbortedState(MoveOutState(kRid))}) {
    const RollStep step = NextRollStep({PromotedState(kV2, kA, 9), seal}, moved);
    EXPECT_EQ(step.kind, RollStep::kRename);
    EXPECT_EQ(step.to, FormatState(MovedState(moved)));
  }
  EXPECT_EQ(NextRollStep({MoveOutState(kA)}, moved).kind, RollStep::kWitness) << "the seal of another rename";
  EXPECT_EQ(NextRollStep({TombstoneState(kV2.MoveDone())}, moved).kind, RollStep::kSuperseded);
  const Accepted goal = AcceptedFrom(MovedIn(kV2, kA));
  EXPECT_EQ(NextRollStep({MoveInState(kRid)}, goal).to, FormatState(MovedIn(kV2, kA)));
  EXPECT_EQ(NextRollStep({MoveInState(kRid)}, AcceptedFrom(PromotedState(kV2, kA, 9))).kind,
            RollStep::kWitness)
      << "a view that shows no origin does not know whose seal this is";
}

TEST(Rename, YieldsToEverySealOfARival) {
  EXPECT_FALSE(RenameRival({MoveOutState(kRid), AbortMarkState(MoveOutState(kA))}, {kRid}));
  EXPECT_TRUE(RenameRival({MoveOutState(kRid), MoveOutState(kA)}, {kRid}));
  EXPECT_TRUE(RenameRival({AbortedState(MoveOutState(kA))}, {kRid}));
}

using Proved = std::vector<MemberIndex>;

TEST(Finish, BeginsOnlyOnHomesWhoseSealWasProved) {
  const Accepted target = AcceptedFrom(MovedIn(kV2, kA));
  Look look = Five();
  look.Heard(4, {MoveInState(kRid), PromotedState(kV1, kB, 1)});
  look.Heard(3, {MoveInState(kRid)});
  EXPECT_EQ(PlanFinish(look, target, Proved{4, 3}).kind, FinishPlan::kCannotTell);
  look.Heard(2, {});
  const FinishPlan plan = PlanFinish(look, target, Proved{4, 2, 0});
  EXPECT_EQ(plan.kind, FinishPlan::kRoll);
  EXPECT_EQ(plan.goal.origin, kRid);
  EXPECT_EQ(plan.first, std::vector<MemberIndex>{4});
  EXPECT_EQ(plan.then, (std::vector<MemberIndex>{3, 2}));
  EXPECT_EQ(PlanFinish(look, target, Proved{2, 1, 0}).kind, FinishPlan::kDone)
      << "no proved seal: over long ago";
}

TEST(Finish, RollsWhatIsHigherAndStopsAtAQuorum) {
  const Accepted target = AcceptedFrom(MovedIn(kV2, kA));
  Look look = Five();
  look.Heard(4, {TombstoneState(kV3), MoveInState(kRid)});
  look.Heard(3, {MovedIn(kV2, kA)});
  look.Heard(2, {MoveInState(kRid)});
  const FinishPlan plan = PlanFinish(look, target, Proved{4, 3, 2});
  EXPECT_EQ(plan.kind, FinishPlan::kRoll);
  EXPECT_EQ(plan.goal.kind, Accepted::kRemoved);
  EXPECT_EQ(plan.have, 1u);
  EXPECT_TRUE(plan.first.empty());
  EXPECT_EQ(plan.then, (std::vector<MemberIndex>{3, 2}));
  look.Heard(1, {PromotedState(kV2, kA, 9)});
  EXPECT_EQ(PlanFinish(look, target, Proved{4, 3, 2}).kind, FinishPlan::kDone);
}

TEST(Finish, NamesTheProvedSealsThatWereOvertaken) {
  const Accepted target = AcceptedFrom(MovedIn(kV2, kA));
  Look look = Five();
  look.Heard(4, {TombstoneState(kV3), MoveInState(kRid)});
  look.Heard(3, {TombstoneState(kV3), MoveInState(kA)});
  look.Heard(2, {MoveInState(kRid)});
  const Proved all = {4, 3, 2, 1, 0};
  EXPECT_EQ(PlanFinish(look, target, all).kind, FinishPlan::kRoll);
  EXPECT_EQ(PlanFinish(look, target, all).overtaken, (std::vector<MemberIndex>{4, 2}));
  EXPECT_EQ(PlanFinish(look, target, Proved{4}).overtaken, std::vector<MemberIndex>{4})
      << "a creation that was late";
  look.Heard(1, {TombstoneState(kV3)});
  EXPECT_EQ(PlanFinish(look, target, all).kind, FinishPlan::kDone);
  EXPECT_EQ(PlanFinish(look, target, all).overtaken, (std::vector<MemberIndex>{4, 2}));
}

TEST(Finish, LeavesTheSealsOfWhatMayStillComeToStand) {
  const Accepted target = AcceptedFrom(MovedIn(kV2, kA));
  Look look = Five();
  look.Heard(4, {MoveInState(kRid)});
  look.Heard(3, {MoveInState(kRid)});
  look.Heard(2, {MoveInState(kRid)});
  EXPECT_TRUE(PlanFinish(look, target, Proved{4, 3, 2}).overtaken.empty()) << "rolled";
  EXPECT_TRUE(PlanFinish(look, target, Proved{1, 0}).overtaken.empty()) << "over long ago";
}

TEST(Seal, IsVoidBesideAnAbortMark) {
  const State seal = SealedState(kA);
  EXPECT_TRUE(SealStands({seal}, seal));
  EXPECT_FALSE(SealStands({seal, AbortMarkState(seal)}, seal));
  EXPECT_TRUE(SealStands({seal, AbortMarkState(SealedState(kB))}, seal));
  EXPECT_FALSE(SealStands({AbortedState(seal)}, seal));
  EXPECT_TRUE(SealStands({MoveInState(kRid)}, MoveInState(kRid)));
  EXPECT_FALSE(SealStands({MoveOutState(kRid), AbortMarkState(MoveOutState(kRid))}, MoveOutState(kRid)));
}

TEST(Barrier, YieldsToEveryTraceOfARival) {
  const State own = ExclusiveSealedState(kV2, kA);
  const Accepted nothing;
  const auto rivalry = [&](const States& others, const State& mine, const Accepted& base) {
    States states = others;
    states.push_back(mine);
    return RivalAtBarrier({{0, {mine}}, {1, states}}, mine, base).rivalry;
  };
  EXPECT_EQ(rivalry({}, own, nothing), Rivalry::kNone);
  for (const State& rival : {ExclusiveSealedState(kV1, kB), PromotedState(kV1, kB, 1),
                             WitnessState(kV1, kB, 1), DirectoryState(kV1), TombstoneState(kV1)}) {
    EXPECT_EQ(rivalry({rival}, own, nothing), Rivalry::kBusy) << FormatState(rival);
  }
  for (const State& rival : {SealedState(kB), AbortedState(SealedState(kB)),
                             AbortedState(ExclusiveSealedState(kV1, kB)), MoveInState(kRid)}) {
    EXPECT_EQ(rivalry({rival}, own, nothing), Rivalry::kSealed) << FormatState(rival);
  }
  EXPECT_EQ(rivalry({SealedState(kB), ExclusiveSealedState(kV1, kB)}, own, nothing), Rivalry::kBusy);
  EXPECT_EQ(rivalry({ExclusiveSealedState(kV2, kB)}, own, nothing), Rivalry::kLaterOnly);
  EXPECT_EQ(rivalry({ExclusiveSealedState(kV2, kA)}, ExclusiveSealedState(kV2, kB), nothing), Rivalry::kBusy);
  EXPECT_EQ(rivalry({ExclusiveSealedState(kV2, kB), SealedState(kB)}, own, nothing), Rivalry::kSealed);
  // What ended some time ago may have stayed behind, and may go.
  State idle = ExclusiveSealedState(kV1, kB);
  State dated = own;
  dated.mtime_s = 100;
  idle.mtime_s = 98;
  EXPECT_EQ(rivalry({idle}, dated, nothing), Rivalry::kSealed);
  EXPECT_EQ(rivalry({idle, AbortedState(SealedState(kB))}, dated, nothing), Rivalry::kSealed);
  idle.mtime_s = 99;
  EXPECT_EQ(rivalry({idle}, dated, nothing), Rivalry::kBusy);
  // Of an old version, but written to: of an upload under way on several homes, perhaps made late on one.
  const State young = ExclusiveSealedState(Version{uint64_t{1} << kLogicalBits, 1}, kB);
  const State later = ExclusiveSealedState(Version{uint64_t{2001} << kLogicalBits, 1}, kA);
  EXPECT_EQ(rivalry({young}, later, nothing), Rivalry::kSealed);
  EXPECT_EQ(RivalAtBarrier({{0, {young, later}}, {1, {young, later}}}, later, nothing).rivalry,
            Rivalry::kBusy);
  const Accepted tombstone = HighestAccepted({TombstoneState(kV1)});
  EXPECT_EQ(rivalry({TombstoneState(kV1)}, own, tombstone), Rivalry::kNone);
  // The rename that the first look found is retired now.
  const Accepted moved = AcceptedFrom(MovedState(kV1, kRid, kV2, "abcd"));
  EXPECT_EQ(rivalry({TombstoneState(kV1.MoveDone())}, own, moved), Rivalry::kNone);
  EXPECT_EQ(rivalry({TombstoneState(kV2)}, own, moved), Rivalry::kBusy);
  // Where nothing but a mark is, no seal has stood.
  EXPECT_EQ(rivalry({AbortMarkState(SealedState(kB))}, own, nothing), Rivalry::kNone);
  EXPECT_EQ(rivalry({AbortMarkState(ExclusiveSealedState(kV1, kB))}, own, nothing), Rivalry::kNone);
  const States marked = {ExclusiveSealedState(kV1, kB), AbortMarkState(ExclusiveSealedState(kV1, kB))};
  EXPECT_EQ(rivalry(marked, own, nothing), Rivalry::kBusy);
}

TEST(Barrier, ADirectoryAndAnExclusiveUploadAreRivals) {
  const State making = DirectorySealState(kV2, kA);
  const State upload = ExclusiveSealedState(kV2, kB);
  const auto rivalry = [](const State& other, const State& mine, const Accepted& base) {
    return RivalAtBarrier({{0, {mine}}, {1, {other, mine}}}, mine, base).rivalry;
  };
  const Accepted nothing;
  EXPECT_EQ(rivalry(upload, making, nothing), Rivalry::kLaterOnly);
  EXPECT_EQ(rivalry(making, upload, nothing), Rivalry::kBusy);
  EXPECT_EQ(rivalry(DirectorySealState(kV3, kA), upload, nothing), Rivalry::kLaterOnly);
  EXPECT_EQ(rivalry(ExclusiveSealedState(kV1, kB), making, nothing), Rivalry::kBusy);
  EXPECT_EQ(rivalry(AbortedState(DirectorySealState(kV3, kA)), upload, nothing), Rivalry::kBusy);
  EXPECT_EQ(rivalry(AbortedState(upload), making, nothing), Rivalry::kSealed);
  for (const State& other : {PromotedState(kV1, kB, 1), DirectoryState(kV3)})
    EXPECT_EQ(rivalry(other, making, nothing), Rivalry::kBusy) << FormatState(other);
  for (const State& other : {SealedState(kB), MoveInState(kRid)})
    EXPECT_EQ(rivalry(other, making, nothing), Rivalry::kSealed) << FormatState(other);
  // Several may make one directory.
  for (const State& other : {DirectorySealState(kV1, kB), AbortedState(DirectorySealState(kV1, kB)),
                             DirectorySealState(kV3, kB), AbortMarkState(DirectorySealState(kV3, kB))})
    EXPECT_EQ(rivalry(other, making, nothing), Rivalry::kNone) << FormatState(other);
  // Below what was settled it can only become history.
  const Accepted removed = HighestAccepted({TombstoneState(kV1.Removed())});
  const State late = DirectorySealState(kV1, kA);
  EXPECT_EQ(rivalry(late, upload, removed), Rivalry::kNone);
  EXPECT_EQ(rivalry(AbortedState(late), upload, removed), Rivalry::kNone);
}

TEST(Barrier, AWriterWaitsForADirectoryThatMayComeToStandAbove) {
  const State making = DirectorySealState(kV2, kA);
  const auto under_way = [](const State& state, const States& accepted) {
    return DirectoryUnderWay({{0, {state}}, {1, accepted}}, HighestAccepted(accepted));
  };
  for (const State& state : {making, AbortedState(making)}) {
    EXPECT_TRUE(under_way(state, {}));
    EXPECT_TRUE(under_way(state, {PromotedState(kV1, kB, 1)}));
    EXPECT_FALSE(under_way(state, {DirectoryState(kV2)}));
    EXPECT_FALSE(under_way(state, {TombstoneState(kV2.Removed())}));
  }
  EXPECT_FALSE(under_way(AbortMarkState(making), {})) << "no seal has stood there";
  EXPECT_FALSE(under_way(ExclusiveSealedState(kV2, kA), {}));
}

TEST(Roll, ADirectorySealBecomesTheDirectory) {
  const State making = DirectorySealState(kV2, kA);
  const Accepted goal = AcceptedFrom(DirectoryState(kV2));
  for (const State& seal : {making, AbortedState(making)}) {
    const RollStep step = NextRollStep({seal}, goal);
    EXPECT_EQ(step.kind, RollStep::kRename);
    EXPECT_EQ(step.from, FormatState(seal));
    EXPECT_EQ(step.to, FormatState(DirectoryState(kV2)));
  }
  EXPECT_EQ(NextRollStep({DirectorySealState(kV1, kA)}, goal).kind, RollStep::kWitness);
}

TEST(Barrier, IgnoresWhatAnUploadLeftThatBecameHistory) {
  const State own = ExclusiveSealedState(kV3, std::string(24, 'd'));
  const Accepted base = HighestAccepted({TombstoneState(kV2)});
  const auto rivalry = [&](const State& left, const States& elsewhere, const Accepted& settled) {
    return RivalAtBarrier({{0, {left, own}}, {3, elsewhere}}, own, settled).rivalry;
  };
  const State plain = SealedState(kB);
  const State fixed = ExclusiveSealedState(kV1, kB);
  for (const State& accepted : {PromotedState(kV1, kB, 9), WitnessState(kV1, kB, 9), MovedIn(kV1, kB)}) {
    for (const State& left : {plain, fixed, AbortedState(plain), AbortedState(fixed)}) {
      EXPECT_EQ(rivalry(left, {accepted, TombstoneState(kV2)}, base), Rivalry::kNone) << FormatState(left);
      EXPECT_EQ(RivalAtBarrier({{0, {left, accepted}}}, own, base).rivalry, Rivalry::kNone)
          << FormatState(left);
    }
  }
  const Accepted moved = AcceptedFrom(MovedState(kV2, kRid, kV3, "abcd"));
  EXPECT_EQ(rivalry(plain, {PromotedState(kV2, kB, 9)}, moved), Rivalry::kNone);
  const State in = MoveInState(kRid);
  EXPECT_EQ(rivalry(in, {MovedIn(kV1, kB)}, base), Rivalry::kNone);
  EXPECT_EQ(rivalry(in, {MovedIn(kV3, kB)}, base), Rivalry::kBusy);
  EXPECT_EQ(rivalry(in, {PromotedState(kV1, kB, 9)}, base), Rivalry::kSealed);
  EXPECT_EQ(rivalry(MoveInState(kA), {MovedIn(kV1, kB)}, base), Rivalry::kSealed);
  // Nobody knows which version it chose, or whether it did.
  EXPECT_EQ(rivalry(plain, {TombstoneState(kV2)}, base), Rivalry::kSealed);
  EXPECT_EQ(rivalry(fixed, {TombstoneState(kV2)}, base), Rivalry::kBusy);
  EXPECT_EQ(rivalry(AbortedState(plain), {}, base), Rivalry::kSealed);
  // Another upload's version says nothing of it, nor does what is no archive.
  EXPECT_EQ(rivalry(plain, {PromotedState(kV1, kA, 9)}, base), Rivalry::kSealed);
  EXPECT_EQ(rivalry(plain, {AbortMarkState(plain)}, base), Rivalry::kSealed);
  // An exclusive upload of the same object id with another version may still be promoted.
  const State late = ExclusiveSealedState(kV2, kB);
  EXPECT_EQ(rivalry(late, {PromotedState(kV1, kB, 9)}, base), Rivalry::kBusy);
  EXPECT_EQ(rivalry(AbortedState(late), {PromotedState(kV1, kB, 9)}, base), Rivalry::kSealed);
  // It became something that the first look did not know, or did not see removed.
  EXPECT_EQ(rivalry(plain, {PromotedState(kV3, kB, 9)}, base), Rivalry::kBusy);
  EXPECT_EQ(rivalry(plain, {PromotedState(kV1, kB, 9)}, Accepted()), Rivalry::kBusy);
}

TEST(Sweep, RemovesOnlyWhatIsBelow) {
  SweepInput input;
  input.current = HighestAccepted({PromotedState(kV2, kA, 9)});
  input.keep_from = kV2;
  const auto names = [](const std::vector<SweepAction>& plan) {
    std::vector<std::string> from;
    for (const SweepAction& action : plan) from.push_back(action.from);
    return from;
  };
  EXPECT_TRUE(
      PlanSweep({PromotedState(kV2, kA, 9), PromotedState(kV3, kB, 1), SealedState(kB)}, input).empty());
  EXPECT_EQ(names(PlanSweep({PromotedState(kV2, kA, 9), PromotedState(kV1, kB, 1)}, input)),
            (std::vector<std::string>{FormatState(PromotedState(kV1, kB, 1))}));
  input.keep_from = {};
  EXPECT_TRUE(PlanSweep({PromotedState(kV1, kB, 1)}, input).empty());
  EXPECT_EQ(names(PlanSweep({ExclusiveSealedState(kV1, kB)}, input)),
            (std::vector<std::string>{FormatState(ExclusiveSealedState(kV1, kB))}));
  input.promoted_below[kB] = kV1;
  EXPECT_TRUE(PlanSweep({SealedState(kB)}, input).empty());
  EXPECT_TRUE(PlanSweep({ExclusiveSealedState(kV1, kB)}, input).empty());
  input.keep_from = kV2;
  EXPECT_EQ(names(PlanSweep({SealedState(kB)}, input)),
            (std::vector<std::string>{FormatState(SealedState(kB))}));
  EXPECT_EQ(PlanSweep({WitnessState(kV2, kA, 9), SealedState(kA)}, input)[0].kind, SweepAction::kRename);
  EXPECT_EQ(names(PlanSweep({PromotedState(kV2, kA, 9), ExclusiveSealedState(kV2, kA)}, input)),
            (std::vector<std::string>{FormatState(ExclusiveSealedState(kV2, kA))}));
  EXPECT_EQ(names(PlanSweep({WitnessState(kV2, kA, 9), PromotedState(kV2, kA, 9)}, input)),
            (std::vector<std::string>{FormatState(WitnessState(kV2, kA, 9))}));
}

TEST(Sweep, RemovesDirectorySealsUpToTheCurrentVersion) {
  SweepInput input;
  for (const State& current : {DirectoryState(kV2), TombstoneState(kV2.Removed())}) {
    input.current = AcceptedFrom(current);
    for (const State& seal : {DirectorySealState(kV1, kA), DirectorySealState(kV2, kA),
                              AbortedState(DirectorySealState(kV2, kA))}) {
      const std::vector<SweepAction> plan = PlanSweep({current, seal}, input);
      ASSERT_EQ(plan.size(), 1u) << FormatState(seal);
      EXPECT_EQ(plan[0].kind, SweepAction::kRemoveMark);
      EXPECT_EQ(plan[0].from, FormatState(seal));
    }
    EXPECT_TRUE(PlanSweep({current, DirectorySealState(kV3, kA)}, input).empty());
  }
}

// Readers may still have the version in between; what came before it was superseded too long ago.
TEST(Sweep, KeepsWhatWasCurrentWithinTheGrace) {
  SweepInput input;
  input.current = AcceptedFrom(PromotedState(kV3, kA, 9));
  input.keep_from = kV2;
  input.promoted_below = {{kB, kV1}};
  const States states = {PromotedState(kV3, kA, 9), PromotedState(kV2, kA, 9), PromotedState(kV1, kA, 9),
                         SealedState(kB)};
  const std::vector<SweepAction> plan = PlanSweep(states, input);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].from, FormatState(PromotedState(kV1, kA, 9)));
  EXPECT_EQ(plan[1].from, FormatState(SealedState(kB)));
  input.promoted_below = {{kB, kV2}};
  EXPECT_EQ(PlanSweep(states, input).size(), 1u);
}

TEST(Sweep, KeepsWhatIsMovingIn) {
  SweepInput input;
  input.current = AcceptedFrom(PromotedState(kV2, kA, 9));
  input.keep_from = kV2;
  const States states = {PromotedState(kV2, kA, 9), MovedIn(kV2, kA), WitnessState(kV2, kA, 9),
                         MovedIn(kV1, kB)};
  input.held = {kRid};
  ASSERT_EQ(PlanSweep(states, input).size(), 1u);
  EXPECT_EQ(PlanSweep(states, input)[0].from, FormatState(WitnessState(kV2, kA, 9)));
  input.held = {};
  EXPECT_EQ(PlanSweep(states, input).size(), 3u);
  EXPECT_TRUE(
      PlanSweep({MovedState(kV1, kRid, kV3, "abcd"), MoveInState(kRid), MoveOutState(kRid)}, input).empty());
}

TEST(Sweep, KnowsWhichTombstonesAreFiles) {
  SweepInput input;
  input.current = AcceptedFrom(PromotedState(kV2, kA, 9));
  input.keep_from = kV2;
  State done = TombstoneState(kV1.MoveDone());
  EXPECT_EQ(PlanSweep({done}, input)[0].kind, SweepAction::kRemoveFile);
  done.entry_directory = true;
  EXPECT_EQ(PlanSweep({done}, input)[0].kind, SweepAction::kRemoveMark);
  EXPECT_EQ(PlanSweep({TombstoneState(kV1)}, input)[0].kind, SweepAction::kRemoveMark);
}

TEST(Fence, NeverAbortsWhatWasPromoted) {
  const State seal = SealedState(kA);
  EXPECT_EQ(NextFenceStep({PromotedState(kV1, kA, 1)}, seal).kind, FenceStep::kPromotedHere);
  EXPECT_EQ(NextFenceStep({seal}, seal).kind, FenceStep::kRename);
  EXPECT_EQ(NextFenceStep({}, seal).kind, FenceStep::kMark);
  EXPECT_EQ(NextFenceStep({AbortMarkState(seal)}, seal).kind, FenceStep::kFenced);
  EXPECT_EQ(NextFenceStep({AbortMarkState(seal), seal}, seal).kind, FenceStep::kRename);
  const State out = MoveOutState(kRid);
  EXPECT_EQ(NextFenceStep({MovedState(kV1, kRid, kV3, "abcd")}, out).kind, FenceStep::kPromotedHere);
  EXPECT_EQ(NextFenceStep({out}, out).to, FormatState(AbortedState(out)));
  EXPECT_EQ(NextFenceStep({AbortedState(out)}, out).kind, FenceStep::kFenced);
}

TEST(Fence, KeepsTheTraceOfADirectorySealUntilAllHomesAreFenced) {
  const State making = DirectorySealState(kV2, kA);
  EXPECT_EQ(NextFenceStep({}, making).kind, FenceStep::kMark);
  EXPECT_EQ(NextFenceStep({making}, making).kind, FenceStep::kRename);
  EXPECT_EQ(NextFenceStep({making}, making).to, FormatState(AbortedState(making)));
  EXPECT_EQ(NextFenceStep({AbortedState(making)}, making).kind, FenceStep::kFenced);
  EXPECT_EQ(NextFenceStep({DirectoryState(kV1), making}, making).kind, FenceStep::kRename);
  for (const State& accepted : {DirectoryState(kV2), TombstoneState(kV2.Removed()), DirectoryState(kV3)})
    EXPECT_EQ(NextFenceStep({accepted, making}, making).kind, FenceStep::kPromotedHere);
  EXPECT_FALSE(SealStands({AbortedState(making)}, making));
  EXPECT_FALSE(SealStands({making, AbortMarkState(making)}, making));
}

TEST(Collect, NeedsTheTombstoneAlone) {
  const Accepted tombstone = HighestAccepted({TombstoneState(kV2)});
  EXPECT_TRUE(OnlyTombstone({TombstoneState(kV2), AbortMarkState(SealedState(kA))}, tombstone));
  EXPECT_FALSE(OnlyTombstone({}, tombstone));
  EXPECT_FALSE(OnlyTombstone({TombstoneState(kV2), SealedState(kA)}, tombstone));
  EXPECT_FALSE(OnlyTombstone({TombstoneState(kV2), PromotedState(kV1, kA, 1)}, tombstone));
}

TEST(InTree, ARemovalSealIsOfItsVersionAndOfEarlierOnes) {
  const std::map<MemberIndex, States> listings = {{0, {DirectoryState(kV1)}},
                                                  {1, {DirectoryState(kV2), RemovalSealState(kV2, kA)}}};
  EXPECT_TRUE(RemovalUnderWay(listings, kV1));
  EXPECT_TRUE(RemovalUnderWay(listings, kV2));
  EXPECT_FALSE(RemovalUnderWay(listings, kV3));
}

TEST(InTree, WhatIsBeingMadeIsNoHistory) {
  State young = SealedState(kA);
  State old = young;
  young.mtime_s = 9;
  old.mtime_s = 5;
  const Accepted gone = AcceptedFrom(TombstoneState(kV2.Removed()));
  std::vector<State> making = MakingUnderWay({{0, {old}}, {1, {young}}}, gone);
  ASSERT_EQ(making.size(), 1u);
  EXPECT_EQ(making.front().mtime_s, 9);
  // It became version 1, which was removed.
  EXPECT_TRUE(MakingUnderWay({{0, {old}}, {1, {PromotedState(kV1, kA, 7)}}}, gone).empty());
  EXPECT_EQ(MakingUnderWay({{0, {MoveInState(kB)}}}, gone).size(), 1u);
  EXPECT_EQ(MakingUnderWay({{0, {AbortedState(young)}}}, gone).size(), 1u);
  EXPECT_EQ(MakingUnderWay({{0, {DirectorySealState(kV3, kB)}}}, gone).size(), 1u);
  EXPECT_TRUE(MakingUnderWay({{0, {DirectorySealState(kV1, kB)}}}, gone).empty());
  EXPECT_TRUE(MakingUnderWay({{0, {AbortMarkState(young), RemovalSealState(kV2, kB)}}}, gone).empty());
}

}  // namespace
}  // namespace xec
