// SPDX-License-Identifier: LGPL-3.0-or-later
// Stock tools on our archives: `unzip -t` and Python's zipfile must find every byte in order.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "archive/archive_test_support.hh"
#include "base/units.hh"
#include "codec/crc_combine.hh"

namespace xec {
namespace {

using namespace archive_testing;
namespace fs = std::filesystem;

class ArchiveTools : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "xec-archive-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path() const { return (folder_ / "archive").string(); }

  void Write(const Bytes& archive) const {
    std::ofstream out(Path(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(archive.data()), static_cast<std::streamsize>(archive.size()));
    ASSERT_TRUE(out.flush());
  }

  // Runs a shell command with its output in the test's; 0 is success.
  static int Run(const std::string& command) { return std::system(command.c_str()); }

  void ExpectGood(size_t members, size_t comment_size) const {
    EXPECT_EQ(Run("unzip -tq " + Path()), 0);
    EXPECT_EQ(Run("python3 -c 'import sys,zipfile\n"
                  "z = zipfile.ZipFile(sys.argv[1])\n"
                  "assert z.testzip() is None, z.testzip()\n"
                  "assert len(z.infolist()) == int(sys.argv[2]), len(z.infolist())\n"
                  "assert len(z.comment) == int(sys.argv[3]), len(z.comment)' " +
                  Path() + " " + std::to_string(members) + " " + std::to_string(comment_size)),
              0);
  }

  fs::path folder_;
};

TEST_F(ArchiveTools, AcceptOrdinaryArchives) {
  Write(BuildArchive({{{0, 1}, Pattern(8192, 1)}, {{1, 0}, Pattern(5000, 2)}, {{2, 2}, {}}}, "some text\n", 4096));
  ExpectGood(3, 10);
}

TEST_F(ArchiveTools, AcceptTheLargestManifestAndTable) {
  Write(BuildArchive({{{0, 0}, Pattern(4096 * 4096, 1)}}, std::string(32 * 1024, 'm'), 4096));
  ExpectGood(1, 32 * 1024);
}

TEST_F(ArchiveTools, PythonAcceptsArchivesWithoutMembers) {
  Write(BuildArchive({}, "text\n", 0));
  EXPECT_EQ(Run("python3 -c 'import sys,zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.comment == b\"text\\n\"; "
                "assert not z.infolist()' " + Path()),
            0);
}

TEST_F(ArchiveTools, NoticeADamagedByte) {
  Bytes archive = BuildArchive({{{0, 1}, Pattern(8192, 1)}}, "x\n", 4096);
  archive[1000] ^= std::byte{1};
  Write(archive);
  EXPECT_NE(Run("unzip -tq " + Path() + " >/dev/null 2>&1"), 0);
}

// Members of zeros are holes, so the archive of 4.3 GB takes a few KiB on the disk; the second half of the
// directory needs ZIP64. `unzip -t` and zipfile read all of it.
TEST_F(ArchiveTools, AcceptArchivesBeyond4GiB) {
  constexpr uint32_t kHole = 1u << 30;
  uint32_t hole_crc32 = Crc32(Bytes(kMiB));
  for (uint64_t size = kMiB; size < kHole; size *= 2) hole_crc32 = Crc32Combine(hole_crc32, hole_crc32, size);
  const std::vector<uint32_t> no_pages;
  std::FILE* file = std::fopen(Path().c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ArchiveWriter writer;
  Bytes headroom(LocalHeaderSizeMax(1));
  const auto add = [&](MemberName name, uint32_t size, uint32_t crc32) {
    const Result<PlacedHeader> placed = writer.LocalHeader({name, size, crc32, no_pages, 0}, headroom);
    ASSERT_TRUE(placed);
    ASSERT_EQ(fseeko(file, static_cast<off_t>(placed->archive_offset), SEEK_SET), 0);
    const ByteSpan header = ByteSpan(headroom).last(placed->size_bytes);
    ASSERT_EQ(std::fwrite(header.data(), 1, header.size(), file), header.size());
  };
  for (uint32_t stripe = 0; stripe < 4; ++stripe) add({stripe, 0}, kHole, hole_crc32);
  const Bytes last = Pattern(5000, 4);
  add({4, 0}, 5000, Crc32(last));
  std::fwrite(last.data(), 1, last.size(), file);
  add({5, 0}, 0, 0);
  const Result<Bytes> tail = writer.Finish("big\n");
  ASSERT_TRUE(tail);
  std::fwrite(tail->data(), 1, tail->size(), file);
  ASSERT_EQ(std::fclose(file), 0);
  ASSERT_GT(fs::file_size(Path()), uint64_t{1} << 32);

  const Result<TailOutcome> outcome = ParseArchiveTail(*tail, fs::file_size(Path()));
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ASSERT_TRUE(outcome->index);
  ASSERT_EQ(outcome->index->members.size(), 6u);
  EXPECT_EQ(outcome->index->members[4].data_offset, (uint64_t{1} << 32) + 5 * 37);
  ExpectGood(6, 4);
}

}  // namespace
}  // namespace xec
