// SPDX-License-Identifier: LGPL-3.0-or-later
#include "space/space_told.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

SpaceTold All() {
  SpaceTold told;
  told.id = "gw1:1094@1f";
  told.sums = {{"/", {-5, 1}}, {"/with blank", {1'000'000'000'000, -3}}};
  told.moved_ms = 17;
  told.count.emplace();
  told.count->began_ms = 100;
  told.count->ended_ms = 200;
  told.count->found = {{"/", {7, 2}}, {"/with blank", {0, 0}}};
  told.count->sums = {{"gw1:1094@1f", {{"/", {-4, 0}}}},
                      {"other one", {{"/", {3, 3}}, {"/with blank", {1, 1}}}}};
  return told;
}

TEST(SpaceTold, LinesAreReadAsTheyWereWritten) {
  const SpaceTold told = All();
  const std::optional<SpaceTold> read = ParseSpace(FormatSpace(told));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, told.id);
  EXPECT_EQ(read->sums, told.sums);
  EXPECT_EQ(read->moved_ms, 17);
  EXPECT_EQ(read->count, told.count);
}

// Bug: where the lines did not fit into the record of a process none was told, and nobody heard of it.
TEST(SpaceTold, OfSomeProcessesAllIsLeftOutWhereTheLinesDoNotFit) {
  SpaceTold told = All();
  told.id = "me";
  told.count->sums = {
      {"a", {{"/", {1, 1}}, {"/b", {2, 2}}}}, {"me", {{"/", {3, 3}}}}, {"z", {{"/", {4, 4}}}}};
  const std::vector<std::string> all = FormatSpace(told);
  const auto one = [](std::string_view) { return size_t{1}; };
  const auto cut_to = [&](size_t lines) {
    std::vector<std::string> left = all;
    const size_t left_out = CutSpace(left, lines, one);
    EXPECT_EQ(left_out, all.size() - left.size());
    EXPECT_LE(left.size(), lines);
    return left.empty() ? std::nullopt : ParseSpace(left);
  };
  EXPECT_EQ(cut_to(all.size())->count, told.count);
  told.count->sums.erase("z");
  EXPECT_EQ(cut_to(all.size() - 1)->count, told.count);
  told.count->sums.erase("a");
  EXPECT_EQ(cut_to(all.size() - 2)->count, told.count) << "not a part of a";
  EXPECT_EQ(cut_to(all.size() - 3)->count, told.count) << "its own sums are told last of all";
  EXPECT_FALSE(cut_to(3)) << "the groups do not fit";
}

TEST(SpaceTold, WhatALaterVersionAddsIsPassedOver) {
  std::vector<std::string> lines = FormatSpace(All());
  lines.emplace_back("later words 1 2 3");
  EXPECT_TRUE(ParseSpace(lines));
}

TEST(SpaceTold, DamagedLinesAreNone) {
  EXPECT_FALSE(ParseSpace({}));
  EXPECT_FALSE(ParseSpace({"sum / 1 1"})) << "of nobody";
  for (const char* const line :
       {"sum / 1", "sum / 1 x", "sum / 1 1 1", "sum %2 1 1", "moved x", "counted 1 y", "found / 1 1",
        "had a / 1 1", "had / 1 1", "sum / 99999999999999999999 1", "sum / -9000000000000000000 1",
        "sum / -9223372036854775808 1"})
    EXPECT_FALSE(ParseSpace({"id a", line})) << line;
}

TEST(GroupOf, TheLongestPrefixByWholeComponents) {
  const std::vector<SpaceGroup> groups = {{"a", "/a", {}}, {"ab", "/a/b", {}}, {"all", "/", {}}};
  for (const auto& [path, name] : std::vector<std::pair<std::string, std::string>>{{"/", "all"},
                                                                                   {"/a", "a"},
                                                                                   {"/a/x", "a"},
                                                                                   {"/ab", "all"},
                                                                                   {"/a/b", "ab"},
                                                                                   {"/a/b/c", "ab"},
                                                                                   {"/a/bc", "a"}})
    EXPECT_EQ(GroupOf(groups, path)->name, name) << path;
  EXPECT_EQ(GroupOf(std::span(groups).first(2), "/b"), nullptr);
}

TEST(UsedSpace, IsWhatWasCountedAndWhatChangedSinceItsMiddle) {
  using Sums = std::map<std::string, UsageByPrefix>;
  const Sums before = {{"one", {{"/", {100, 1}}}}, {"two", {}}};
  const Sums after = {
      {"one", {{"/", {140, 3}}}}, {"two", {{"/", {-10, 0}}}}, {"missed", {{"/", {5000, 50}}}}};
  SpaceCount count;
  count.found = {{"/", {1000, 10}}};
  count.sums = MiddleOf(before, after);
  EXPECT_EQ(count.sums.at("one").at("/"), (Usage{120, 2}));
  EXPECT_EQ(count.sums.at("two").at("/"), (Usage{-5, 0}));
  EXPECT_EQ(count.sums.at("missed").at("/"), (Usage{5000, 50})) << "a life's sums are not halved";
  EXPECT_EQ(UsedSpace(count, count.sums).at("/"), (Usage{1000, 10}));
  // The first goes on, the second is not heard of any more, and a third has begun since.
  const Sums now = {{"one", {{"/", {150, 4}}}}, {"three", {{"/", {7, 1}}, {"/other", {9, 9}}}}};
  EXPECT_EQ(UsedSpace(count, now), (UsageByPrefix{{"/", {1037, 13}}}));
}

}  // namespace
}  // namespace xec
