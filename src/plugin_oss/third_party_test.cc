// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads that XRootD's HTTP third-party copy opens from inside the daemon.
#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/fake_store.hh"
#include "plugin_oss/storage.hh"

namespace xec {
namespace {

constexpr int kReplace = O_RDWR | O_CREAT | O_TRUNC;
constexpr int kNew = O_RDWR | O_CREAT | O_EXCL;
constexpr const char* kNoSize = "oss.asize=18446744073709551615";  // -1

class ThirdPartyTest : public testing::Test {
 protected:
  int Open(std::unique_ptr<XrdOssDF>& file, const char* client, const char* path, int flags,
           const char* cgi) {
    XrdOucEnv env(cgi);
    file.reset(storage_.newFile(client));
    return file->Open(path, flags, 0644, env);
  }
  // XRootD's sequence for what is closed as if it were whole.
  static int WriteAndClose(XrdOssDF& file, const std::string& bytes) {
    EXPECT_EQ(file.Fchmod(0644 | 01000), 0);
    if (!bytes.empty()) {
      EXPECT_EQ(file.Write(bytes.data(), 0, bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    EXPECT_EQ(file.Fchmod(0644), 0);
    return file.Close(nullptr);
  }

  FakeStore store_;
  Gateway gateway_{store_, kHardlyAny};
  Storage storage_{gateway_};
  std::unique_ptr<XrdOssDF> file_;
};

// XRootD 5 closes a copy as if it were whole also when its source said "not found" or broke off: the object
// was replaced by an empty or a cut-off one.
TEST_F(ThirdPartyTest, ACopyNeedsTheSizeOfItsSource) {
  store_.Put("/a", "old");
  for (const char* user : {"", "alice", "alice@cern.ch", "/DC=org/CN=Alice: a user", "x:y@z"}) {
    SCOPED_TRACE(user);
    for (const char* cgi : {"", kNoSize, "oss.asize=9223372036854775808", "oss.asize=none", "x=1"}) {
      EXPECT_EQ(Open(file_, user, "/a", kReplace, cgi), -ENOTSUP) << cgi;
      EXPECT_EQ(Open(file_, user, "/new", kNew, cgi), -ENOTSUP) << cgi;
    }
    EXPECT_EQ(Open(file_, user, "/a", kReplace, "oss.asize=4"), 0);
    EXPECT_EQ(WriteAndClose(*file_, "ne"), -EINVAL);
    EXPECT_EQ(store_.objects["/a"].bytes, "old");
    EXPECT_EQ(Open(file_, user, "/whole", kReplace, "oss.asize=4"), 0);
    EXPECT_EQ(WriteAndClose(*file_, "four"), 0);
    EXPECT_EQ(Open(file_, user, "/empty", kReplace, "oss.asize=0"), 0);
    EXPECT_EQ(WriteAndClose(*file_, ""), 0);
  }
  EXPECT_FALSE(store_.objects.contains("/new"));
  EXPECT_EQ(Open(file_, "", "/a", O_RDONLY, ""), 0) << "a copy to elsewhere";
}

TEST_F(ThirdPartyTest, ClientsNeedNotTellASize) {
  for (const char* connection : {"user.1:2@host", "unknown.12:34@[::1]", "a@b.1:2@host", ":34@host"}) {
    for (const char* cgi : {"", kNoSize, "oss.asize=1"}) {
      EXPECT_EQ(Open(file_, connection, "/b", kReplace, cgi), 0) << connection << " " << cgi;
      EXPECT_EQ(WriteAndClose(*file_, "x"), 0) << connection << " " << cgi;
    }
  }
}

}  // namespace
}  // namespace xec
