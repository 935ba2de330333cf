// SPDX-License-Identifier: LGPL-3.0-or-later
// Looks at directories whose disks hang.
#include "assembly/sites/directory_look.hh"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>

#include <gtest/gtest.h>

#include "assembly/sites/sites.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/kinds/missing_server.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TEST(DirectoryLookTest, ShowsWhatTheSystemSays) {
  ThreadPool pool("test", 1);
  const auto ask = [&](const std::string& path) {
    DirectoryLook look(path);
    const Result<ShownDirectory> seen = SyncWait(look.Ask({&pool, pool.Now() + 30s}));
    EXPECT_TRUE(seen);
    return seen ? *seen : ShownDirectory{};
  };
  const fs::path place = fs::path(testing::TempDir()) / "directory_look";
  fs::remove_all(place);
  EXPECT_EQ(ask(place).error, ENOENT);
  fs::create_directory(place);
  EXPECT_EQ(ask(place).error, 0);
  EXPECT_TRUE(ask(place).directory);
  EXPECT_EQ(ask(place).unreadable, 0);
  EXPECT_EQ(ask(place).unwritable, 0);
  EXPECT_EQ(ask(place).inode, ask(place / ".." / "directory_look").inode);
  EXPECT_NE(ask(place).inode, ask(place / "..").inode);
  std::ofstream(place / "file") << "x";
  EXPECT_FALSE(ask(place / "file").directory);
  EXPECT_EQ(ask(place / "file" / "below").error, ENOTDIR);
  fs::remove_all(place);
}

// A directory whose disk hung kept the opener of a store waiting for ever.
TEST(DirectoryLookTest, OneThatHangsIsMissingAndIsNotAskedAgainMeanwhile) {
  ThreadPool pool("test", 1);
  std::promise<void> disk;
  const auto looks = std::make_shared<std::atomic<int>>(0);
  SiteView site;
  site.site.address = "/hangs";
  site.server = MakeMissingServer("/hangs", pool);
  site.directory = true;
  site.look = std::make_shared<DirectoryLook>("/hangs", [looks, answers = disk.get_future().share()] {
    ++*looks;
    answers.wait();
    ShownDirectory seen;
    seen.error = ENOENT;
    return seen;
  });
  const auto inspect = [&](Duration patience) {
    return SyncWait(InspectSite({&pool, pool.Now() + patience}, site));
  };
  for (const Duration patience : {Duration(10ms), Duration(1h), Duration(1h)}) {
    const SiteView view = inspect(patience);
    EXPECT_EQ(view.state, SiteView::kMissing);
    EXPECT_FALSE(view.absent) << "who does not answer may be anything";
    ASSERT_TRUE(view.problem);
    EXPECT_EQ(view.problem->message, "the directory /hangs does not answer");
    EXPECT_EQ(looks->load(), 1);
  }
  disk.set_value();
  // The first look ends on its own thread.
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!inspect(1h).absent) ASSERT_LT(std::chrono::steady_clock::now(), until);
  EXPECT_EQ(looks->load(), 2);
}

}  // namespace
}  // namespace xec
