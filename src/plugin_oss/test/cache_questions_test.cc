// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/cache_questions.hh"

#include <memory>

#include <gtest/gtest.h>

namespace xec {
namespace {

TEST(CacheQuestions, OfAnOpenFile) {
  EXPECT_TRUE(IsHeadQuestion("head"));
  EXPECT_TRUE(IsHeadQuestion(std::string_view("head\0", 5)));
  EXPECT_FALSE(IsHeadQuestion(""));
  EXPECT_FALSE(IsHeadQuestion("header"));
  EXPECT_EQ(CacheControl("-5"), R"({"ETag":"-5","revalidate":true})");
}

TEST(CacheQuestions, OfAName) {
  EXPECT_EQ(PathOfHeadQuestion("/a/b?code=head"), "/a/b");
  EXPECT_EQ(PathOfHeadQuestion(std::string_view("/a?x=y&code=head\0", 17)), "/a");
  for (const char* other : {"", "/a", "/a?", "/a?code=", "/a?code=heads", "/a?encode=head"})
    EXPECT_FALSE(PathOfHeadQuestion(other)) << other;
}

TEST(CacheQuestions, AnswersEndWithAZero) {
  const std::unique_ptr<char[]> answer(AnswerOf("12"));
  EXPECT_STREQ(answer.get(), "12");
}

}  // namespace
}  // namespace xec
