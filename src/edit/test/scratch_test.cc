// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/scratch.hh"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class ScratchTest : public testing::Test {
 protected:
  ~ScratchTest() override { fs::remove_all(root_); }

  std::string Read(const ScratchFile& file, uint64_t offset, size_t size) {
    std::string bytes(size, '?');
    const Status read =
        SyncWait(file.Read(offset, std::as_writable_bytes(std::span(bytes.data(), bytes.size()))));
    EXPECT_TRUE(read) << read.error().message;
    return bytes;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "scratch_test";
  Scratch scratch_{(root_ / "a/b").string(), 100, /*block_bytes=*/1};
};

// Bug: only the bytes counted, so small changes far from each other took many times the limit on the disk.
TEST_F(ScratchTest, BlocksCount) {
  Scratch scratch((root_ / "blocks").string(), 4 * kScratchBlockBytes);
  const auto used = [&] { return scratch.used_bytes() / kScratchBlockBytes; };
  {
    ScratchFile file(scratch);
    const auto write = [&](uint64_t offset, size_t size) {
      return SyncWait(file.Write(offset, AsBytes(std::string(size, 'x')))).has_value();
    };
    EXPECT_TRUE(write(10 * kScratchBlockBytes + 100, 1));
    EXPECT_TRUE(write(10 * kScratchBlockBytes + 1000, 1));
    EXPECT_EQ(used(), 1u) << "both lie in one";
    EXPECT_TRUE(write(20 * kScratchBlockBytes - 1, 2));
    EXPECT_EQ(used(), 3u);
    EXPECT_FALSE(write(30 * kScratchBlockBytes - 1, 2));
    EXPECT_TRUE(write(30 * kScratchBlockBytes, kScratchBlockBytes));
    EXPECT_EQ(used(), 4u);
    SyncWait(file.Cut(20 * kScratchBlockBytes));
    EXPECT_EQ(used(), 2u);
    SyncWait(file.Cut(10 * kScratchBlockBytes + 50));
    EXPECT_TRUE(file.extents().empty());
    EXPECT_EQ(used(), 1u) << "the file still has it";
    SyncWait(file.Cut(0));
    EXPECT_EQ(used(), 0u);
    EXPECT_TRUE(write(0, 1));
  }
  EXPECT_EQ(scratch.used_bytes(), 0u);
}

TEST_F(ScratchTest, NamelessFilesThatShareTheLimit) {
  ScratchFile one(scratch_);
  EXPECT_FALSE(fs::exists(root_)) << "nothing is made before there are changes";
  ASSERT_TRUE(SyncWait(one.Write(1000, AsBytes("0123456789"))));
  ASSERT_TRUE(SyncWait(one.Write(1005, AsBytes("abcdefghij"))));
  EXPECT_EQ(scratch_.used_bytes(), 15u) << "what is overwritten counts once";
  EXPECT_EQ(Read(one, 1003, 5), "34abc");
  EXPECT_TRUE(fs::is_empty(root_ / "a/b"));
  {
    ScratchFile two(scratch_);
    EXPECT_TRUE(SyncWait(two.Write(0, AsBytes(std::string(85, 'x')))));
    const Status full = SyncWait(two.Write(50, AsBytes(std::string(36, 'y'))));
    EXPECT_EQ(full.code(), Code::kNoSpace);
    EXPECT_NE(full.error().message.find("a/b is full"), std::string::npos) << full.error().message;
    EXPECT_EQ(Read(two, 80, 5), "xxxxx") << "nothing is written then";
    EXPECT_EQ(scratch_.used_bytes(), 100u);
  }
  EXPECT_EQ(scratch_.used_bytes(), 15u);
  SyncWait(one.Cut(1004));
  EXPECT_EQ(scratch_.used_bytes(), 4u);
  EXPECT_EQ(Read(one, 1000, 4), "0123");
  SyncWait(one.Cut(0));
  EXPECT_EQ(scratch_.used_bytes(), 0u);
  ASSERT_TRUE(SyncWait(one.Write(0, AsBytes("again"))));
  EXPECT_EQ(Read(one, 0, 5), "again");
}

TEST_F(ScratchTest, AFolderThatCannotBeIsTold) {
  fs::create_directories(root_);
  std::ofstream(root_ / "a") << "a file";
  ScratchFile file(scratch_);
  const Status written = SyncWait(file.Write(0, AsBytes("x")));
  EXPECT_EQ(written.code(), Code::kUnavailable);
  EXPECT_NE(written.error().message.find("cannot use scratch in " + (root_ / "a/b").string()),
            std::string::npos)
      << written.error().message;
  EXPECT_EQ(scratch_.used_bytes(), 0u);
  EXPECT_EQ(SyncWait(file.Write(uint64_t{1} << 62, AsBytes("x"))).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace xec
