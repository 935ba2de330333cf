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

// Clients send one whether anybody asked for it or not.
TEST_F(AsStockTest, AModeThatAClientWantsForANewNameIsKept) {
  struct Case {
    mode_t sent;
    const char* cgi;
    std::optional<uint16_t> kept;
  };
  for (const Case& one : {Case{0600, "", std::nullopt}, Case{0644, "", std::nullopt},
                          Case{0664, "", std::nullopt}, Case{0640, "", 0640}, Case{040755, "", 0755},
                          Case{0644, "xec.settings=m0600", 0600}, Case{0644, "xec.settings=m4755", 04755}}) {
    XrdOucEnv env(one.cgi);
    File file(gateway_, "user.1:2@host");
    ASSERT_EQ(file.Open("/a", O_RDWR | O_CREAT | O_TRUNC, one.sent, env), 0);
    struct stat info;
    EXPECT_EQ(file.Fstat(&info), 0);
    EXPECT_EQ(info.st_mode, S_IFREG | one.kept.value_or(0644)) << one.sent;
    EXPECT_EQ(file.Close(nullptr), 0);
    EXPECT_EQ(store_.objects["/a"].settings.mode, one.kept) << one.sent;
  }
  XrdOucEnv env("xec.settings=0640");
  File file(gateway_, "user.1:2@host");
  EXPECT_EQ(file.Open("/a", O_RDWR | O_CREAT | O_TRUNC, 0644, env), -EINVAL);
  for (const auto& [name, sent] : std::map<std::string, mode_t>{{"/n", 0700}, {"/x", 0750}, {"/m", 0755}}) {
    EXPECT_EQ(storage_.Mkdir(name.c_str(), sent, 0, &env_), 0);
    EXPECT_EQ(store_.directory_settings[name], Settings()) << name;
  }
  EXPECT_EQ(storage_.Mkdir("/w", 0711, 0, &env_), 0);
  EXPECT_EQ(store_.directory_settings["/w"], Settings::OfMode(0711));
}

// Stock clients would take one for nothing that has bytes.
TEST_F(AsStockTest, ALinkIsOneForMountsOnly) {
  XrdOucEnv link("xec.settings=m0777_l"), as_mount("xec.tell=settings");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(file.Open("/a", O_RDWR | O_CREAT | O_EXCL, 0644, link), 0);
  EXPECT_EQ(file.Write("to", 0, 2), 2);
  EXPECT_EQ(file.Close(nullptr), 0);
  EXPECT_TRUE(store_.objects["/a"].settings.link);
  struct stat info;
  ASSERT_EQ(storage_.Stat("/a", &info, 0, &env_), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
  ASSERT_EQ(storage_.Stat("/a", &info, 0, &as_mount), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_EQ(info.st_size, 2);
  for (const bool known : {true, false}) {
    store_.listed_settings_known = known;
    for (XrdOucEnv* env : {&env_, &as_mount}) {
      Directory listing(gateway_, "client");
      ASSERT_EQ(listing.Opendir("/", *env), 0);
      EXPECT_EQ(listing.StatRet(&info), 0);
      char name[16];
      EXPECT_EQ(listing.Readdir(name, sizeof(name)), 0);
      EXPECT_EQ(S_ISLNK(info.st_mode), env == &as_mount);
      EXPECT_EQ(info.st_ino == 0, env == &as_mount && !known) << "mounts look it up";
    }
  }
}

// ctime was the time that was set.
TEST_F(AsStockTest, ATimeThatIsSetIsNotThatOfTheLastChange) {
  store_.Put("/a", "1");
  struct stat before, after;
  ASSERT_EQ(storage_.Stat("/a", &before, 0, &env_), 0);
  store_.objects["/a"].settings.mtime_ns = -1'500'000'000;
  ASSERT_EQ(storage_.Stat("/a", &after, 0, &env_), 0);
  EXPECT_EQ(after.st_mtim.tv_sec, -2);
  EXPECT_EQ(after.st_mtim.tv_nsec, 500'000'000);
  EXPECT_EQ(after.st_ctim.tv_sec, before.st_ctim.tv_sec);
  EXPECT_EQ(after.st_ino, before.st_ino);
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
