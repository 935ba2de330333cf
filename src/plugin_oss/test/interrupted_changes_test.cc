// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/interrupted_changes.hh"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

namespace xec {
namespace {

const char* const kClient = "user.12:34@host";
const char* const kAgain = "user.12:35@host";

class InterruptedChangesTest : public testing::Test {
 protected:
  ~InterruptedChangesTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = testing::TempDir() + "xec-interrupted/of/a/gateway";
};

TEST_F(InterruptedChangesTest, AClientIsToldOnce) {
  InterruptedChanges marks(folder_);
  EXPECT_FALSE(marks.Take(kClient, "/a"));
  {
    const InterruptedChanges::Mark lost = marks.Begin(kClient, "/a");
  }
  EXPECT_FALSE(marks.Take(kAgain, "/b"));
  EXPECT_FALSE(marks.Take("user.13:34@host", "/a"));
  EXPECT_TRUE(marks.Take(kAgain, "/a"));
  EXPECT_FALSE(marks.Take(kAgain, "/a"));
}

TEST_F(InterruptedChangesTest, WhatCameToItsEndIsNoMatter) {
  InterruptedChanges marks(folder_);
  {
    InterruptedChanges::Mark first = marks.Begin(kClient, "/a"), second = marks.Begin(kClient, "/a");
    first.Over();
    second.Over();
    second.Over();
  }
  EXPECT_FALSE(marks.Take(kAgain, "/a"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(InterruptedChangesTest, OneOfTwoIsLost) {
  InterruptedChanges marks(folder_);
  InterruptedChanges::Mark first = marks.Begin(kClient, "/a");
  {
    const InterruptedChanges::Mark lost = marks.Begin(kClient, "/a");
  }
  first.Over();
  EXPECT_TRUE(marks.Take(kAgain, "/a"));
}

// The daemon learns late that a connection is gone; and a process may open a file twice.
TEST_F(InterruptedChangesTest, AnotherConnectionIsThatOfAClientThatCameBack) {
  InterruptedChanges marks(folder_);
  const InterruptedChanges::Mark open = marks.Begin(kClient, "/a");
  EXPECT_FALSE(marks.Take(kClient, "/a"));
  EXPECT_TRUE(marks.Take(kAgain, "/a"));
}

TEST_F(InterruptedChangesTest, AGatewayThatDiedIsRemembered) {
  std::optional<InterruptedChanges> before;
  before.emplace(folder_);
  InterruptedChanges::Mark open = before->Begin(kClient, "/a");
  InterruptedChanges after(folder_);
  EXPECT_TRUE(after.Take(kAgain, "/a"));
  EXPECT_FALSE(after.Take(kAgain, "/a"));
  open.Over();
}

}  // namespace
}  // namespace xec
