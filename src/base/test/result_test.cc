// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/result.hh"

#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace xec {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(Code::kInvalidArgument, "{} is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  XEC_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

Status CheckEven(int value) {
  XEC_TRY(Half(value));
  return OkStatus();
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*Quarter(8), 2);
  ASSERT_FALSE(Quarter(6));
  EXPECT_EQ(Quarter(6).code(), Code::kInvalidArgument);
  EXPECT_EQ(Quarter(6).error().ToString(), "invalid_argument: 3 is odd");
  EXPECT_TRUE(CheckEven(2));
  EXPECT_FALSE(CheckEven(3));
}

TEST(Result, MovesValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

// A value and an error lie in the same memory: what is there is destroyed before the other comes, and once
// only.
TEST(Result, ChangesBetweenValueAndError) {
  const auto counted = std::make_shared<int>(7);
  Result<std::shared_ptr<int>> result = counted;
  const Result<std::shared_ptr<int>> copy = result;
  EXPECT_EQ(counted.use_count(), 3);
  result = Fail(Code::kNotFound, "a sentence that does not fit into the string itself: {}", 1);
  EXPECT_EQ(counted.use_count(), 2);
  Result<std::shared_ptr<int>> bad = result;
  EXPECT_EQ(bad.error().message, result.error().message);
  result = copy;
  EXPECT_EQ(counted.use_count(), 3);
  bad = std::move(result);
  EXPECT_EQ(*bad, counted);
  EXPECT_EQ(counted.use_count(), 3);
  Result<std::shared_ptr<int>>& same = bad;
  bad = std::move(same);
  EXPECT_EQ(*bad, counted);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<std::string>>);
}

TEST(Result, ValueOfAnErrorAborts) {
  const Result<int> bad = Half(1);
  EXPECT_DEATH((void)bad.value(), "value\\(\\) of an error: 1 is odd");
}

// Three places asked for the code of what had gone well.
TEST(Result, ErrorOfAnOkAborts) { EXPECT_DEATH((void)OkStatus().code(), "error\\(\\) of an OK"); }

TEST(Code, NamesAreDistinct) {
  std::set<std::string> names;
  for (int i = 0; i < kCodeCount; ++i) names.insert(CodeName(static_cast<Code>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kCodeCount));
}

}  // namespace
}  // namespace xec
