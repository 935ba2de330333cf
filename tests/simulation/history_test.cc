// SPDX-License-Identifier: LGPL-3.0-or-later
// The oracle on forged histories: what it must reject, and what it must accept.
#include "history.hh"

#include <gtest/gtest.h>

namespace xec::sim {
namespace {

uint64_t SizeOf(Content content) { return 10 * content; }

// Moments are given by hand: an operation lasts from `from` to `to`.
class Forgery {
 public:
  Op& Add(OpKind kind, Moment from, Moment to, Content content = kNothing, std::optional<Code> error = {}) {
    Op op;
    op.kind = kind;
    op.name = "/d/a";
    op.content = content;
    const size_t id = history_.Begin(op, from);
    history_.at(id).ended = to;
    history_.at(id).error = error;
    return history_.at(id);
  }
  void Rename(Moment from, Moment to, std::optional<Code> error = {}) {
    Add(OpKind::kRename, from, to, kNothing, error).to = "/d/b";
  }
  void ReadOther(Moment from, Moment to, Content content, std::optional<Code> error = {}) {
    Add(OpKind::kRead, from, to, content, error).name = "/d/b";
  }
  Op& Directory(OpKind kind, Moment from, Moment to, std::optional<Code> error = {}) {
    Op& op = Add(kind, from, to, kNothing, error);
    op.name = "/d";
    return op;
  }
  // Renames /d to /e: as a whole, and its part for /d/a.
  void RenameDirectory(Moment from, Moment to, std::optional<Code> error = {}) {
    Directory(OpKind::kRenameDirectory, from, to, error).to = "/e";
    Op part;
    part.kind = OpKind::kRename;
    part.name = "/d/a";
    part.to = "/e/a";
    part.part = 1;
    const size_t id = history_.Begin(std::move(part), from);
    history_.at(id).ended = to;
    history_.at(id).error = error;
  }
  Op& at(size_t id) { return history_.at(id); }
  void ReadMoved(Moment from, Moment to, Content content, std::optional<Code> error = {}) {
    Add(OpKind::kRead, from, to, content, error).name = "/e/a";
  }
  bool Legal() const { return !Verdict().broken; }
  History::Verdict Verdict() const { return history_.Judge({"/d/a", "/d/b", "/e/a"}, {"/d", "/d/s", "/e"}); }

 private:
  History history_{SizeOf};
};

constexpr auto kNotThere = Code::kNotFound;

TEST(History, PlainLifeOfAnObjectIsLegal) {
  Forgery f;
  f.Add(OpKind::kRead, 1, 2, kNothing, kNotThere);
  f.Add(OpKind::kExclusivePut, 3, 4, 1);
  f.Add(OpKind::kExclusivePut, 5, 6, 2, Code::kAlreadyExists);
  f.Add(OpKind::kRead, 7, 8, 1);
  f.Add(OpKind::kPut, 9, 10, 3);
  f.Add(OpKind::kStat, 11, 12).size = 30;
  f.Add(OpKind::kRemove, 13, 14);
  f.Add(OpKind::kRead, 15, 16, kNothing, kNotThere);
  EXPECT_TRUE(f.Legal());
}

TEST(History, ALostUpdateIsFound) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kPut, 3, 4, 2);
  f.Add(OpKind::kRead, 5, 6, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ConcurrentWritesMayEndEitherWayButNotBoth) {
  for (const Content last : {1, 2}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 4, 1);
    f.Add(OpKind::kPut, 2, 3, 2);
    f.Add(OpKind::kRead, 5, 6, last);
    EXPECT_TRUE(f.Legal());
    f.Add(OpKind::kRead, 7, 8, 3 - last);
    EXPECT_FALSE(f.Legal());
  }
}

TEST(History, AResurrectedObjectIsFound) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kRemove, 3, 4);
  f.Add(OpKind::kRead, 5, 6, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ARemovalNobodyKnowsTheEndOfMayHappenLateOrNeverButOnce) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kRemove, 3, 4, kNothing, Code::kUnknown);
  f.Add(OpKind::kRead, 5, 6, 1);
  f.Add(OpKind::kRead, 7, 8, kNothing, kNotThere);
  EXPECT_TRUE(f.Legal());
  f.Add(OpKind::kRead, 9, 10, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, AWriteThatFailedForCertainIsNeverSeen) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1, Code::kNoQuorum);
  f.Add(OpKind::kRead, 3, 4, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, AWriteOfADeadGatewayMayBeSeenOrNot) {
  Forgery f;
  f.Add(OpKind::kPut, 1, kNever, 1);
  f.Add(OpKind::kRead, 3, 4, kNothing, kNotThere);
  f.Add(OpKind::kRead, 5, 6, 1);
  EXPECT_TRUE(f.Legal());
  f.Add(OpKind::kRead, 7, 8, kNothing, kNotThere);
  EXPECT_FALSE(f.Legal()) << "seen once, it stays";
}

