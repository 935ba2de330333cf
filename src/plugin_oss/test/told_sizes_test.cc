// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/told_sizes.hh"

#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

TEST(ToldSizesTest, HttpGetsNoLengthOfAnotherVersion) {
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

// Users of X.509 with VOMS got no protection: XRootD calls their protocol "gsi" over HTTP too.
TEST(ToldSizesTest, HttpIsToldByTheNumberInItsIdentity) {
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

TEST(ToldSizesTest, TheOldestClientIsForgotten) {
  ToldSizes told(2);
  told.Tell("c1", "/a", 1);
  told.Tell("c2", "/a", 1);
  told.Tell("c3", "/a", 1);
  EXPECT_FALSE(told.Contradicts("c1", "/a", 2));
  EXPECT_TRUE(told.Contradicts("c2", "/a", 2));
  EXPECT_TRUE(told.Contradicts("c3", "/a", 2));
  EXPECT_FALSE(told.Contradicts("c3", "/a", 2));
}

}  // namespace
}  // namespace xec
