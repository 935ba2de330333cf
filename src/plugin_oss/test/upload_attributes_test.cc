// SPDX-License-Identifier: LGPL-3.0-or-later
// Attributes that a client sets while it uploads the name: xrdcp --xattr sent them to the version that was
// about to be replaced, or failed because there was none, and the upload was stored without them.
#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/attributes.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

constexpr const char* kClient = "user.1:2@host";
constexpr const char* kOther = "user.2:3@host";

class UploadAttributesTest : public testing::Test {
 protected:
  using Handle = std::unique_ptr<XrdOssDF>;

  Handle Open(const char* path, const char* client = kClient) {
    XrdOucEnv env;
    EXPECT_EQ(storage_.Create(client, path, 0644, env, (O_RDWR | O_CREAT | O_TRUNC) << 8), -ENOTSUP);
    Handle file(storage_.newFile(client));
    EXPECT_EQ(file->Open(path, O_RDWR | O_CREAT | O_TRUNC, 0644, env), 0);
    return file;
  }

  int Set(const char* client, const char* name, const std::string& value, bool only_new = false) {
    const ClientOfThread of_thread(client);
    return plugin_.Set(name, value.data(), static_cast<int>(value.size()), "/a", -1, only_new ? 1 : 0);
  }

  int Del(const char* client, const char* name) {
    const ClientOfThread of_thread(client);
    return plugin_.Del(name, "/a", -1);
  }

  std::string Get(const char* client, const char* name) {
    const ClientOfThread of_thread(client);
    char buffer[100];
    const int got = plugin_.Get(name, buffer, sizeof(buffer), "/a", -1);
    return got < 0 ? "-" : std::string(buffer, static_cast<size_t>(got));
  }

  std::map<std::string, std::string> Stored() { return store_.objects["/a"].attributes; }

  FakeStore store_;
  Gateway gateway_{store_, kHardlyAny};
  Storage storage_{gateway_};
  UserAttributesPlugin plugin_{gateway_};
};

TEST_F(UploadAttributesTest, ThoseOfANewNameAreStoredWithIt) {
  const Handle file = Open("/a");
  EXPECT_EQ(Set(kClient, "U.k", "v"), 0);
  EXPECT_EQ(Set(kClient, "U.k", "w", true), -EEXIST);
  EXPECT_EQ(Set(kClient, "U.gone", "x", true), 0);
  EXPECT_EQ(Get(kClient, "U.gone"), "x");
  EXPECT_EQ(Del(kClient, "U.gone"), 0);
  EXPECT_EQ(Del(kClient, "U.gone"), -ENODATA);
  EXPECT_EQ(Get(kClient, "U.k"), "v");
  EXPECT_EQ(Get(kOther, "U.k"), "-");
  EXPECT_EQ(Set(kOther, "U.k", "other"), -ENOENT);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(Stored(), (std::map<std::string, std::string>{{"k", "v"}}));
}

TEST_F(UploadAttributesTest, WhatIsReplacedKeepsItsOwn) {
  store_.Put("/a", "old");
  EXPECT_EQ(Set(kClient, "U.k", "old"), 0);
  {
    const Handle file = Open("/a");
    EXPECT_EQ(Get(kClient, "U.k"), "-");
    EXPECT_EQ(Set(kClient, "U.k", "new"), 0);
    EXPECT_EQ(Get(kOther, "U.k"), "old");
    EXPECT_EQ(Set(kOther, "U.other", "set"), 0);
  }
  // Given up.
  EXPECT_EQ(Stored(), (std::map<std::string, std::string>{{"k", "old"}, {"other", "set"}}));
  const Handle file = Open("/a");
  EXPECT_EQ(Set(kClient, "U.k", "new"), 0);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(Stored(), (std::map<std::string, std::string>{{"k", "new"}}));
  // The upload is over.
  EXPECT_EQ(Set(kClient, "U.after", "x"), 0);
  EXPECT_EQ(Stored().size(), 2u);
}

