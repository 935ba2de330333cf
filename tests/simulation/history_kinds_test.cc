// SPDX-License-Identifier: LGPL-3.0-or-later
// The oracle on forged histories of names that may be an object or a directory: what it must reject, and what
// it must accept.
#include <gtest/gtest.h>

#include "history.hh"

namespace xec::sim {
namespace {

uint64_t SizeOf(Content content) { return 10 * content; }

constexpr auto kNotThere = Code::kNotFound;

// Moments are given by hand. /d/a and /d/b may be either; below them is o.
class Forgery {
 public:
  Op& Add(OpKind kind, Moment from, Moment to, std::optional<Code> error = {}, std::string name = "/d/a") {
    Op op;
    op.kind = kind;
    op.name = std::move(name);
    const size_t id = history_.Begin(op, from);
    history_.at(id).ended = to;
    history_.at(id).error = error;
    return history_.at(id);
  }
  void Put(Moment from, Moment to, Content content, std::optional<Code> error = {},
           std::string name = "/d/a") {
    Add(OpKind::kPut, from, to, error, std::move(name)).content = content;
  }
  void Exclusive(Moment from, Moment to, Content content, std::optional<Code> error = {}) {
    Add(OpKind::kExclusivePut, from, to, error).content = content;
  }
  void Make(Moment from, Moment to, std::optional<Code> error = {}) {
    Add(OpKind::kMakeDirectory, from, to, error);
  }
  void Read(Moment from, Moment to, Content content, std::string name = "/d/a") {
    Add(OpKind::kRead, from, to, {}, std::move(name)).content = content;
  }
  void Rename(OpKind kind, Moment from, Moment to, std::optional<Code> error = {}) {
    Add(kind, from, to, error).to = "/d/b";
    if (kind != OpKind::kRenameDirectory) return;
    Op& part = Add(OpKind::kRename, from, to, error, "/d/a/o");
    part.to = "/d/b/o";
    part.part = 1;
  }
  bool Legal() const { return Complaint().empty(); }
  std::string Complaint() const {
    return history_.Judge({"/d/a", "/d/b", "/d/a/o", "/d/b/o"}, {"/d", "/d/a", "/d/b"}).broken.value_or("");
  }

