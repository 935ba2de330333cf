// SPDX-License-Identifier: LGPL-3.0-or-later
#include "space/space_ledger.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

const std::vector<SpaceGroup> kGroups = {{"a", "/a", 1000}, {"ab", "/a/b", {}}};

SpaceCount CountOf(int64_t ended_ms, int64_t bytes_of_a) {
  SpaceCount count;
  count.began_ms = count.ended_ms = ended_ms;
  count.found = {{"/", {}}, {"/a", {bytes_of_a, 1}}, {"/a/b", {}}};
  return count;
}

std::optional<int64_t> Used(const SpaceLedger& ledger, std::string_view path) {
  const GroupUse use = ledger.Use(ledger.Of(path));
  return use.used ? std::optional(use.used->bytes) : std::nullopt;
}

TEST(SpaceLedger, WhatNoGroupCoversIsOneToo) {
  const SpaceLedger ledger(kGroups, "me");
  EXPECT_EQ(ledger.groups().size(), 3u);
  EXPECT_EQ(ledger.Of("//a//b/c/").name, "ab") << "paths as users write them";
  EXPECT_EQ(ledger.Of("/b").name, kWholeStoreGroup);
  EXPECT_EQ(SpaceLedger({{"all", "/", 5}}, "me").groups().size(), 1u);
}

TEST(SpaceLedger, ADirectoryTakesGroupsBelowItAlong) {
  const SpaceLedger ledger(kGroups, "me");
  EXPECT_FALSE(ledger.Crosses("/a/x", "/a/y"));
  EXPECT_TRUE(ledger.Crosses("/a/x", "/b"));
  EXPECT_TRUE(ledger.Crosses("/a", "/c")) << "with /a/b in it";
}

TEST(SpaceLedger, OwnSumsCountAtOnceAndThoseOfOthersAsTheyAreTold) {
  SpaceLedger ledger(kGroups, "me");
  ledger.Add(ledger.Of("/a/x"), {100, 1});
  EXPECT_EQ(Used(ledger, "/a"), std::nullopt) << "nothing was counted yet";
  SpaceCount count = CountOf(10, 500);
  count.sums = ledger.Sums(0);
  ledger.TakeCount(count);
  EXPECT_EQ(Used(ledger, "/a"), 500);
  ledger.Add(ledger.Of("/a/x"), {-50, -1});
  EXPECT_EQ(Used(ledger, "/a"), 450);
  SpaceTold other{.id = "other", .told_ms = 5, .sums = {{"/a", {7, 1}}}, .count = count};
  other.count->sums["other"];
  ledger.Hear({other}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 457);
  SpaceTold older{.id = "other", .told_ms = 4, .sums = {{"/a", {3, 1}}}};
  ledger.Hear({older}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 457) << "a server showed an old record";
  ledger.Hear({}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 457) << "a record that cannot be read now";
  ledger.Add(ledger.Of("/a"), {-1000, 0});
  EXPECT_EQ(Used(ledger, "/a"), 0) << "never less than nothing";
}

TEST(SpaceLedger, WhatIsGoneIsTakenAwayOnceAsFarBackAsIsKnown) {
  SpaceLedger ledger(kGroups, "me");
  const auto gone = [](uint64_t clock) { return ObjectGone{Version{clock, 1}, 7}; };
  EXPECT_EQ(ledger.TakenBy("/a", gone(0)), (Usage{-7, -1}));
  EXPECT_EQ(ledger.TakenBy("//a", gone(0)), Usage());
  EXPECT_EQ(ledger.TakenBy("/b", gone(0)), (Usage{-7, -1})) << "of another name";
  for (uint64_t clock = 1; clock < kSpaceGoneMax; ++clock) ledger.TakenBy("/a", gone(clock));
  EXPECT_EQ(ledger.TakenBy("/a", gone(1)), Usage());
  EXPECT_EQ(ledger.TakenBy("/a", gone(0)), (Usage{-7, -1})) << "too many since";
}

TEST(SpaceLedger, TheLatestCountOfTheseGroupsCounts) {
  SpaceLedger ledger(kGroups, "me");
  ledger.TakeCount(CountOf(10, 500));
  SpaceTold later{.id = "b", .told_ms = 1};
  later.count = CountOf(20, 600);
  SpaceTold earlier{.id = "a", .told_ms = 1};
  earlier.count = CountOf(5, 1);
  SpaceTold of_others{.id = "c", .told_ms = 1};
  of_others.count = CountOf(30, 7);
  of_others.count->found.erase("/a/b");
  ledger.Hear({later, earlier, of_others}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 600);
}

// Bug: where a count did not know a process that this one had once heard of, all that it had ever written was
// added to what was found, for ever.
TEST(SpaceLedger, OfAProcessThatTheCountDoesNotKnowOnlyWhatComesLaterCounts) {
  SpaceLedger ledger(kGroups, "me");
  ledger.Add(ledger.Of("/a"), {50, 1});
  const SpaceTold gone{.id = "gone", .told_ms = 1, .sums = {{"/a", {300, 3}}}};
  ledger.Hear({gone}, TimePoint());
  SpaceTold counter{.id = "counter", .told_ms = 9, .count = CountOf(10, 400)};
  counter.count->sums["counter"];
  ledger.Hear({counter}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 400);
  ledger.Hear({gone, SpaceTold{.id = "late", .told_ms = 2, .sums = {{"/a", {200, 2}}}}}, TimePoint());
  EXPECT_EQ(Used(ledger, "/a"), 400) << "heard of later, and it has not said since when";
  ledger.Hear({SpaceTold{.id = "late", .told_ms = 3, .sums = {{"/a", {205, 2}}}}}, TimePoint());
  ledger.Add(ledger.Of("/a"), {10, 1});
  EXPECT_EQ(Used(ledger, "/a"), 415);
  const SpaceTold told = ledger.Told();
  EXPECT_EQ(told.count->sums.at("me").at("/a"), (Usage{50, 1})) << "nobody else can say that";
  EXPECT_FALSE(told.count->sums.contains("gone"));
  SpaceLedger other(kGroups, "other");
  other.Hear({told}, TimePoint());
  EXPECT_EQ(Used(other, "/a"), 410);
  EXPECT_EQ(ledger.Sums(3).size(), 3u) << "but for gone";
}

