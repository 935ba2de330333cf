// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/attribute_set.hh"

#include <gtest/gtest.h>

namespace xec {
namespace {

Version At(int64_t wall_ms, uint32_t writer = 1) {
  return Version{static_cast<uint64_t>(wall_ms) << kLogicalBits, writer, 0};
}

TEST(AttributeSetTest, SurvivesItsText) {
  AttributeSet set = AttributeSet::WrittenWith({{"U.a", "1"}, {"with blank", "= % \n"}}, At(1));
  set.Set("binary", std::string("\0\xff", 2), At(2));
  set.Set("gone", std::nullopt, At(3));
  set.Set("empty", "", At(4));
  set.over = {At(2), At(3)};
  const Result<AttributeSet> read = AttributeSet::Parse(set.Format());
  ASSERT_TRUE(read) << set.Format();
  EXPECT_EQ(*read, set);
  const UserAttributes values = {
      {"U.a", "1"}, {"with blank", "= % \n"}, {"binary", std::string("\0\xff", 2)}, {"empty", ""}};
  EXPECT_EQ(read->Values(), values);
}

TEST(AttributeSetTest, MergesAttributeByAttributeInAnyOrder) {
  AttributeSet a = AttributeSet::WrittenWith({{"x", "old"}, {"y", "old"}, {"z", "old"}}, At(1));
  AttributeSet b = a;
  a.Set("x", "a", At(5));
  a.Set("y", std::nullopt, At(4));
  b.Set("x", "b", At(3));
  b.Set("z", "b", At(6));
  AttributeSet ab = a;
  ab.Merge(b);
  AttributeSet ba = b;
  ba.Merge(a);
  ba.Merge(ab);
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.Values(), (UserAttributes{{"x", "a"}, {"z", "b"}}));
}

// A reader goes by it: what changes nothing need not be written anew.
TEST(AttributeSetTest, TellsWhetherAMergeChangedIt) {
  AttributeSet set = AttributeSet::WrittenWith({{"x", "1"}, {"y", "1"}}, At(2));
  AttributeSet earlier = AttributeSet::WrittenWith({{"x", "0"}}, At(1));
  earlier.over = {At(1)};
  const AttributeSet same = set;
  EXPECT_FALSE(set.Merge(same));
  EXPECT_FALSE(set.Merge(earlier));
  EXPECT_EQ(set.over, std::set<Version>{At(1)});
  AttributeSet later;
  later.Set("x", std::nullopt, At(3));
  EXPECT_TRUE(set.Merge(later));
  EXPECT_FALSE(set.Merge(later));
  EXPECT_TRUE(set.Merge(AttributeSet::WrittenWith({{"z", "0"}}, At(1))));
}

// Each of several sets at once keeps to what an object may have; together they may be far more.
TEST(AttributeSetTest, WhatManyHaveSetAtOnceSurvivesItsText) {
  AttributeSet set;
  for (int i = 0; i < 40; ++i) set.Set(fmt::format("{}", i), std::string(15 * 1024, 'v'), At(i + 1));
  for (int i = 0; i < 4000; ++i) set.Set(fmt::format("U.{}", i), std::nullopt, At(i + 1));
  const std::string text = set.Format();
  EXPECT_LE(text.size(), kAttributeSetBytesMax);
  const Result<AttributeSet> read = AttributeSet::Parse(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, set);
  for (int i = 40; i < 80; ++i) set.Set(fmt::format("{}", i), std::string(15 * 1024, 'v'), At(i + 1));
  EXPECT_EQ(AttributeSet::Parse(set.Format()).code(), Code::kCorruption);
}

TEST(AttributeSetTest, KeepsToItsBounds) {
  AttributeSet set;
  for (int i = 1; i <= 300; ++i) set.over.insert(At(i));
  set.CutOver();
  EXPECT_EQ(set.over.size(), kAttributeSetOverMax);
  EXPECT_EQ(*set.over.rbegin(), At(300));
  for (size_t i = 0; i <= kAttributeEntriesMax; ++i) set.Set(fmt::format("{}", i), "", At(1));
  EXPECT_EQ(AttributeSet::Parse(set.Format()).code(), Code::kCorruption);
}

TEST(AttributeSetTest, RefusesWhatIsDamaged) {
  AttributeSet set = AttributeSet::WrittenWith({{"name", "value"}}, At(1));
  set.over = {At(7)};
  const std::string text = set.Format();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_EQ(AttributeSet::Parse(text.substr(0, size)).code(), Code::kCorruption) << size;
  const std::string revision = At(1).ToString();
  const std::vector<std::string> bad = {
      "",
      "set",
      "set " + revision,
      "set " + revision + " name",
      "set " + revision + " =value",
      "set " + revision + " a=%g1",
      "set x a=b",
      "removed " + revision + " a=b",
      "removed " + revision + " ",
      "over x",
      "over " + revision + "\nover " + revision,
      "set " + revision + " a=b\nremoved " + revision + " a",
  };
  for (const std::string& line : bad) {
    EXPECT_EQ(AttributeSet::Parse("xec-attributes 1\n" + line + "\nend\n").code(), Code::kCorruption) << line;
  }
  EXPECT_EQ(AttributeSet::Parse("xec-attributes 2\nend\n").code(), Code::kCorruption);
  EXPECT_TRUE(AttributeSet::Parse("xec-attributes 1\nend\n"));
}

}  // namespace
}  // namespace xec
