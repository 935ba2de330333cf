// SPDX-License-Identifier: LGPL-3.0-or-later
// Names on stock servers: what is refused, and what the long ones cost. The suite of all servers has the
// rest.
#include <filesystem>

#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server_xrootd/xrootd_server.hh"

namespace xec {
namespace {

class XrootdNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NoServersReason()->empty()) GTEST_SKIP() << *NoServersReason();
  }

  CallContext Soon() { return CallContext{&pool_, pool_.Now() + std::chrono::seconds(20)}; }

  DataServerPtr Connect(const XrootdProcess& process) {
    auto server = MakeXrootdServer({.url = process.url(), .executor = &pool_});
    XEC_CHECK(server.has_value());
    return *server;
  }

  Status Put(const DataServerPtr& server, const std::string& path, const std::string& content) {
    return SyncWait(CreateFile(Soon(), server, path, content, false));
  }

  ThreadPool pool_{"namestest", 4};
};

TEST_F(XrootdNamesTest, NamesTheProtocolCannotCarryAreRefused) {
  XrootdProcess process;
  const DataServerPtr server = Connect(process);
  for (const char* path : {"/a?b", "/d?x/f", "/a\nb", "/a/../b", "relative"}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(Put(server, path, "x").code(), Code::kInvalidArgument);
    EXPECT_EQ(SyncWait(List(Soon(), server, path)).code(), Code::kInvalidArgument);
    EXPECT_EQ(SyncWait(Remove(Soon(), server, path)).code(), Code::kInvalidArgument);
    EXPECT_EQ(SyncWait(Rename(Soon(), server, "/ok", path)).code(), Code::kInvalidArgument);
    EXPECT_EQ(SyncWait(Rename(Soon(), server, path, "/ok")).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(Put(server, "/" + std::string(kXrootdNameBytesMax + 1, 'n'), "x").code(), Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(process.data_directory()));
}

// Stock servers send 254 bytes of a name.
TEST_F(XrootdNamesTest, OnlyNamesThatMayBeCutCostRequests) {
  XrootdProcess process({.trace = true});
  const DataServerPtr server = Connect(process);
  const auto expect = [&](const std::string& folder, const std::string& name, int least, int most) {
    SCOPED_TRACE(folder);
    ASSERT_TRUE(Put(server, folder + "/" + name, "x"));
    const int before = process.RequestCount("stat");
    const auto listed = SyncWait(List(Soon(), server, folder));
    ASSERT_TRUE(listed) << listed.error().message;
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(listed->front().name, name);
    const int asked = process.RequestCount("stat") - before;
    EXPECT_GE(asked, least);
    EXPECT_LE(asked, most);
  };
  expect("/short", std::string(253, 's'), 0, 0);
  expect("/whole", std::string(254, 'w'), 1, 1);
  expect("/object", std::string(251, 'n') + ".~xo", 2, 2);
  expect("/any", std::string(254, 'a') + "\xfe", 200, 253);
  EXPECT_EQ(process.RequestCount("dirlist"), 4);
}

}  // namespace
}  // namespace xec
