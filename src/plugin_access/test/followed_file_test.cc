// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/followed_file.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace xec {
namespace {

Result<std::string> NoBang(std::string_view text) {
  if (text.find('!') != text.npos) return Fail(Code::kInvalidArgument, "there is a !");
  return std::string(text);
}

class FollowedFileTest : public testing::Test {
 protected:
  FollowedFileTest() { Write(""); }
  ~FollowedFileTest() override { std::filesystem::remove(path_); }
  // As editors do: another file takes the name.
  void Write(const std::string& text) {
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }

  const std::string path_ = testing::TempDir() + "/followed";
};

TEST_F(FollowedFileTest, IsReadAgainWhenItChanges) {
  const auto file = FollowedFile<std::string>::Open(path_, NoBang);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*(*file)->Current(), "");
  Write("one");
  EXPECT_EQ(*(*file)->Current(), "one");
  Write("two");
  EXPECT_EQ(*(*file)->Current(), "two");
}

TEST_F(FollowedFileTest, WhatItSaidStaysWhileItIsWrongOrGone) {
  Write("good");
  const auto file = FollowedFile<std::string>::Open(path_, NoBang);
  ASSERT_TRUE(file);
  Write("bad!");
  EXPECT_EQ(*(*file)->Current(), "good");
  std::filesystem::remove(path_);
  EXPECT_EQ(*(*file)->Current(), "good");
  Write("better");
  EXPECT_EQ(*(*file)->Current(), "better");
}

TEST_F(FollowedFileTest, AtFirstItHasToBeRight) {
  Write("bad!");
  const auto wrong = FollowedFile<std::string>::Open(path_, NoBang);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, path_ + ": there is a !");
  const auto missing = FollowedFile<std::string>::Open("/nowhere/at/all", NoBang);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "/nowhere/at/all cannot be read: No such file or directory");
}

}  // namespace
}  // namespace xec