 private:
  History history_{SizeOf};
};

TEST(HistoryOfKinds, ANameMayBecomeTheOtherKindWhenItIsGone) {
  Forgery f;
  f.Put(1, 2, 1);
  f.Make(3, 4, Code::kAlreadyExists);
  f.Add(OpKind::kRemoveDirectory, 5, 6, Code::kNotDirectory);
  f.Add(OpKind::kList, 7, 8, Code::kNotDirectory);
  f.Add(OpKind::kRemove, 9, 10);
  f.Make(11, 12);
  f.Put(13, 14, 2, Code::kIsDirectory);
  f.Exclusive(15, 16, 3, Code::kAlreadyExists);
  f.Exclusive(17, 18, 3, Code::kIsDirectory);
  f.Add(OpKind::kRemove, 19, 20, Code::kIsDirectory);
  f.Add(OpKind::kRead, 21, 22, Code::kIsDirectory);
  f.Add(OpKind::kStat, 23, 24).directory = true;
  f.Add(OpKind::kList, 25, 26);
  f.Make(27, 28, Code::kAlreadyExists);
  Op& above = f.Add(OpKind::kList, 29, 30, {}, "/d");
  above.listed = above.listed_directories = {"/d/a"};
  f.Add(OpKind::kRemoveDirectory, 31, 32);
  f.Add(OpKind::kRead, 33, 34, kNotThere);
  f.Exclusive(35, 36, 4);
  f.Read(37, 38, 4);
  EXPECT_EQ(f.Complaint(), "");
}

TEST(HistoryOfKinds, OfAPutAndAMakingAtATimeOneIsRefused) {
  for (const bool exclusive : {false, true}) {
    for (const bool both : {false, true}) {
      // Whoever of the two is said to be there in the end.
      for (const bool directory : {false, true}) {
        Forgery f;
        const auto refused = [&](bool is, Code code) { return is ? std::optional(code) : std::nullopt; };
        f.Make(1, 4, refused(!both && !directory, Code::kAlreadyExists));
        const auto put = refused(!both && directory, Code::kIsDirectory);
        exclusive ? f.Exclusive(2, 3, 1, put) : f.Put(2, 3, 1, put);
        if (directory) f.Add(OpKind::kList, 5, 6);
        if (!directory) f.Read(5, 6, 1);
        EXPECT_EQ(f.Legal(), !both) << exclusive << directory;
      }
    }
  }
}

TEST(HistoryOfKinds, ARemovalInBetweenExplainsBoth) {
  for (const bool removed : {false, true}) {
    Forgery f;
    f.Make(1, 20);
    f.Put(2, 3, 1);
    if (removed) f.Add(OpKind::kRemove, 4, 5);
    f.Add(OpKind::kList, 21, 22);
    EXPECT_EQ(f.Legal(), removed);
  }
}

TEST(HistoryOfKinds, APutThatIsNotAnsweredCannotReplaceADirectory) {
  Forgery f;
  f.Make(1, 2);
  f.Put(3, kNever, 1);
  f.Add(OpKind::kRead, 5, 6, Code::kIsDirectory);
  EXPECT_TRUE(f.Legal());
  f.Read(7, 8, 1);
  EXPECT_FALSE(f.Legal());
}

TEST(HistoryOfKinds, WhoRemovesAnObjectRemovesNoDirectory) {
  for (const bool gone : {false, true}) {
    Forgery f;
    f.Put(1, 2, 1);
    f.Add(OpKind::kRemove, 3, 20);
    f.Add(OpKind::kRemove, 4, 5);
    f.Make(6, 7);
    f.Put(8, 9, 2, {}, "/d/a/o");
    f.Add(OpKind::kList, 21, 22, gone ? std::optional(kNotThere) : std::nullopt).listed = {"/d/a/o"};
    EXPECT_EQ(f.Legal(), !gone);
  }
}

TEST(HistoryOfKinds, WhoRemovesADirectoryRemovesNoObject) {
  for (const bool gone : {false, true}) {
    Forgery f;
    f.Make(1, 2);
    f.Add(OpKind::kRemoveDirectory, 3, 20);
    f.Add(OpKind::kRemoveDirectory, 4, 5);
    f.Put(6, 7, 1);
    if (gone) f.Add(OpKind::kRead, 21, 22, kNotThere);
    if (!gone) f.Read(21, 22, 1);
    EXPECT_EQ(f.Legal(), !gone);
  }
}

TEST(HistoryOfKinds, OfTwoMakingsOnlyThoseAtATimeMayBothBeDone) {
  for (const Moment second : {2, 5}) {
    Forgery f;
    f.Make(1, 4);
    f.Make(second, 7);
    f.Add(OpKind::kList, 8, 9);
    EXPECT_EQ(f.Legal(), second == 2);
  }
}

TEST(HistoryOfKinds, AnswersOfTheOtherKindAreFound) {
  for (const bool directory : {false, true}) {
    const auto legal = [&](OpKind kind, std::optional<Code> error, bool says_directory = false) {
      Forgery f;
      if (directory) f.Make(1, 2);
      if (!directory) f.Put(1, 2, 1);
      Op& op = f.Add(kind, 3, 4, error);
      op.directory = says_directory;
      op.content = kind == OpKind::kRead && !error ? 1 : kNothing;
      op.size = 10;
      return f.Legal();
    };
    EXPECT_EQ(legal(OpKind::kRead, Code::kIsDirectory), directory);
    EXPECT_EQ(legal(OpKind::kRead, std::nullopt), !directory);
    EXPECT_EQ(legal(OpKind::kStat, std::nullopt, true), directory);
    EXPECT_EQ(legal(OpKind::kStat, std::nullopt, false), !directory);
    EXPECT_EQ(legal(OpKind::kPut, Code::kIsDirectory), directory);
    EXPECT_EQ(legal(OpKind::kExclusivePut, Code::kIsDirectory), directory);
    EXPECT_EQ(legal(OpKind::kRemove, Code::kIsDirectory), directory);
    EXPECT_EQ(legal(OpKind::kRemove, std::nullopt), !directory);
    EXPECT_EQ(legal(OpKind::kRemoveDirectory, Code::kNotDirectory), !directory);
    EXPECT_EQ(legal(OpKind::kRemoveDirectory, std::nullopt), directory);
    EXPECT_EQ(legal(OpKind::kList, Code::kNotDirectory), !directory);
    EXPECT_EQ(legal(OpKind::kList, std::nullopt), directory);
    EXPECT_FALSE(legal(OpKind::kMakeDirectory, std::nullopt));
    EXPECT_TRUE(legal(OpKind::kMakeDirectory, Code::kAlreadyExists));
    EXPECT_FALSE(legal(OpKind::kStat, kNotThere));
  }
}

TEST(HistoryOfKinds, AListingTellsWhichIsWhich) {
  for (const bool directory : {false, true}) {
    Forgery f;
    f.Make(1, 2);
    Op& above = f.Add(OpKind::kList, 3, 4, {}, "/d");
    above.listed = {"/d/a"};
    if (directory) above.listed_directories = {"/d/a"};
    EXPECT_EQ(f.Legal(), directory);
  }
}

TEST(HistoryOfKinds, WhoIsRefusedBelowAnObjectHasSeenOne) {
  for (const bool object : {false, true}) {
    Forgery f;
    if (object) f.Put(1, 2, 1);
    f.Put(3, 4, 2, Code::kNotDirectory, "/d/a/o");
    EXPECT_EQ(f.Legal(), object);
  }
}

// What is missing above is made with it, but not over an object.
TEST(HistoryOfKinds, APutBelowMakesNoDirectoryOverAnObject) {
  for (const bool object : {false, true}) {
    Forgery f;
    if (object) f.Put(1, 2, 1);
    f.Put(3, 4, 2, {}, "/d/a/o");
    f.Add(OpKind::kStat, 5, 6).directory = true;
    EXPECT_EQ(f.Legal(), !object);
  }
}

TEST(HistoryOfKinds, AnObjectIsNotRenamedOntoADirectory) {
  for (const bool directory : {false, true}) {
    for (const bool refused : {false, true}) {
      Forgery f;
      f.Put(1, 2, 1);
      f.Put(1, 2, 2, {}, "/d/b/o");
      if (directory) f.Add(OpKind::kMakeDirectory, 3, 4, {}, "/d/b");
      f.Rename(OpKind::kRename, 5, 6, refused ? std::optional(Code::kIsDirectory) : std::nullopt);
      if (!directory || refused) {
        f.Read(7, 8, 1, refused ? "/d/a" : "/d/b");
      } else {
        f.Add(OpKind::kStat, 7, 8, {}, "/d/b").directory = true;
      }
      EXPECT_EQ(f.Legal(), !directory || refused) << directory << refused;
    }
  }
}

TEST(HistoryOfKinds, AMakingAndARenameOntoItsNameAtATimeCannotBothBeDone) {
  for (const bool refused : {false, true}) {
    Forgery f;
    f.Put(1, 2, 1);
    f.Rename(OpKind::kRename, 3, 8);
    f.Add(OpKind::kMakeDirectory, 4, 7, refused ? std::optional(Code::kConflict) : std::nullopt, "/d/b");
    if (refused) f.Read(9, 10, 1, "/d/b");
    if (!refused) f.Add(OpKind::kList, 9, 10, {}, "/d/b");
    EXPECT_EQ(f.Legal(), refused);
  }
}

TEST(HistoryOfKinds, ADirectoryIsNotRenamedOntoAnObjectNorAsOne) {
  for (const bool meanwhile : {false, true}) {
    Forgery f;
    f.Make(1, 2);
    f.Put(3, 4, 1, {}, "/d/a/o");
    f.Rename(OpKind::kRenameDirectory, 5, 12);
    if (meanwhile) f.Put(6, 7, 2, {}, "/d/b");
    f.Add(OpKind::kStat, 13, 14, kNotThere);
    f.Read(15, 16, 1, "/d/b/o");
    f.Add(OpKind::kRead, 17, 18, kNotThere, "/d/a/o");
    if (!meanwhile) f.Add(OpKind::kList, 19, 20, {}, "/d/b").listed = {"/d/b/o"};
    EXPECT_EQ(f.Legal(), !meanwhile) << f.Complaint();
  }
  Forgery as_object;
  as_object.Make(1, 2);
  as_object.Rename(OpKind::kRename, 3, 4);
  EXPECT_FALSE(as_object.Legal());
}

TEST(HistoryOfKinds, AttributesOfADirectoryAreNotThoseOfTheObjectBefore) {
  for (const bool kept : {false, true}) {
    Forgery f;
    Op& put = f.Add(OpKind::kPut, 1, 2);
    put.content = 1;
    put.attributes = {11, kNotSet};
    f.Add(OpKind::kRemove, 3, 4);
    f.Make(5, 6);
    Op& set = f.Add(OpKind::kSetAttribute, 7, 8);
    set.attribute = 1;
    set.attributes = {kNotSet, 12};
    f.Add(OpKind::kGetAttributes, 9, 10).attributes = {kept ? 11u : kNotSet, 12};
    EXPECT_EQ(f.Legal(), !kept);
  }
}

}  // namespace
}  // namespace xec::sim