TEST(SpaceLedger, AProcessThatHadChangedNothingWhenItWasCountedIsKnownToTheCount) {
  SpaceLedger counter(kGroups, "counter"), idle(kGroups, "idle"), later(kGroups, "later");
  counter.Hear({idle.Told()}, TimePoint());
  SpaceCount count = CountOf(10, 400);
  count.sums = counter.Sums(0);
  counter.TakeCount(count);
  idle.Add(idle.Of("/a"), {30, 1});
  const auto heard = [](const SpaceLedger& ledger) { return ParseSpace(FormatSpace(ledger.Told())).value(); };
  later.Hear({heard(counter), heard(idle)}, TimePoint());
  EXPECT_EQ(Used(later, "/a"), 430);
}

TEST(SpaceLedger, AProcessGoesOnWithTheSumsOfTheOneBeforeIt) {
  SpaceLedger before(kGroups, "gw@1");
  before.Add(before.Of("/a"), {10, 1});
  SpaceCount count = CountOf(10, 500);
  count.sums = before.Sums(0);
  before.TakeCount(count);
  before.Add(before.Of("/a"), {20, 1});
  before.NoteMoved(33);

  SpaceLedger after(kGroups, "gw@2");
  after.Add(after.Of("/a"), {3, 1});
  after.Hear({before.Told()}, TimePoint());
  after.GoOnWith(before.Told());
  EXPECT_EQ(Used(after, "/a"), 523);
  EXPECT_EQ(after.Told().id, "gw@1");
  EXPECT_EQ(after.Sums(0).size(), 1u) << "no sum counts twice";
  EXPECT_TRUE(after.MovedSince(33));
  EXPECT_FALSE(after.MovedSince(34));
}

TEST(SpaceLedger, OneOfThoseThatTellIsTheFirst) {
  SpaceLedger ledger(kGroups, "b");
  EXPECT_TRUE(ledger.IsFirst(0));
  ledger.Hear({SpaceTold{.id = "a", .told_ms = 50}, SpaceTold{.id = "c", .told_ms = 99}}, TimePoint());
  EXPECT_FALSE(ledger.IsFirst(40));
  EXPECT_TRUE(ledger.IsFirst(60)) << "a has been silent since";
}

TEST(SpaceLedger, AQuotaHoldsForAllUploadsTogether) {
  SpaceLedger ledger(kGroups, "me");
  const SpaceGroup& group = ledger.Of("/a");
  {
    SpaceClaim any(ledger, group), absurd(ledger, group);
    EXPECT_TRUE(any.GrowTo(5000, 0)) << "nobody knows yet what is used";
    EXPECT_FALSE(absurd.GrowTo(UINT64_MAX, 0));
  }
  ledger.TakeCount(CountOf(1, 400));
  SpaceClaim one(ledger, group), other(ledger, group);
  EXPECT_TRUE(one.GrowTo(500, 0));
  EXPECT_FALSE(other.GrowTo(UINT64_MAX - 600, 0)) << "no sum goes round";
  EXPECT_TRUE(one.GrowTo(300, 0));
  EXPECT_EQ(one.bytes(), 500u);
  const Status refused = other.GrowTo(101, 0);
  EXPECT_EQ(refused.code(), Code::kOverQuota);
  EXPECT_EQ(refused.error().message,
            "the group a (/a) has a quota of 1000 B, of which 400 B are used and 500 B are being uploaded: "
            "101 B more do "
            "not fit");
  EXPECT_TRUE(other.GrowTo(100, 0));
  EXPECT_TRUE(other.GrowTo(400, 300)) << "what it replaces goes";
  one.Release();
  EXPECT_TRUE(other.GrowTo(600, 0));
  ledger.Add(group, {1, 1});
  EXPECT_EQ(other.GrowTo(600, 0).code(), Code::kOverQuota) << "filled by others meanwhile";
  EXPECT_TRUE(other.GrowTo(600, 700)) << "one that makes it smaller";
  SpaceClaim third(ledger, group);
  EXPECT_TRUE(third.GrowTo(599, 0)) << "a replacement claims the difference";
  EXPECT_FALSE(other.GrowTo(701, 700));
  EXPECT_EQ(other.replaces(), 700u);
  third.Release({599, 1});
  EXPECT_EQ(Used(ledger, "/a"), 1000) << "counted where it was claimed";
  EXPECT_FALSE(third.GrowTo(1, 0));
  SpaceClaim free(ledger, ledger.Of("/a/b"));
  EXPECT_TRUE(free.GrowTo(1'000'000, 0)) << "a group without a quota";
}

}  // namespace
}  // namespace xec
