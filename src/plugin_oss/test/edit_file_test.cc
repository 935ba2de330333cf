// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that clients change in place.
#include "plugin_oss/edit_file.hh"

#include <fcntl.h>
#include <filesystem>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/attributes.hh"
#include "plugin_oss/prepared_edit.hh"
#include "plugin_oss/read_file.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

class EditFileTest : public testing::Test {
 protected:
  // What other tests, and runs before, have left.
  EditFileTest() { std::filesystem::remove_all(gateway_.scratch().directory() + "/interrupted"); }

  // As the file system in front does.
  int Open(File& file, const char* path, int flags = O_RDWR) {
    const OpenOfThread of_thread;
    const int opened = file.Open(path, flags, 0, env_);
    handle_ = of_thread.handle();
    return opened;
  }
  int CloseAsClient(File& file) {
    EXPECT_TRUE(handle_.lock()->Prepare(std::chrono::seconds(10)));
    return file.Close(nullptr);
  }
  static ssize_t Write(File& file, std::string_view bytes, off_t offset) {
    return file.Write(bytes.data(), offset, bytes.size());
  }

  FakeStore store_;
  Gateway gateway_{store_, kHardlyAny};
  std::weak_ptr<OpenHandle> handle_;
  XrdOucEnv env_;
};

TEST_F(EditFileTest, WhatAClientClosesIsCommitted) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  EXPECT_EQ(Write(file, "abc", 8), 3);
  std::string read(20, '?');
  EXPECT_EQ(file.Read(read.data(), 0, 20), 11);
  EXPECT_EQ(read.substr(0, 11), "01234567abc");
  XrdOucIOVec piece = {7, 2, 0, read.data()};
  EXPECT_EQ(file.ReadV(&piece, 1), 2);
  EXPECT_EQ(read.substr(0, 2), "7a");
  EXPECT_EQ(file.Ftruncate(9), 0);
  struct stat info;
  EXPECT_EQ(file.Fstat(&info), 0);
  EXPECT_EQ(info.st_size, 9);
  EXPECT_EQ(store_.objects["/a"].bytes, "0123456789");
  EXPECT_EQ(CloseAsClient(file), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "01234567a");
  EXPECT_EQ(gateway_.scratch().used_bytes(), 0u);
}

// XRootD closes the file of a client that died as well.
TEST_F(EditFileTest, WhatADeadClientHasChangedIsDropped) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a", O_WRONLY), 0);
  EXPECT_EQ(Write(file, "abc", 8), 3);
  EXPECT_EQ(file.Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "0123456789");
  EXPECT_EQ(gateway_.scratch().used_bytes(), 0u);
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(EditFileTest, SyncCommitsToo) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  EXPECT_EQ(Write(file, "abc", 0), 3);
  EXPECT_TRUE(handle_.lock()->Prepare(std::chrono::seconds(10)));
  EXPECT_EQ(file.Fsync(), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "abc3456789");
  EXPECT_EQ(Write(file, "x", 3), 1);
  EXPECT_EQ(file.Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "abc3456789") << "of what came after it the client said nothing";
}

// XRootD does not pass a sync on to the storage when it knows of no write.
TEST_F(EditFileTest, WhatIsWrittenAfterASyncThatDidNotComeIsDroppedWithItsClient) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  EXPECT_TRUE(handle_.lock()->Prepare(std::chrono::seconds(10)));
  EXPECT_EQ(Write(file, "x", 3), 1);
  EXPECT_EQ(file.Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "0123456789");
}

// It sends only what was not answered.
TEST_F(EditFileTest, AClientThatComesBackAfterItsConnectionIsRefusedOnce) {
  store_.Put("/a", "0123456789");
  for (const int flags : {O_RDWR, O_CREAT | O_TRUNC | O_RDWR}) {
    File file(gateway_, "user.1:2@host"), again(gateway_, "user.1:3@host"), later(gateway_, "user.1:3@host");
    ASSERT_EQ(Open(file, "/a", flags), 0);
    EXPECT_EQ(Write(file, "abc", 0), 3);
    EXPECT_EQ(file.Fchmod(01644), 0);
    EXPECT_EQ(file.Close(nullptr), 0);
    EXPECT_EQ(Open(again, "/a"), -ErrnoOf(Code::kNotCurrent));
    EXPECT_EQ(Open(later, "/a"), 0);
    EXPECT_EQ(Write(later, "z", 0), 1);
    EXPECT_EQ(CloseAsClient(later), 0);
    EXPECT_EQ(store_.objects["/a"].bytes, "z123456789");
  }
}

