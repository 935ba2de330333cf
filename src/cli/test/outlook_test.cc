// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/outlook.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

StoreDescriptor Store(size_t servers, uint32_t data, uint32_t parity) {
  StoreDescriptor store;
  store.geometry.data_chunks = data;
  store.geometry.parity_chunks = parity;
  store.tolerance = parity;
  for (size_t i = 0; i < servers; ++i)
    store.members.push_back(Member{fmt::format("s{:02}", i + 1), "local", fmt::format("h{}", i)});
  return store;
}

TEST(OutlookTest, AStoreThatIsWellLosesNothing) {
  const Census census;
  const std::vector<Outlook> ahead = LookAhead(Store(12, 8, 2), {}, {}, &census);
  ASSERT_EQ(ahead.size(), 13u);
  EXPECT_EQ(ahead[0].server, std::nullopt);
  EXPECT_EQ(ahead[3].server, 2);
  for (const Outlook& outlook : ahead) {
    EXPECT_TRUE(outlook.decidable);
    EXPECT_EQ(outlook.puts, Outlook::kInFull);
    EXPECT_EQ(outlook.unreadable, Census::Count());
  }
}

TEST(OutlookTest, WhatIsAwayAlreadyCounts) {
  const StoreDescriptor store = Store(12, 8, 2);
  Census census;
  census.Add("/a", {.geometry = store.geometry, .bytes = 5, .survives = 0, .critical = {3, 4}});
  const std::vector<Outlook> ahead = LookAhead(store, {}, {.silent = {0, 7}, .unwritable = {}}, &census);
  ASSERT_EQ(ahead.size(), 11u) << "those that are away are not lost again";
  EXPECT_TRUE(ahead[0].decidable);
  EXPECT_EQ(ahead[0].puts, Outlook::kInFull);
  EXPECT_EQ(ahead[1].server, 1);
  EXPECT_FALSE(ahead[1].decidable);
  EXPECT_EQ(ahead[1].puts, Outlook::kNotAll);
  EXPECT_EQ(ahead[1].unreadable, Census::Count());
  EXPECT_EQ(ahead[3].server, 3);
  EXPECT_EQ(ahead[3].unreadable, (Census::Count{1, 5}));
}

// They answer, so names are decided; they take nothing.
TEST(OutlookTest, ServersThatTakeNoWritesAreAwayForPuts) {
  const std::vector<Outlook> ahead =
      LookAhead(Store(11, 8, 2), {}, {.silent = {}, .unwritable = {5}}, nullptr);
  EXPECT_EQ(ahead[0].puts, Outlook::kInFull);
  EXPECT_TRUE(ahead[1].decidable);
  EXPECT_EQ(ahead[1].puts, Outlook::kThin);
  EXPECT_EQ(ahead[6].server, 5);
  EXPECT_EQ(ahead[6].puts, Outlook::kInFull) << "it took none before either";
  EXPECT_EQ(ahead[1].unreadable, std::nullopt) << "nobody counted";
}

TEST(OutlookTest, TheNeediestGeometryDecides) {
  StoreDescriptor store = Store(10, 4, 2);
  EXPECT_EQ(LookAhead(store, {}, {}, nullptr)[1].puts, Outlook::kInFull);
  store.rules.push_back({"/wide", {8, 2, 4096}});
  EXPECT_EQ(LookAhead(store, {}, {}, nullptr)[1].puts, Outlook::kThin);
  Configuration strict;
  strict.redundancy_min = 2;
  EXPECT_EQ(LookAhead(store, strict, {}, nullptr)[1].puts, Outlook::kNone);
}

}  // namespace
}  // namespace xec
