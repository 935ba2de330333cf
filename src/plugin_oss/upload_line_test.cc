// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/upload_line.hh"

#include <fcntl.h>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/fake_store.hh"
#include "plugin_oss/storage.hh"

namespace xec {
namespace {

class UploadLineTest : public testing::Test {
 protected:
  using Handle = std::unique_ptr<XrdOssDF>;

  Handle Open(const char* path, int expected) {
    XrdOucEnv env("");
    EXPECT_EQ(storage_.Create("user.1:2@host", path, 0644, env, 0), -ENOTSUP);
    Handle file(storage_.newFile("user.1:2@host"));
    EXPECT_EQ(file->Open(path, O_RDWR | O_CREAT | O_TRUNC, 0644, env), expected);
    return file;
  }

  FakeStore store_;
  Gateway gateway_{store_, std::chrono::milliseconds(1)};
  Storage storage_{gateway_};
};

// XRootD tells a client to repeat an open whose answer is positive.
TEST_F(UploadLineTest, UploadsWaitForMemoryInTheirOpen) {
  store_.memory_short = true;
  Open("/a", 1);
  Open("/b", 1);
  Open("/a", 1);
  ASSERT_EQ(store_.waiting.size(), 2u) << "who asks again keeps its place";
  EXPECT_EQ(gateway_.upload_line().size(), 2u);
  store_.waiting[0](true);
  {
    const Handle file = Open("/a", 0);
    EXPECT_EQ(file->Write("new", 0, 3), 3);
    EXPECT_EQ(file->Close(nullptr), 0);
  }
  EXPECT_EQ(store_.objects["/a"].bytes, "new");
  EXPECT_EQ(store_.writers_alive, 1);
  store_.waiting[1](true);
  EXPECT_EQ(Open("/b", 0)->Close(nullptr), 0);
  EXPECT_EQ(gateway_.upload_line().size(), 0u);
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(UploadLineTest, WhoCannotGetMemoryFails) {
  store_.reserve_fails = Code::kInvalidArgument;
  Open("/a", -EINVAL);
  EXPECT_EQ(store_.writers_alive, 0);
  EXPECT_EQ(gateway_.upload_line().size(), 0u);
}

}  // namespace
}  // namespace xec