TEST_F(EditFileTest, SettingsThatTheClientSetsAfterAChangeAreOfTheVersionThatItBecomes) {
  store_.Put("/a", "0123456789");
  store_.objects["/a"].settings = Settings::OfMode(0604);
  UserAttributesPlugin plugin(gateway_);
  const auto set = [&](const char* client, const std::string& text) {
    const ClientOfThread of_thread(client);
    return plugin.Set("U.xec.settings", text.data(), static_cast<int>(text.size()), "/a", -1, 0);
  };
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  struct stat info;
  EXPECT_EQ(set("user.1:2@host", "m0611"), 0);
  EXPECT_EQ(store_.objects["/a"].settings, Settings::OfMode(0611)) << "nothing was changed yet";
  EXPECT_EQ(Write(file, "abc", 0), 3);
  EXPECT_EQ(set("user.1:2@host", "m0640_t1500000000000000000"), 0);
  EXPECT_EQ(set("user.1:3@host", "m0622"), 0);
  EXPECT_EQ(store_.objects["/a"].settings, Settings::OfMode(0622)) << "by another client, of what stands";
  EXPECT_EQ(file.Fstat(&info), 0);
  EXPECT_EQ(info.st_mode, S_IFREG | 0640u);
  EXPECT_EQ(info.st_mtime, 1500000000);
  EXPECT_TRUE(handle_.lock()->Prepare(std::chrono::seconds(10)));
  EXPECT_EQ(file.Fsync(), 0);
  EXPECT_EQ(store_.objects["/a"].settings, (Settings{.mtime_ns = 1500000000000000000, .mode = 0640}));
  EXPECT_EQ(set("user.1:2@host", "m0644_t1500000001000000000"), 0);
  EXPECT_EQ(store_.objects["/a"].settings, (Settings{.mtime_ns = 1500000001000000000, .mode = 0644}));
  EXPECT_EQ(Write(file, "x", 3), 1);
  EXPECT_EQ(CloseAsClient(file), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "abcx456789");
  EXPECT_EQ(store_.objects["/a"].settings, Settings::OfMode(0644)) << "the time was of other bytes";
}

TEST_F(EditFileTest, WhatAnotherOneCommittedStands) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  EXPECT_EQ(Write(file, "abc", 0), 3);
  store_.Put("/a", "another");
  EXPECT_EQ(CloseAsClient(file), -ErrnoOf(Code::kNotCurrent));
  std::string text;
  EXPECT_TRUE(TakeErrorText(text));
  EXPECT_EQ(text, "/a was replaced; what was changed is not written");
  EXPECT_EQ(store_.objects["/a"].bytes, "another");
}

TEST_F(EditFileTest, WhatCannotBeOpened) {
  store_.directories.insert("/d");
  File none(gateway_, "user.1:2@host"), directory(gateway_, "user.1:2@host");
  EXPECT_EQ(Open(none, "/none"), -ENOENT);
  EXPECT_EQ(Open(directory, "/d"), -EISDIR);
  // Without a file system in front nobody would tell a client that closes from one that died.
  store_.Put("/a", "x");
  File file(gateway_, "user.1:2@host");
  EXPECT_EQ(file.Open("/a", O_RDWR, 0, env_), -ENOTSUP);
}

// A client that waits for a minute gives its connection up.
TEST_F(EditFileTest, ACopyThatTakesLongLetsTheClientComeBack) {
  store_.Put("/a", "0123456789");
  File file(gateway_, "user.1:2@host");
  ASSERT_EQ(Open(file, "/a"), 0);
  EXPECT_EQ(Write(file, "abc", 0), 3);
  std::promise<void> go_on;
  store_.on_read = [wait = go_on.get_future().share()] { wait.wait(); };
  // The store answers on the thread that asks.
  const std::shared_ptr<OpenHandle> handle = handle_.lock();
  std::jthread first([&] { EXPECT_TRUE(handle->Prepare(std::chrono::seconds(10))); });
  while (store_.writers_alive == 0) std::this_thread::yield();
  EXPECT_FALSE(handle->Prepare(std::chrono::milliseconds(1)));
  go_on.set_value();
  EXPECT_TRUE(handle->Prepare(std::chrono::seconds(10)));
  first.join();
  EXPECT_EQ(file.Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "abc3456789");
}

}  // namespace
}  // namespace xec
