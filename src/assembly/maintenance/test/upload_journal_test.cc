// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/upload_journal.hh"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr const char* kStore = "00112233445566778899aabbccddeeff";

class UploadJournalTest : public testing::Test {
 protected:
  UploadJournalTest() { fs::remove_all(folder_); }
  ~UploadJournalTest() override { fs::remove_all(folder_); }

  static ObjectPath Path(const char* text) { return *ObjectPath::Parse(text); }

  // A file that nobody holds, as a killed process leaves it.
  fs::path Leave(const std::string& text, const std::string& store = kStore) {
    fs::create_directories(folder_);
    const fs::path file = folder_ / (store + ".0123456789abcdef");
    std::ofstream(file) << text;
    return file;
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder_, none)) files.push_back(entry.path());
    return files;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "upload_journal_test";
};

TEST_F(UploadJournalTest, WhatHasNotEndedIsOpen) {
  EXPECT_THAT(ParseUploadJournal("+01 /a b\n+02 /c\n-01\n+03 /d\n"),
              ElementsAre(Pair("02", "/c"), Pair("03", "/d")));
  EXPECT_THAT(ParseUploadJournal("+01\n+\n-\n\nnonsense\n-07\n+05 /e"), ElementsAre(Pair("05", "/e")));
  EXPECT_THAT(ParseUploadJournal(""), IsEmpty());
}

TEST_F(UploadJournalTest, WhatAKilledProcessLeftIsTakenOnce) {
  const fs::path file = Leave("+01 /a\n+02 /b\n-01\n");
  UploadJournal one(folder_, kStore), other(folder_, kStore);
  auto left = SyncWait(one.TakeLeft());
  ASSERT_TRUE(left);
  EXPECT_THAT(left->uploads, ElementsAre(Pair("02", "/b")));
  EXPECT_FALSE(SyncWait(other.TakeLeft())) << "two processes give up the same uploads";
  SyncWait(one.Remove(std::move(*left)));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(SyncWait(other.TakeLeft()));
}

TEST_F(UploadJournalTest, AProcessThatLivesKeepsItsUploads) {
  UploadJournal lives(folder_, kStore), other(folder_, kStore);
  lives.Begun(Path("/a"), "01");
  EXPECT_FALSE(SyncWait(lives.TakeLeft()));  // which runs after what was posted before
  ASSERT_THAT(Files(), SizeIs(1));
  EXPECT_FALSE(SyncWait(other.TakeLeft())) << "an upload that is under way is given up";
}

TEST_F(UploadJournalTest, UploadsOfAnotherStoreAreNotTaken) {
  Leave("+01 /a\n", "ffeeddccbbaa99887766554433221100");
  UploadJournal journal(folder_, kStore);
  EXPECT_FALSE(SyncWait(journal.TakeLeft()));
}

TEST_F(UploadJournalTest, ThePartOfAFileThatIsOverIsDropped) {
  {
    UploadJournal journal(folder_, kStore);
    journal.Begun(Path("/stays"), "ff");
    for (int i = 0; i < 40'000; ++i) {
      journal.Begun(Path("/a/name/of/some/length/such/as/people/give"), "01");
      journal.Ended("01");
      if (i % 1000 == 0) (void)SyncWait(journal.TakeLeft());  // lets the disk catch up
    }
    (void)SyncWait(journal.TakeLeft());
    ASSERT_THAT(Files(), SizeIs(1));
    EXPECT_LE(fs::file_size(Files()[0]), UploadJournal::kFileBytes + 3 * kPathBytesMax);
  }
  UploadJournal next(folder_, kStore);
  const auto left = SyncWait(next.TakeLeft());
  ASSERT_TRUE(left);
  EXPECT_THAT(left->uploads, ElementsAre(Pair("ff", "/stays")));
}

TEST_F(UploadJournalTest, AProcessThatEndsInPeaceLeavesNothing) {
  {
    UploadJournal journal(folder_, kStore);
    journal.Begun(Path("/a"), "01");
    journal.Ended("01");
  }
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(UploadJournalTest, AFolderThatCannotBeMadeHarmsNobody) {
  std::ofstream(folder_) << "a file";
  UploadJournal journal(folder_, kStore);
  journal.Begun(Path("/a"), "01");
  journal.Ended("01");
  EXPECT_FALSE(SyncWait(journal.TakeLeft()));
}

}  // namespace
}  // namespace xec