TEST_F(UploadAttributesTest, UploadsOfOneNameAtOnceHaveTheirOwn) {
  const Handle one = Open("/a"), other = Open("/a", kOther);
  EXPECT_EQ(Set(kClient, "U.k", "one"), 0);
  EXPECT_EQ(Set(kOther, "U.k", "other"), 0);
  EXPECT_EQ(other->Close(nullptr), 0);
  EXPECT_EQ(Stored()["k"], "other");
  EXPECT_EQ(one->Close(nullptr), 0);
  EXPECT_EQ(Stored()["k"], "one");
  // Of one client nothing tells them apart.
  const Handle first = Open("/a"), second = Open("/a");
  EXPECT_EQ(Set(kClient, "U.k", "which"), -kRetryErrno);
  EXPECT_EQ(first->Close(nullptr), 0);
  EXPECT_EQ(Set(kClient, "U.k", "second"), 0);
  EXPECT_EQ(second->Close(nullptr), 0);
  EXPECT_EQ(Stored()["k"], "second");
}

// Else xrdcp would say that it failed, and the object be there.
TEST_F(UploadAttributesTest, AnUploadIsNotStoredWithoutOneThatWasRefused) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"U.k", std::string(20'000, 'x')}, {"U.xec.checksum.md5", "0"}}) {
    const Handle file = Open("/a");
    EXPECT_EQ(Set(kClient, name.c_str(), value), -EINVAL);
    EXPECT_EQ(Set(kClient, "U.small", "v"), 0);
    EXPECT_EQ(file->Close(nullptr), -EINVAL);
    EXPECT_FALSE(store_.objects.contains("/a"));
    EXPECT_EQ(store_.writers_alive, 0);
  }
}

// The root protocol has no request for a time.
TEST_F(UploadAttributesTest, SettingsAreAnAttributeThatIsNeverListed) {
  store_.Put("/a", "old");
  EXPECT_EQ(Get(kClient, "U.xec.settings").substr(0, 1), "t") << "always something, which tells a gateway";
  EXPECT_EQ(Set(kClient, "U.xec.settings", "m0640_t1500000000123456789"), 0);
  EXPECT_EQ(Get(kOther, "U.xec.settings"), "m0640_t1500000000123456789");
  EXPECT_EQ(Set(kClient, "U.xec.settings", "m0600"), 0);
  const Settings settings = store_.objects["/a"].settings;
  EXPECT_EQ(settings, (Settings{.mtime_ns = 1500000000123456789, .mode = 0600}));
  EXPECT_TRUE(Stored().empty());
  XrdSysXAttr::AList* list = nullptr;
  EXPECT_EQ(plugin_.List(&list, "/a", -1, 0), 0);
  EXPECT_EQ(list, nullptr);
  for (const char* other : {"", "m0640_l", "l", "0640", "m77777"})
    EXPECT_EQ(Set(kClient, "U.xec.settings", other), -EINVAL) << other;
  EXPECT_EQ(Del(kClient, "U.xec.settings"), -ENOTSUP);
  EXPECT_EQ(store_.objects["/a"].settings, settings);
}

TEST_F(UploadAttributesTest, SettingsThatAreSetMeanwhileAreOfTheUpload) {
  const Handle file = Open("/a");
  EXPECT_EQ(file->Write("01", 0, 2), 2);
  EXPECT_EQ(Set(kClient, "U.xec.settings", "m0640_t1500000000000000000"), 0);
  EXPECT_EQ(Set(kOther, "U.xec.settings", "m0640"), -ENOENT);
  struct stat info;
  EXPECT_EQ(file->Fstat(&info), 0);
  EXPECT_EQ(info.st_mode, S_IFREG | 0640u);
  EXPECT_EQ(Get(kClient, "U.xec.settings"), "m0640_t1500000000000000000");
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].settings, (Settings{.mtime_ns = 1500000000000000000, .mode = 0640}));
  const Handle again = Open("/a");
  EXPECT_EQ(Set(kClient, "U.xec.settings", "m0604_t1500000000000000000"), 0);
  EXPECT_EQ(again->Write("01", 0, 2), 2) << "the time was of other bytes";
  EXPECT_EQ(again->Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].settings, Settings::OfMode(0604));
}

}  // namespace
}  // namespace xec