TEST(History, BytesThatNobodyWroteAreFound) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kRead, 3, 4, 9);
  EXPECT_FALSE(f.Legal());
}

TEST(History, BytesReadBeforeTheyWereWrittenAreFound) {
  Forgery f;
  f.Add(OpKind::kRead, 1, 2, 1);
  f.Add(OpKind::kPut, 3, 4, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, NotFoundWhileItIsThereIsFound) {
  for (const OpKind kind : {OpKind::kRead, OpKind::kStat, OpKind::kRemove, OpKind::kRename}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    f.Add(kind, 3, 4, kNothing, kNotThere).to = "/d/b";
    EXPECT_FALSE(f.Legal()) << OpKindName(kind);
  }
}

TEST(History, AListingThatForgetsOrInventsIsFound) {
  for (const bool listed : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    if (listed) f.Add(OpKind::kRemove, 3, 4);
    Op& list = f.Add(OpKind::kList, 5, 6);
    list.name = "/d";
    EXPECT_EQ(f.Legal(), listed);
    list.listed = {"/d/a"};
    EXPECT_EQ(f.Legal(), !listed);
  }
}

TEST(History, AWrongSizeIsFound) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kStat, 3, 4).size = 11;
  EXPECT_FALSE(f.Legal());
}

TEST(History, OfTwoExclusiveCreationsOneWins) {
  Forgery f;
  f.Add(OpKind::kExclusivePut, 1, 4, 1);
  f.Add(OpKind::kExclusivePut, 2, 3, 2);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ExclusiveCreationOverAnObjectIsFound) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Add(OpKind::kExclusivePut, 3, 4, 2);
  EXPECT_FALSE(f.Legal());
}

TEST(History, AlreadyExistsWhereNothingEverWasIsFound) {
  Forgery f;
  f.Add(OpKind::kExclusivePut, 1, 2, 1, Code::kAlreadyExists);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ARenameCarriesTheObjectOver) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Rename(3, 4);
  f.Add(OpKind::kRead, 5, 6, kNothing, kNotThere);
  f.ReadOther(7, 8, 1);
  EXPECT_TRUE(f.Legal());
}

TEST(History, ARenameThatLeavesTheObjectOrLosesItIsFound) {
  Forgery left;
  left.Add(OpKind::kPut, 1, 2, 1);
  left.Rename(3, 4);
  left.Add(OpKind::kRead, 5, 6, 1);
  EXPECT_FALSE(left.Legal());
  Forgery lost;
  lost.Add(OpKind::kPut, 1, 2, 1);
  lost.Rename(3, 4);
  lost.ReadOther(5, 6, kNothing, kNotThere);
  EXPECT_FALSE(lost.Legal());
}

TEST(History, WhoChangesTheTargetDuringARenameMayOverruleIt) {
  for (const bool meanwhile : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    Op& other = f.Add(OpKind::kPut, 3, 4, 2);
    other.name = "/d/b";
    f.Rename(meanwhile ? 5 : 8, 12);
    f.Add(OpKind::kRemove, 6, 7).name = "/d/b";
    f.Add(OpKind::kRead, 9, 10, 1);
    f.ReadOther(13, 14, kNothing, kNotThere);
    EXPECT_EQ(f.Legal(), meanwhile);
  }
}

TEST(History, ARenameHappensAtBothNamesAtOnce) {
  // Gone from the old name, and later not yet at the new one.
  Forgery gap;
  gap.Add(OpKind::kPut, 1, 2, 1);
  gap.Rename(3, 10);
  gap.Add(OpKind::kRead, 4, 5, kNothing, kNotThere);
  gap.ReadOther(6, 7, kNothing, kNotThere);
  EXPECT_FALSE(gap.Legal());
  // At the new name, and later still at the old one.
  Forgery both;
  both.Add(OpKind::kPut, 1, 2, 1);
  both.Rename(3, 10);
  both.ReadOther(4, 5, 1);
  both.Add(OpKind::kRead, 6, 7, 1);
  EXPECT_FALSE(both.Legal());
  // The same answers while the reads overlap.
  Forgery overlap;
  overlap.Add(OpKind::kPut, 1, 2, 1);
  overlap.Rename(3, 10);
  overlap.Add(OpKind::kRead, 4, 7, kNothing, kNotThere);
  overlap.ReadOther(5, 6, kNothing, kNotThere);
  EXPECT_TRUE(overlap.Legal());
}

