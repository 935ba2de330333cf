// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/local_output.hh"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "server/kinds/local_root.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class LocalOutputTest : public testing::Test {
 protected:
  LocalOutputTest() {
    std::string folder = testing::TempDir() + "local-output-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~LocalOutputTest() override { fs::remove_all(folder_); }

  std::string Path(const char* name) const { return folder_ + "/" + name; }

  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static Status WriteTo(const std::string& target, std::string_view text) {
    XEC_ASSIGN_OR_RETURN(LocalOutput output, LocalOutput::Open(target, "name"));
    XEC_TRY(output.Write(std::as_bytes(std::span(text))));
    return output.Finish();
  }

  size_t Entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(LocalOutputTest, AFileAppearsWhenItIsComplete) {
  std::ofstream(Path("file")) << "old";
  {
    Result<LocalOutput> output = LocalOutput::Open(Path("file"), "name");
    ASSERT_TRUE(output);
    ASSERT_TRUE(output->Write(std::as_bytes(std::span("half", 4))));
    EXPECT_EQ(Content(Path("file")), "old");
  }
  EXPECT_EQ(Entries(), 1u) << "the temporary is gone";
  ASSERT_TRUE(WriteTo(Path("file"), "new"));
  EXPECT_EQ(Content(Path("file")), "new");
  ASSERT_TRUE(WriteTo(folder_, "named"));
  EXPECT_EQ(Content(Path("name")), "named");
  EXPECT_EQ(Entries(), 2u);
}

// `xec get OBJECT /dev/null` of root made a file of the device.
TEST_F(LocalOutputTest, WhatIsNoFileIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  const UniqueFd reader(open(Path("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(WriteTo(Path("fifo"), "through"));
  EXPECT_TRUE(fs::is_fifo(Path("fifo")));
  std::array<char, 16> got{};
  EXPECT_EQ(read(reader.get(), got.data(), got.size()), 7);
  EXPECT_EQ(std::string(got.data()), "through");
  if (mknod(Path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    ASSERT_TRUE(WriteTo(Path("null"), "nowhere"));
    EXPECT_TRUE(fs::is_character_file(Path("null")));
  }
  EXPECT_LE(Entries(), 2u);
}

TEST_F(LocalOutputTest, LinksStayAndWhatTheyLeadToIsReplaced) {
  fs::create_directory(Path("folder"));
  std::ofstream(Path("folder/file")) << "old";
  fs::create_symlink("folder/file", Path("link"));
  ASSERT_TRUE(WriteTo(Path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Content(Path("folder/file")), "new");
  fs::create_symlink("none", Path("dangling"));
  const Status refused = WriteTo(Path("dangling"), "new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::kNotFound);
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
}

}  // namespace
}  // namespace xec
