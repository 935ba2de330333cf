// SPDX-License-Identifier: LGPL-3.0-or-later
// NameSync on stock servers: what is on the disk when a rename or a new directory is answered. That it is
// there after a power cut is for test_power_loss.py to show.
#include <filesystem>
#include <set>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

class NameSyncTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  }

  CallContext Soon() { return CallContext{&pool_, pool_.Now() + std::chrono::seconds(20)}; }

  DataServerPtr Connect(const XrootdProcess& process) {
    auto server = MakeXrootdServer({.url = process.url(), .executor = &pool_, .sync_names = true});
    XEC_CHECK(server.has_value());
    return *server;
  }

  Status Make(const DataServerPtr& server, const std::string& path) {
    return SyncWait(MakeDirectory(Soon(), server, path));
  }

  ThreadPool pool_{"synctest", 4};
};

TEST_F(NameSyncTest, EachChangeOfANameIsFollowedByASync) {
  XrootdProcess process({.trace = true});
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(SyncWait(CreateFile(Soon(), server, "/d/s", "x", false)));
  EXPECT_EQ(process.RequestCount("sync"), 0);
  ASSERT_TRUE(SyncWait(Rename(Soon(), server, "/d/s", "/d/p")));
  EXPECT_EQ(process.RequestCount("sync"), 1);
  EXPECT_EQ(process.RequestCount("open"), 2);
  ASSERT_TRUE(Make(server, "/d/t"));
  ASSERT_TRUE(Make(server, "/d/t"));  // may be somebody else's, just made
  EXPECT_EQ(process.RequestCount("sync"), 3);
  EXPECT_EQ(process.RequestCount("write"), 4);
  EXPECT_EQ(process.RequestCount("open"), 2);
  // What failed needs none.
  EXPECT_EQ(SyncWait(Rename(Soon(), server, "/d/s", "/d/q")).code(), Code::kNotFound);
  EXPECT_EQ(process.RequestCount("sync"), 3);
  EXPECT_TRUE(std::filesystem::is_empty(process.data_directory() + "/.xec"));
}

TEST_F(NameSyncTest, ThoseWhoWaitAtTheSameTimeShareASync) {
  XrootdProcess process({.trace = true});
  const DataServerPtr server = Connect(process);
  constexpr int kChanges = 100;
  TaskScope scope;
  int made = 0;
  std::mutex mutex;
  for (int i = 0; i < kChanges; ++i) {
    auto make = [](CallContext context, DataServerPtr to, std::string path, std::mutex& lock,
                   int& count) -> Task<void> {
      const Status status = co_await MakeDirectory(context, to, std::move(path));
      std::lock_guard held(lock);
      count += status ? 1 : 0;
    };
    scope.Spawn(make(Soon(), server, fmt::format("/d/{}", i), mutex, made));
  }
  scope.Drain();
  EXPECT_EQ(made, kChanges);
  EXPECT_GE(process.RequestCount("sync"), 1);
  EXPECT_LT(process.RequestCount("sync"), kChanges);
}

TEST_F(NameSyncTest, AServerThatWasRestartedIsSyncedAgain) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  ASSERT_TRUE(Make(server, "/a"));
  process.Kill();
  EXPECT_EQ(Make(server, "/b").code(), Code::kUnavailable);
  process.Start();
  // The first one may find that the file is gone with the connection.
  const bool at_once = Make(server, "/b").has_value();
  EXPECT_TRUE(at_once || Make(server, "/b"));
  EXPECT_TRUE(std::filesystem::exists(process.data_directory() + "/b"));
}

// Found by a program that was killed at its fail points: an empty file stayed for ever.
TEST_F(NameSyncTest, NamesThatSomebodyDiedOverAreRemovedByWhoComesLater) {
  XrootdProcess process;
  const auto put = [&](const std::string& name, std::chrono::minutes age) {
    const DataServerPtr server = Connect(process);
    ASSERT_TRUE(SyncWait(CreateFile(Soon(), server, "/.xec/" + name, "", false)));
    const std::string file = process.data_directory() + "/.xec/" + name;
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - age);
  };
  put("sync.0123456789abcdef", std::chrono::minutes(62));
  put("sync.fedcba9876543210", std::chrono::hours(1000));
  put("sync.0000000000000000", std::chrono::minutes(58));  // its maker may be about to remove it
  put("store", std::chrono::hours(1000));
  put("sync.of-somebody-else", std::chrono::hours(1000));
  ASSERT_TRUE(Make(Connect(process), "/a"));
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(process.data_directory() + "/.xec"))
    left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"store", "sync.0000000000000000", "sync.of-somebody-else"}));
}

TEST_F(NameSyncTest, WhereNothingCanBeSyncedNothingIsPromised) {
  XrootdProcess process;
  std::filesystem::create_directory(process.data_directory() + "/.xec");  // root's
  const DataServerPtr server = Connect(process);
  const Status made = Make(server, "/a");
  // Not the error of who could not: it has happened.
  EXPECT_EQ(made.code(), Code::kUnknown);
  EXPECT_TRUE(std::filesystem::exists(process.data_directory() + "/a"));
}

}  // namespace
}  // namespace xec