TEST(History, ARenameThatIsOpenHappensAtBothNamesOrAtNone) {
  for (const bool out : {false, true}) {
    for (const bool in : {false, true}) {
      Forgery f;
      f.Add(OpKind::kPut, 1, 2, 1);
      f.Rename(3, 4, Code::kUnknown);
      f.Add(OpKind::kRead, 5, 6, out ? kNothing : 1, out ? std::optional(kNotThere) : std::nullopt);
      f.ReadOther(7, 8, in ? 1 : kNothing, in ? std::nullopt : std::optional(kNotThere));
      // What was at the old name before the rename may be read at the new one afterwards.
      EXPECT_EQ(f.Legal(), !out || in) << out << in;
      f.Add(OpKind::kRead, 9, 10, out ? kNothing : 1, out ? std::optional(kNotThere) : std::nullopt);
      EXPECT_EQ(f.Legal(), out == in) << out << in;
    }
  }
}

TEST(History, APutInTheMiddleOfARenameHidesThatTheObjectIsGone) {
  for (const bool seen_gone : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    f.Rename(3, 20);
    if (seen_gone) f.Add(OpKind::kRead, 4, 5, kNothing, kNotThere);
    f.Add(OpKind::kPut, 6, 7, 2);
    f.ReadOther(8, 9, kNothing, kNotThere);
    f.Add(OpKind::kRead, 21, 22, 2);
    f.ReadOther(23, 24, 1);
    EXPECT_EQ(f.Legal(), !seen_gone);
  }
}

TEST(History, WhatARenameMovesMustHaveBeenThere) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.Rename(3, 4);
  f.ReadOther(5, 6, 7);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ADirectoryIsThereFromItsMakingToItsRemoval) {
  Forgery f;
  f.Directory(OpKind::kList, 1, 2, kNotThere);
  f.Directory(OpKind::kMakeDirectory, 3, 4);
  f.Directory(OpKind::kMakeDirectory, 5, 6, Code::kAlreadyExists);
  f.Directory(OpKind::kList, 7, 8);
  f.Directory(OpKind::kRemoveDirectory, 9, 10);
  f.Directory(OpKind::kRemoveDirectory, 11, 12, kNotThere);
  EXPECT_TRUE(f.Legal());
  f.Directory(OpKind::kList, 13, 14);
  EXPECT_FALSE(f.Legal());
}

TEST(History, APutMakesItsDirectoryOnlyIfItIsAskedTo) {
  for (const bool parents : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1, Code::kConflict).parents = parents;
    f.Directory(OpKind::kList, 3, 4);
    EXPECT_EQ(f.Legal(), parents);
  }
}

TEST(History, WhatIsMissingAboveMayComeLaterIfNobodyKnewWhetherItWasMade) {
  for (const Code code : {Code::kUnavailable, Code::kConflict}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1, code).parents = true;
    f.Directory(OpKind::kList, 3, 4, kNotThere);
    f.Directory(OpKind::kList, 5, 6);
    EXPECT_EQ(f.Legal(), code == Code::kUnavailable);
  }
}

TEST(History, WhatIsMissingAboveIsMadeAgainIfItIsRemovedMeanwhile) {
  for (const bool over : {false, true}) {
    Forgery f;
    f.Directory(OpKind::kMakeDirectory, 1, over ? 5 : 8).name = "/d/s";
    f.Directory(OpKind::kList, 2, 3);
    f.Directory(OpKind::kRemoveDirectory, 3, 4);
    f.Directory(OpKind::kRemoveDirectory, 4, 5, kNotThere);
    f.Directory(OpKind::kList, 6, 7);
    EXPECT_EQ(f.Legal(), !over);
  }
}

TEST(History, ADirectoryThatIsRemovedMustHaveBeenEmpty) {
  for (const bool gone : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    if (gone) f.Add(OpKind::kRemove, 3, 6);
    f.Directory(OpKind::kRemoveDirectory, 5, 7);
    EXPECT_EQ(f.Legal(), gone);
  }
}

TEST(History, ARenamedDirectoryTakesWhatIsBelowAlong) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.RenameDirectory(3, 6);
  f.Add(OpKind::kRead, 7, 8, kNothing, kNotThere);
  f.ReadMoved(9, 10, 1);
  f.Directory(OpKind::kList, 11, 12, kNotThere);
  EXPECT_TRUE(f.Legal());
  f.Add(OpKind::kRead, 13, 14, 1);
  EXPECT_FALSE(f.Legal()) << "at both names";
}

