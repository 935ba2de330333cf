// SPDX-License-Identifier: LGPL-3.0-or-later
// What a process was uploading when it was killed stands in nobody's way once another one has begun.
#include <filesystem>

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "assembly/open_store.hh"
#include "assembly/store_process.hh"
#include "commit/engine/pause.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class LeftUploadsTest : public testing::Test {
 protected:
  LeftUploadsTest() { fs::remove_all(root_); }
  ~LeftUploadsTest() override { fs::remove_all(root_); }

  std::unique_ptr<OpenedStore> Open() {
    Configuration c;
    for (int i = 1; i <= 3; ++i)
      EXPECT_TRUE(SetOption(c, "data", (root_ / fmt::format("d{}", i)).string(), "test"));
    EXPECT_TRUE(SetOption(c, "geometry", "2+1", "test"));
    EXPECT_TRUE(SetOption(c, "scratch", (root_ / "scratch").string(), "test"));
    auto opened = OpenStore(std::move(c), {.create_if_new = true, .background = true});
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  // More than a stripe, so that there are archives.
  std::unique_ptr<WriteHandle> Begin(OpenedStore& store) {
    CreateOptions options;
    options.write.only_if = OnlyIf::Absent();
    auto writer = SyncWait(store.store().Create("/a", std::move(options)));
    EXPECT_TRUE(writer);
    const std::string bytes(5 << 20, 'x');
    EXPECT_TRUE(SyncWait((*writer)->Append(AsBytes(bytes))));
    return std::move(*writer);
  }

  // The file in which the process notes them, as it would be left: nobody has a lock on the copy.
  void CopyNotes() {
    for (const auto& entry : fs::directory_iterator(root_ / "scratch/uploads")) {
      const std::string name = entry.path().filename();
      fs::copy_file(entry, entry.path().parent_path() / (name.substr(0, name.find('.')) + ".copy"));
      return;
    }
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "left_uploads_test";
};

TEST_F(LeftUploadsTest, AreGivenUpByTheNextProcess) {
  const auto killed = Open();
  const auto upload = Begin(*killed);
  CopyNotes();
  ASSERT_TRUE(fs::exists(root_ / "scratch/uploads"));
  const auto next = Open();
  const auto archives = [&] {
    size_t count = 0;
    for (int i = 1; i <= 3; ++i) {
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(root_ / fmt::format("d{}/a.~xo", i), none))
        count += entry.path().filename().string().starts_with("e.");
    }
    return count;
  };
  for (int tries = 0; tries < 6000 && archives() > 0; ++tries)
    SyncWait(Pause(*EngineOf(*next), std::chrono::milliseconds(5)));
  EXPECT_EQ(archives(), 0u);
  EXPECT_FALSE(SyncWait(upload->Commit()));
  const auto other = Begin(*next);
  EXPECT_TRUE(SyncWait(other->Commit()));
}

}  // namespace
}  // namespace xec
