// SPDX-License-Identifier: LGPL-3.0-or-later
// What clients are used to of stock xrootd, and what the gateway offers.
#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/attributes.hh"
#include "plugin_oss/checksums.hh"
#include "plugin_oss/directory.hh"
#include "plugin_oss/read_file.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

class AsStockTest : public testing::Test {
 protected:
  explicit AsStockTest(std::string offered = "/") : gateway_(store_, kHardlyAny, {}, std::move(offered)) {}

  FakeStore store_;
  Gateway gateway_;
  Storage storage_{gateway_};
  XrdOucEnv env_;
};

// Clients that remove trees remove directories like files.
TEST_F(AsStockTest, ARemovalTakesAnEmptyDirectory) {
  store_.directories.insert("/d");
  store_.Put("/a", "1");
  EXPECT_EQ(storage_.Unlink("/d", 0, &env_),
            -ENOTEMPTY);  // for the fake, nothing is empty while an object is
  store_.objects.clear();
  EXPECT_EQ(storage_.Unlink("/d", 0, &env_), 0);
  EXPECT_EQ(storage_.Unlink("/d", 0, &env_), -ENOENT);
}

TEST_F(AsStockTest, ADirectoryThatExistsIsAsGoodAsMadeWithParents) {
  store_.directories.insert("/d");
  store_.Put("/a", "1");
  EXPECT_EQ(storage_.Mkdir("/d", 0755, 0, &env_), -EEXIST);
  EXPECT_EQ(storage_.Mkdir("/d", 0755, 1, &env_), 0);
  EXPECT_EQ(storage_.Mkdir("/a", 0755, 1, &env_), -EEXIST);
}

TEST_F(AsStockTest, ATruncateToThePresentSizeChangesNothingAndIsFine) {
  store_.Put("/a", "123");
  store_.directories.insert("/d");
  EXPECT_EQ(storage_.Truncate("/a", 3, &env_), 0);
  EXPECT_EQ(store_.commits, 0);
  EXPECT_EQ(storage_.Truncate("/a", 2, &env_), 0);
  EXPECT_EQ(storage_.Truncate("/a", 4, &env_), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, std::string("12\0\0", 4));
  EXPECT_EQ(storage_.Truncate("/a", 0, &env_), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "");
  EXPECT_EQ(storage_.Truncate("/d", 0, &env_), -EISDIR);
  EXPECT_EQ(storage_.Truncate("/none", 0, &env_), -ENOENT);
}

// It was answered OK and forgotten.
TEST_F(AsStockTest, AModeIsKeptAndTold) {
  store_.Put("/a", "1");
  struct stat info;
  ASSERT_EQ(storage_.Stat("/a", &info, 0, &env_), 0);
  EXPECT_EQ(info.st_mode, S_IFREG | 0644u);
  EXPECT_EQ(storage_.Chmod("/a", 0750, &env_), 0);
  ASSERT_EQ(storage_.Stat("/a", &info, 0, &env_), 0);
  EXPECT_EQ(info.st_mode, S_IFREG | 0750u);
  EXPECT_EQ(store_.objects["/a"].settings.mode, 0750);
  EXPECT_EQ(storage_.Chmod("/none", 0750, &env_), -ENOENT);
}

class OfferedTest : public AsStockTest {
 protected:
  OfferedTest() : AsStockTest("/store") {
    for (const char* path : {"/store", "/storeX"}) store_.directories.insert(path);
    for (const char* path : {"/store/a", "/storeX/a"}) store_.Put(path, "1");
  }
};

// XRootD compares paths with what is exported letter by letter.
TEST_F(OfferedTest, ANameThatBeginsAlikeIsNotOffered) {
  struct stat info;
  const auto all_answer = [&](const std::string& directory, int expected) {
    const std::string path = directory + "/a";
    File file(gateway_, "user.1:2@host");
    EXPECT_EQ(file.Open(path.c_str(), O_RDONLY, 0, env_), expected) << path;
    File upload(gateway_, "user.1:2@host");
    EXPECT_EQ(upload.Open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0, env_), expected) << path;
    Directory listing(gateway_, "client");
    EXPECT_EQ(listing.Opendir(directory.c_str(), env_), expected) << directory;
    for (const std::string& name : {path, directory})
      EXPECT_EQ(storage_.Stat(name.c_str(), &info, 0, &env_), expected) << name;
    EXPECT_EQ(storage_.Mkdir((directory + "/new").c_str(), 0755, 0, &env_), expected) << directory;
    XrdCksData checksum;
    checksum.Set("adler32");
    EXPECT_EQ(Checksums(gateway_, nullptr).Calc(path.c_str(), checksum, 0), expected) << path;
    EXPECT_EQ(UserAttributesPlugin(gateway_).Set("U.k", "v", 1, path.c_str(), -1, 0), expected) << path;
    EXPECT_EQ(storage_.Truncate(path.c_str(), 1, &env_), expected) << path;
  };
  all_answer("/store", 0);
  all_answer("/storeX", -EACCES);
  all_answer("/other", -EACCES);
  EXPECT_EQ(storage_.Stat("/", &info, 0, &env_), -EACCES);
  EXPECT_EQ(storage_.Rename("/store/a", "/storeX/b", &env_, &env_), -EACCES);
  EXPECT_EQ(storage_.Rename("/storeX/a", "/store/b", &env_, &env_), -EACCES);
  EXPECT_EQ(storage_.Unlink("/storeX/a", 0, &env_), -EACCES);
  EXPECT_EQ(storage_.Remdir("/storeX", 0, &env_), -EACCES);
  EXPECT_EQ(store_.objects.size(), 2u);
  char buffer[100];
  int length = sizeof(buffer);
  EXPECT_EQ(storage_.StatFS("/store", buffer, length, &env_), 0);
}

}  // namespace
}  // namespace xec
