// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads that XRootD's HTTP third-party copy opens from inside the daemon.
#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"
#include "runtime/thread_pool.hh"

namespace xec {
namespace {

constexpr int kReplace = O_RDWR | O_CREAT | O_TRUNC;
constexpr int kNew = O_RDWR | O_CREAT | O_EXCL;
constexpr const char* kNoSize = "oss.asize=18446744073709551615";  // -1

class ThirdPartyTest : public testing::Test {
 protected:
  int Open(std::unique_ptr<XrdOssDF>& file, const char* client, const char* path, int flags,
           const char* cgi) {
    return Open(storage_, file, client, path, flags, cgi);
  }
  static int Open(Storage& storage, std::unique_ptr<XrdOssDF>& file, const char* client, const char* path,
                  int flags, const char* cgi) {
    XrdOucEnv env(cgi);
    file.reset(storage.newFile(client));
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

// XRootD takes "ask again" for a failure, and all that came without a name shared the short wait of one
// client.
TEST_F(ThirdPartyTest, ACopyWaitsForItsMemoryBesideOthers) {
  for (const char* user : {"", "alice"}) {
    ThreadPool pool("later", 1);
    Gateway gateway(store_, {.alone = std::chrono::hours(1), .beside_others = std::chrono::milliseconds(1)});
    Storage storage(gateway);
    std::unique_ptr<XrdOssDF> first, second;
    store_.memory_short = false;
    EXPECT_EQ(Open(storage, first, user, "/a", kReplace, "oss.asize=1"), 0);
    store_.memory_short = true;
    store_.on_waiting = [&] {
      pool.RunAt(pool.Now() + std::chrono::milliseconds(100), [this] { store_.waiting.back()(true); });
    };
    EXPECT_EQ(Open(storage, second, user, "/b", kReplace, "oss.asize=1"), 0);
    EXPECT_EQ(WriteAndClose(*second, "b"), 0);
    EXPECT_EQ(WriteAndClose(*first, "a"), 0);
  }
  EXPECT_EQ(store_.objects["/a"].bytes + store_.objects["/b"].bytes, "ab");
}

TEST_F(ThirdPartyTest, WithoutMemoryACopyFailsAndLeavesTheLine) {
  store_.memory_short = true;
  for (size_t copies = 1; copies <= 2; ++copies) {
    EXPECT_EQ(Open(file_, "", "/a", kReplace, "oss.asize=1"), -kRetryErrno);
    EXPECT_EQ(store_.waiting.size(), copies) << "nobody else's place";
    EXPECT_EQ(gateway_.upload_line().size(), 0u);
  }
  for (auto& give : store_.waiting) give(true);
  EXPECT_EQ(store_.writers_alive, 0);
  store_.memory_short = false;
  store_.reserve_fails = Code::kInvalidArgument;
  EXPECT_EQ(Open(file_, "", "/a", kReplace, "oss.asize=1"), -EINVAL);
  store_.reserve_fails.reset();
  EXPECT_EQ(Open(file_, "", "/a", kReplace, "oss.asize=1"), 0);
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
