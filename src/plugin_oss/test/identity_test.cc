// SPDX-License-Identifier: LGPL-3.0-or-later
// Device and inode that the gateway shows: XrdHttp makes ETags of them, caches compare them.
#include <fcntl.h>
#include <set>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/file_status.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

// As XRootD tells it to clients: the lower half of each.
using Identity = std::pair<uint32_t, uint32_t>;

class IdentityTest : public testing::Test {
 protected:
  static Identity IdentityIn(const struct stat& info) {
    EXPECT_NE(info.st_dev, 0u);
    EXPECT_NE(static_cast<uint32_t>(info.st_dev), 0u);
    EXPECT_GT(static_cast<int64_t>(info.st_ino), 0);
    EXPECT_NE(static_cast<uint32_t>(info.st_ino), 0u);
    return {static_cast<uint32_t>(info.st_dev), static_cast<uint32_t>(info.st_ino)};
  }
  Identity Of(const char* path) { return OfIn(storage_, path); }
  Identity OfIn(Storage& storage, const char* path) {
    struct stat info = {};
    EXPECT_EQ(storage.Stat(path, &info, 0, &env_), 0) << path;
    return IdentityIn(info);
  }

  FakeStore store_;
  Gateway gateway_{store_, {}};
  Storage storage_{gateway_};
  XrdOucEnv env_;
};

TEST_F(IdentityTest, EachVersionHasItsOwn) {
  std::set<uint32_t> devices, inodes;
  constexpr size_t kVersions = 500;
  for (size_t i = 0; i < kVersions; ++i) {
    store_.Put("/a", "1");
    const Identity identity = Of("/a");
    devices.insert(identity.first);
    inodes.insert(identity.second);
  }
  // Each half alone differs as well: of so few hardly any two are alike.
  EXPECT_GE(devices.size(), kVersions - 1);
  EXPECT_GE(inodes.size(), kVersions - 1);
}

// In layout xrdec versions are seconds, which names share: clients take equal numbers for links to one file.
TEST_F(IdentityTest, NamesWithOneVersionDiffer) {
  store_.Put("/a", "1");
  store_.objects["/b"] = store_.objects["/a"];
  EXPECT_NE(Of("/a"), Of("/b"));
  store_.directories.insert("/d");
  EXPECT_NE(Of("/d"), Of("/"));
}

TEST_F(IdentityTest, AllGatewaysShowTheSame) {
  store_.Put("/a", "1");
  Gateway other(store_, {});
  Storage at_other(other);
  EXPECT_EQ(OfIn(at_other, "/a"), Of("/a"));
}

TEST_F(IdentityTest, OpenFilesAndListingsShowTheSame) {
  store_.Put("/a", "1");
  const Identity identity = Of("/a");
  const std::unique_ptr<XrdOssDF> file(storage_.newFile("user.1:2@host"));
  ASSERT_EQ(file->Open("/a", O_RDONLY, 0, env_), 0);
  struct stat info = {};
  ASSERT_EQ(file->Fstat(&info), 0);
  EXPECT_EQ(IdentityIn(info), identity);
  const std::unique_ptr<XrdOssDF> directory(storage_.newDir("user.1:2@host"));
  ASSERT_EQ(directory->Opendir("/", env_), 0);
  ASSERT_EQ(directory->StatRet(&info), 0);
  char name[16];
  ASSERT_EQ(directory->Readdir(name, sizeof(name)), 0);
  EXPECT_STREQ(name, "a");
  EXPECT_EQ(IdentityIn(info), identity);
  // It keeps its version while the name is replaced.
  store_.Put("/a", "2");
  ASSERT_EQ(file->Fstat(&info), 0);
  EXPECT_EQ(IdentityIn(info), identity);
  EXPECT_NE(Of("/a"), identity);
}

TEST_F(IdentityTest, TheSpellingOfANameDoesNotCount) {
  ObjectInfo info;
  info.version = Version{1, 1};
  struct stat one = {}, two = {}, other = {};
  FillStat(gateway_, "/a/b", info, &one);
  FillStat(gateway_, "//a///b", info, &two);
  FillStat(gateway_, "/ab", info, &other);
  EXPECT_EQ(IdentityIn(one), IdentityIn(two));
  EXPECT_NE(IdentityIn(one), IdentityIn(other));
}

}  // namespace
}  // namespace xec
