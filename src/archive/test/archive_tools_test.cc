// SPDX-License-Identifier: LGPL-3.0-or-later
// Stock tools on our archives: `unzip -t` and Python's zipfile must find every byte in order.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdlib.h>

#include <gtest/gtest.h>

#include "archive/test/archive_test_support.hh"
#include "base/units.hh"

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

  // unzip reads every member; Python those from number `python_from` on.
  void ExpectGood(size_t members, size_t comment_size, size_t python_from = 0) const {
    EXPECT_EQ(Run("unzip -tq " + Path()), 0);
    EXPECT_EQ(Run("python3 -c 'import sys,zipfile\n"
                  "z = zipfile.ZipFile(sys.argv[1])\n"
                  "for info in z.infolist()[int(sys.argv[4]):]: z.read(info)\n"
                  "assert len(z.infolist()) == int(sys.argv[2]), len(z.infolist())\n"
                  "assert len(z.comment) == int(sys.argv[3]), len(z.comment)' " +
                  Path() + " " + std::to_string(members) + " " + std::to_string(comment_size) + " " +
                  std::to_string(python_from)),
              0);
  }

  // XrdCl's ZipArchive, with which XrdEc reads archives, through xrdcp.
  void ExpectStockClientReads(const std::string& member, const Bytes& data) const {
    const std::string copy = (folder_ / "copy").string();
    ASSERT_EQ(Run("timeout 60 xrdcp -s -f --zip " + member + " file://" + Path() + " " + copy), 0) << member;
    std::ifstream in(copy, std::ios::binary);
    EXPECT_EQ(ToBytes(std::string(std::istreambuf_iterator<char>(in), {})), data) << member;
  }

  fs::path folder_;
};

TEST_F(ArchiveTools, AcceptOrdinaryArchives) {
  Write(BuildArchive({{{0, 1}, Pattern(8192, 1)}, {{1, 0}, Pattern(5000, 2)}, {{2, 2}, {}}}, "some text\n",
                     4096));
  ExpectGood(3, 10);
}

TEST_F(ArchiveTools, AcceptTheLargestManifestAndTable) {
  Write(BuildArchive({{{0, 0}, Pattern(4096 * 4096, 1)}}, std::string(32 * 1024, 'm'), 4096));
  ExpectGood(1, 32 * 1024);
}

TEST_F(ArchiveTools, PythonAcceptsArchivesWithoutMembers) {
  Write(BuildArchive({}, "text\n", 0));
  EXPECT_EQ(Run("python3 -c 'import sys,zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.comment == "
                "b\"text\\n\"; "
                "assert not z.infolist()' " +
                Path()),
            0);
}

TEST_F(ArchiveTools, NoticeADamagedByte) {
  Bytes archive = BuildArchive({{{0, 1}, Pattern(8192, 1)}}, "x\n", 4096);
  archive[1000] ^= std::byte{1};
  Write(archive);
  EXPECT_NE(Run("unzip -tq " + Path() + " >/dev/null 2>&1"), 0);
}

// An archive whose large members are zeros: holes on the disk.
class SparseArchive {
 public:
  explicit SparseArchive(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {}

  void AddHole(MemberName name, uint32_t size, uint32_t crc32 = 0) { AddHeader(name, size, crc32); }
  void Add(MemberName name, const Bytes& data) {
    AddHeader(name, static_cast<uint32_t>(data.size()), Crc32(data));
    if (!data.empty()) std::fwrite(data.data(), 1, data.size(), file_);
  }
  uint64_t next_offset() const { return writer_.next_offset(); }

  // The bytes after the last member.
  Bytes Finish(std::string_view manifest) {
    const Result<Bytes> tail = writer_.Finish(manifest);
    EXPECT_TRUE(tail);
    EXPECT_EQ(fseeko(file_, static_cast<off_t>(writer_.next_offset()), SEEK_SET), 0);
    std::fwrite(tail->data(), 1, tail->size(), file_);
    EXPECT_EQ(std::fclose(file_), 0);
    return *tail;
  }

 private:
  void AddHeader(MemberName name, uint32_t size, uint32_t crc32) {
    Bytes headroom(LocalHeaderSizeMax(0));
    const Result<PlacedHeader> placed = writer_.LocalHeader({name, size, crc32, {}, 0}, headroom);
    ASSERT_TRUE(placed);
    ASSERT_EQ(fseeko(file_, static_cast<off_t>(placed->archive_offset), SEEK_SET), 0);
    const ByteSpan header = ByteSpan(headroom).last(placed->size_bytes);
    ASSERT_EQ(std::fwrite(header.data(), 1, header.size(), file_), header.size());
  }

  std::FILE* file_;
  ArchiveWriter writer_;
};

// The archive of 4.3 GB takes a few KiB on the disk; the end of its directory needs ZIP64. `unzip -t` and
// zipfile accept it; unzip reads all of it.
TEST_F(ArchiveTools, AcceptArchivesBeyond4GiB) {
  constexpr uint32_t kHole = 1u << 30;
  const Bytes zeros(kMiB);
  uint32_t hole_crc32 = Crc32({});
  for (uint64_t size = 0; size < kHole; size += kMiB) hole_crc32 = Crc32(zeros, hole_crc32);
  SparseArchive archive(Path());
  for (uint32_t stripe = 0; stripe < 4; ++stripe) archive.AddHole({stripe, 0}, kHole, hole_crc32);
  const Bytes last = Pattern(5000, 4);
  archive.Add({4, 0}, last);
  archive.Add({5, 0}, {});
  const Bytes tail = archive.Finish("big\n");
  ASSERT_GT(fs::file_size(Path()), uint64_t{1} << 32);

  const Result<TailOutcome> outcome = ParseArchiveTail(tail, fs::file_size(Path()));
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  ASSERT_TRUE(outcome->index);
  ASSERT_EQ(outcome->index->members.size(), 6u);
  EXPECT_EQ(outcome->index->members[4].data_offset, (uint64_t{1} << 32) + 5 * 37);
  ExpectGood(6, 4, 4);
  ExpectStockClientReads("obj.4.0", last);
}

TEST_F(ArchiveTools, StockClientReadsOrdinaryArchives) {
  const Bytes first = Pattern(8192, 1);
  const Bytes second = Pattern(100000, 2);
  Write(BuildArchive({{{0, 1}, first}, {{1, 0}, second}, {{2, 2}, {}}}, std::string(32 * 1024, 'm'), 4096));
  ExpectStockClientReads("obj.0.1", first);
  ExpectStockClientReads("obj.1.0", second);
  ExpectStockClientReads("obj.2.2", {});
}

// INV-2 of ArchiveWriter: without its fillers the stock client takes the middle of these end records for
// their beginning.
TEST_F(ArchiveTools, StockClientReadsArchivesWhoseOffsetsSpellSignatures) {
  const Bytes data = Pattern(1000, 3);
  {
    SparseArchive archive(Path());
    archive.Add({0, 0}, data);
    archive.AddHole({1, 0}, static_cast<uint32_t>(kEndSignature - archive.next_offset() - 37));
    archive.Finish("m\n");
    ExpectStockClientReads("obj.0.0", data);
  }
  SparseArchive archive(Path());
  archive.Add({0, 0}, data);
  archive.AddHole({1, 0}, 0x4b501234);
  archive.Finish(std::string(0x0605, 'm'));
  ExpectStockClientReads("obj.0.0", data);
}

}  // namespace
}  // namespace xec
