// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/last_stats.hh"

#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

TEST(LastStatsTest, HttpGetsNoLengthOfAnotherVersion) {
  if (XrdVNUMBER >= 60000) GTEST_SKIP() << "XRootD 6 takes the size from the open";
  FakeStore store;
  Gateway gateway(store, kHardlyAny);
  Storage storage(gateway);
  XrdSecEntity web("http"), root("host");
  web.tident = "unknown.1:2@host";
  root.tident = "user.1:2@host";
  XrdOucEnv web_env("", 0, &web), root_env("", 0, &root);
  struct stat info;
  const auto open = [&](const char* path, XrdOucEnv& env) {
    const std::unique_ptr<XrdOssDF> file(storage.newFile(env.secEnv()->tident));
    return file->Open(path, O_RDONLY, 0, env);
  };
  store.Put("/a", "12345");
  store.Put("/b", "123");
  ASSERT_EQ(storage.Stat("/a", &info, 0, &web_env), 0);
  EXPECT_EQ(open("/a", web_env), 0);
  ASSERT_EQ(storage.Stat("/a", &info, 0, &web_env), 0);
  ASSERT_EQ(storage.Stat("/a", &info, 0, &root_env), 0);
  store.Put("/a", "longer than before");
  EXPECT_EQ(open("/a", root_env), 0);
  EXPECT_EQ(open("/a", web_env), -kRetryErrno);
  EXPECT_EQ(open("/a", web_env), 0);
  // Of the same length it is a whole version; of another name nothing was told.
  ASSERT_EQ(storage.Stat("/b", &info, 0, &web_env), 0);
  store.Put("/b", "abc");
  EXPECT_EQ(open("/b", web_env), 0);
  ASSERT_EQ(storage.Stat("/b", &info, 0, &web_env), 0);
  EXPECT_EQ(open("/a", web_env), 0);
}

TEST(LastStatsTest, AnHttpRemovalKnowsWhatItsStatFound) {
  FakeStore store;
  Gateway gateway(store, kHardlyAny);
  Storage storage(gateway);
  XrdSecEntity web("http");
  web.tident = "unknown.1:2@host";
  XrdOucEnv env("", 0, &web);
  struct stat info;
  const auto seen = [&](const char* looked_at, bool is_http) {
    store.Put("/a", "12345");
    EXPECT_EQ(storage.Stat(looked_at, &info, 0, &env), 0);
    const HttpRemovalOfThread of_thread(is_http);
    EXPECT_EQ(storage.Unlink("/a", 0, &env), 0);
    return store.removed_as_seen.has_value();
  };
  store.Put("/b", "123");
  EXPECT_TRUE(seen("/a", true));
  EXPECT_FALSE(seen("/b", true));
  // One of root:// that passes for one of HTTP has not begun with a stat.
  EXPECT_FALSE(seen("/a", false));
}

TEST(LastStatsTest, AVersionIsToldOnceAndSoon) {
  LastStats told;
  const TimePoint now{};
  ObjectInfo object;
  object.version.clock = 7;
  told.Tell("c", "/a", object, now);
  const std::optional<ObjectGone> just = told.ObjectJustTold("c", "/a", now + std::chrono::seconds(1));
  ASSERT_TRUE(just);
  EXPECT_EQ(just->version, object.version);
  EXPECT_EQ(just->size, object.size);
  EXPECT_FALSE(told.ObjectJustTold("c", "/a", now));
  told.Tell("c", "/a", object, now);
  EXPECT_FALSE(told.ObjectJustTold("c", "/a", now + std::chrono::milliseconds(1001)));
  ObjectInfo directory = object;
  directory.directory = true;
  told.Tell("c", "/a", directory, now);
  EXPECT_FALSE(told.ObjectJustTold("c", "/a", now));
  told.Tell("c", "/a", object, now);
  EXPECT_FALSE(told.ObjectJustTold("other", "/a", now));
}

// Users of X.509 with VOMS got no protection: XRootD calls their protocol "gsi" over HTTP too.
TEST(LastStatsTest, HttpIsToldByTheNumberInItsIdentity) {
  const auto is_http = [](const char* protocol, const char* tident, unsigned session) {
    XrdSecEntity user(protocol);
    user.tident = tident;
    user.ueid = session;
    XrdOucEnv env("", 0, &user);
    return IsHttp(&env);
  };
  EXPECT_TRUE(is_http("https", "alice.12:34@host", 12));
  EXPECT_TRUE(is_http("http", nullptr, 0));
  EXPECT_TRUE(is_http("gsi", "alice.12:34@host", 12));
  EXPECT_TRUE(is_http("gsi", "a.1.b.12:34@[::1]", 12));
  EXPECT_FALSE(is_http("gsi", "alice.4711:34@host", 12)) << "over root:// it is the client's process";
  EXPECT_FALSE(is_http("gsi", "alice.-4711:34@host", 12));
  for (const char* other : {"", "alice", "12", "@", ":", "alice:12@host", "alice.12@host:12"}) {
    EXPECT_FALSE(is_http("gsi", other, 12)) << other;
  }
  EXPECT_FALSE(is_http("gsi", nullptr, 12));
  EXPECT_FALSE(IsHttp(nullptr));
}

TEST(LastStatsTest, TheOldestClientIsForgotten) {
  LastStats told(2);
  ObjectInfo object;
  object.size = 1;
  for (const char* client : {"c1", "c2", "c3"}) told.Tell(client, "/a", object, {});
  EXPECT_FALSE(told.Contradicts("c1", "/a", 2));
  EXPECT_TRUE(told.Contradicts("c2", "/a", 2));
  EXPECT_TRUE(told.Contradicts("c3", "/a", 2));
  EXPECT_FALSE(told.Contradicts("c3", "/a", 2));
}

}  // namespace
}  // namespace xec