TEST(History, ARenamedDirectoryLosesNothingBelow) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.RenameDirectory(3, 6);
  f.ReadMoved(7, 8, kNothing, kNotThere);
  EXPECT_FALSE(f.Legal());
}

TEST(History, ARenamedDirectoryLeavesNothingBehind) {
  Forgery f;
  f.Add(OpKind::kPut, 1, 2, 1);
  f.RenameDirectory(3, 6);
  f.Add(OpKind::kRead, 7, 8, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(History, OnlyAnOpenRenameOfADirectoryGoesOnAfterItsAnswer) {
  for (const bool open : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    f.RenameDirectory(3, 6, open ? Code::kUnknown : Code::kNoQuorum);
    f.Add(OpKind::kRead, 7, 8, 1);
    f.ReadMoved(9, 10, 1);
    f.Add(OpKind::kPut, 11, 12, 2);
    f.ReadMoved(13, 14, 2);
    EXPECT_EQ(f.Legal(), open);
    f.Add(OpKind::kRead, 15, 16, 2);
    EXPECT_FALSE(f.Legal()) << "at both names";
  }
}

// Each cleaner that goes on moves what was put under the old name meanwhile, or came back there.
TEST(History, AnOpenRenameOfADirectoryMovesWhatComesEachTime) {
  for (const bool comes_back : {false, true}) {
    Forgery f;
    f.RenameDirectory(1, 2, Code::kUnknown);
    f.Add(OpKind::kPut, 3, 4, 1);
    f.ReadMoved(5, 6, 1);
    for (Moment moment = 7; moment < 31; moment += 6) {
      if (comes_back) {
        Op& back = f.Add(OpKind::kRename, moment, moment + 1);
        back.name = "/e/a";
        back.to = "/d/a";
      } else {
        f.Add(OpKind::kPut, moment, moment + 1, moment);
      }
      f.Add(OpKind::kRead, moment + 2, moment + 3, comes_back ? 1 : moment);
      f.ReadMoved(moment + 4, moment + 5, comes_back ? 1 : moment);
    }
    EXPECT_TRUE(f.Legal()) << comes_back;
    f.Add(OpKind::kRead, 41, 42, kNothing, kNotThere);
    EXPECT_TRUE(f.Legal()) << comes_back;
    f.Add(OpKind::kRemove, 43, 44).name = "/e/a";
    f.ReadMoved(45, 46, 1);
    EXPECT_FALSE(f.Legal()) << "nothing was there to be moved";
  }
}

TEST(History, WhatWasInTheWayMayStillMoveOnlyWhereACleanerHasTakenItUp) {
  for (const bool taken_up : {false, true}) {
    // The last name below moves after the answer, or the directory itself goes.
    for (const bool name : {false, true}) {
      Forgery f;
      f.Directory(OpKind::kMakeDirectory, 1, 2);
      f.Add(OpKind::kPut, 3, 4, 1);
      f.RenameDirectory(5, 8, taken_up ? std::optional(Code::kUnknown) : std::nullopt);
      f.at(2).error = Code::kNotEmpty;
      f.at(2).taken_up = taken_up;
      if (name) {
        f.Add(OpKind::kRead, 9, 10, 1);
        f.ReadMoved(11, 12, 1);
      } else {
        f.Directory(OpKind::kList, 9, 10, kNotThere);
      }
      EXPECT_EQ(f.Legal(), taken_up) << name;
    }
  }
}

TEST(History, EachCleanerThatGoesOnTakesAnInnerDirectoryAgain) {
  for (const bool open : {false, true}) {
    Forgery f;
    f.RenameDirectory(1, 2, open ? Code::kUnknown : Code::kNoQuorum);
    for (Moment moment = 3; moment < 20; moment += 4) {
      f.Directory(OpKind::kMakeDirectory, moment, moment + 1).name = "/d/s";
      f.Directory(OpKind::kList, moment + 2, moment + 3, kNotThere).name = "/d/s";
    }
    EXPECT_EQ(f.Legal(), open);
  }
}

TEST(History, APartMayNotHappenButNotTooLate) {
  for (const bool late : {false, true}) {
    Forgery f;
    f.Add(OpKind::kPut, 1, 2, 1);
    f.RenameDirectory(3, 6, Code::kUnknown);
    f.at(2).error.reset();
    f.Add(OpKind::kRead, 7, 8, late ? 1 : kNothing, late ? std::nullopt : std::optional(kNotThere));
    f.ReadMoved(9, 10, 1);
    EXPECT_EQ(f.Legal(), !late);
  }
}

}  // namespace
}  // namespace xec::sim
