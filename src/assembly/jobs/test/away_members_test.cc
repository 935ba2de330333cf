// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/jobs/away_members.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

using Ids = AwayMembers::Ids;

constexpr Duration kHour = std::chrono::hours(1);
constexpr int64_t kNow = 1'800'000'000'000;
constexpr int64_t kHourMs = 3'600'000;

TEST(AwayMembers, TheyCountFromWhenTheyWereMissedFirst) {
  AwayMembers members;
  members.Note({"s03"}, kNow);
  members.Note({"s03", "s05"}, kNow + kHourMs / 2);
  EXPECT_EQ(members.For(kHour, kNow + kHourMs - 1), Ids{});
  EXPECT_EQ(members.For(kHour, kNow + kHourMs), Ids{"s03"});
  EXPECT_EQ(members.For(kHour, kNow + 2 * kHourMs), (Ids{"s03", "s05"}));
  members.Note({"s05"}, kNow + 2 * kHourMs);
  members.Note({"s03", "s05"}, kNow + 2 * kHourMs);
  EXPECT_EQ(members.For(kHour, kNow + 2 * kHourMs), Ids{"s05"}) << "it was back for a moment";
}

TEST(AwayMembers, WhatWasReplacedIsLookedAtWhenItIsBack) {
  AwayMembers members;
  members.Note({"s03", "s05"}, kNow);
  EXPECT_FALSE(members.AreReplaced({"s03"}));
  members.NoteReplaced({"s03", "s09"});
  EXPECT_TRUE(members.AreReplaced({"s03"}));
  EXPECT_FALSE(members.AreReplaced({"s03", "s05"}));
  EXPECT_FALSE(members.AreReplaced({"s09"})) << "it is not away";
  EXPECT_EQ(members.returned(), Ids{});
  members.Note({}, kNow + 1);
  EXPECT_EQ(members.returned(), Ids{"s03"});
  members.Note({"s03"}, kNow + 2);
  EXPECT_FALSE(members.AreReplaced({"s03"}));
  members.Forget({"s03"});
  EXPECT_EQ(members.returned(), Ids{});
}

TEST(AwayMembers, SoIsWhatWasReplacedInPart) {
  AwayMembers members;
  members.Note({"s03"}, kNow);
  members.NoteBegun({"s03"});
  EXPECT_FALSE(members.AreReplaced({"s03"}));
  AwayMembers next = AwayMembers::Parse(members.Text());
  next.Note({}, kNow + 1);
  EXPECT_EQ(next.returned(), Ids{"s03"});
}

TEST(AwayMembers, AnotherProcessGoesOn) {
  AwayMembers members;
  members.Note({"s03", "s05", "s07"}, kNow);
  members.NoteReplaced({"s05", "s07"});
  members.Note({"s03", "s05"}, kNow + 5);
  const AwayMembers next = AwayMembers::Parse(members.Text());
  EXPECT_EQ(next.Text(), members.Text());
  EXPECT_EQ(next.For(kHour, kNow + kHourMs), (Ids{"s03", "s05"}));
  EXPECT_TRUE(next.AreReplaced({"s05"}));
  EXPECT_EQ(next.returned(), Ids{"s07"});
}

TEST(AwayMembers, AnyTextIsParsed) {
  EXPECT_EQ(AwayMembers::Parse("").Text(), "");
  EXPECT_EQ(AwayMembers::Parse("/data/x").Text(), "");
  EXPECT_EQ(AwayMembers::Parse("away s03").Text(), "");
  EXPECT_EQ(AwayMembers::Parse("away s03 x away s04 12 away").Text(), "away s04 12");
  EXPECT_EQ(AwayMembers::Parse("away s03 99999999999999999999 here s04 12").Text(), "");
}

}  // namespace
}  // namespace xec
