// SPDX-License-Identifier: LGPL-3.0-or-later
// What clients say beside the name: conditions and checksums of uploads, downloads and removals.
#include <cerrno>
#include <fcntl.h>

#include <gmock/gmock.h>

#include <XrdOuc/XrdOucEnv.hh>

#include "plugin_oss/file_status.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

using testing::HasSubstr;

class ConditionsTest : public testing::Test {
 protected:
  std::string TagOf(const char* path) { return EntityTag(gateway_, path, store_.objects[path].version); }
  int Open(const std::string& opaque, int flags = O_CREAT | O_TRUNC | O_RDWR) {
    XrdOucEnv env(opaque.c_str());
    file_.reset(storage_.newFile("user.1:2@host"));
    return file_->Open("/a", flags, 0644, env);
  }
  // A whole upload of "new".
  int Upload(const std::string& opaque) {
    if (const int opened = Open(opaque); opened != 0) return opened;
    EXPECT_EQ(file_->Write("new", 0, 3), 3);
    return file_->Close(nullptr);
  }
  std::string Sentence() {
    std::string text;
    TakeErrorText(text);
    return text;
  }

  FakeStore store_;
  Gateway gateway_{store_, {}};
  Storage storage_{gateway_};
  std::unique_ptr<XrdOssDF> file_;
};

TEST_F(ConditionsTest, TheTagIsTheNumberThatXrootdMakes) {
  store_.Put("/a", "old");
  struct stat info = {};
  XrdOucEnv env;
  ASSERT_EQ(storage_.Stat("/a", &info, 0, &env), 0);
  // As XrdXrootdProtocol::StatGen does.
  union {
    long long number;
    struct {
      int device, inode;
    } halves;
  } told;
  told.halves = {static_cast<int>(info.st_dev), static_cast<int>(info.st_ino)};
  EXPECT_EQ(TagOf("/a"), std::to_string(told.number));
}

TEST_F(ConditionsTest, OnlyWhereNothingIs) {
  EXPECT_EQ(Upload("xec.if-none-match=*"), 0);
  EXPECT_EQ(Open("xec.if-none-match=*"), -EEXIST);
  EXPECT_EQ(Open("xec.if-none-match=\"1\""), -ENOTSUP);
  store_.objects.clear();
  ASSERT_EQ(Open("xec.if-none-match=*"), 0);
  store_.Put("/a", "other");
  EXPECT_EQ(file_->Close(nullptr), -EEXIST);
  EXPECT_EQ(store_.objects["/a"].bytes, "other");
}

TEST_F(ConditionsTest, OnlyTheVersionThatIsMeant) {
  EXPECT_EQ(Open("xec.if-match=1"), -EEXIST);
  store_.Put("/a", "old");
  const std::string old = TagOf("/a");
  EXPECT_EQ(Open("xec.if-match=1"), -EEXIST);
  EXPECT_EQ(Sentence(), "/a has the ETag " + old + ", not 1");
  EXPECT_EQ(Open("xec.if-match=W/\"" + old + "\""), -EEXIST);
  EXPECT_EQ(Upload("xec.if-match=%22" + old + "%22"), 0);
  EXPECT_EQ(Open("xec.if-match=\"" + old + "\""), -EEXIST);
  EXPECT_EQ(Upload("xec.if-match=\"1\", \"" + TagOf("/a") + "\""), 0);
  EXPECT_EQ(Upload("xec.if-match=*"), 0);
}

TEST_F(ConditionsTest, AVersionThatIsReplacedMeanwhileIsNotReplacedAgain) {
  store_.Put("/a", "old");
  ASSERT_EQ(Open("xec.if-match=" + TagOf("/a")), 0);
  store_.Put("/a", "other");
  EXPECT_EQ(file_->Close(nullptr), -EEXIST);
  EXPECT_EQ(store_.objects["/a"].bytes, "other");
}

TEST_F(ConditionsTest, RemovalsAndRenames) {
  store_.Put("/a", "old");
  XrdOucEnv other("xec.if-match=1"), absent("xec.if-none-match=*"),
      same(("xec.if-match=" + TagOf("/a")).c_str());
  EXPECT_EQ(storage_.Rename("/a", "/b", &other, nullptr), -EEXIST);
  EXPECT_EQ(storage_.Unlink("/a", 0, &other), -EEXIST);
  EXPECT_EQ(storage_.Unlink("/a", 0, &absent), -EEXIST);
  EXPECT_EQ(storage_.Unlink("/a", 0, &same), 0);
  EXPECT_EQ(storage_.Unlink("/a", 0, &same), -ENOENT);
}

TEST_F(ConditionsTest, Downloads) {
  store_.Put("/a", "old");
  EXPECT_EQ(Open("xec.if-none-match=\"" + TagOf("/a") + "\"", O_RDONLY), 0);
  for (const std::string header : {"xec.if-match=", "xec.if-range="}) {
    EXPECT_EQ(Open(header + "\"" + TagOf("/a") + "\"", O_RDONLY), 0);
    EXPECT_EQ(Open(header + "\"1\"", O_RDONLY), -EEXIST);
  }
  EXPECT_EQ(Open("xec.if-range=Sat, 29 Oct 1994 19:43:31 GMT", O_RDONLY), 0);
}

TEST_F(ConditionsTest, BytesThatAreNotThoseDeclaredReplaceNothing) {
  store_.Put("/a", "old");
  EXPECT_EQ(Open("cks.type=sha3&cks.value=00"), -EINVAL);
  EXPECT_THAT(Sentence(), HasSubstr("sha3"));
  EXPECT_EQ(Upload("cks.type=adler32&cks.value=00000001"), -EINVAL);
  EXPECT_EQ(Sentence(), "the bytes of /a have adler32 028e014b, but 00000001 was declared");
  EXPECT_EQ(store_.objects["/a"].bytes, "old");
  EXPECT_EQ(Upload("cks.type=adler32&cks.value=028e014b"), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "new");
}

TEST_F(ConditionsTest, WaitingForMemoryWithOtherWordsIsAnotherUpload) {
  Gateway gateway(store_, kHardlyAny);
  Storage storage(gateway);
  store_.memory_short = true;
  const auto open = [&](const char* opaque) {
    XrdOucEnv env(opaque);
    return std::unique_ptr<XrdOssDF>(storage.newFile("user.1:2@host"))
        ->Open("/a", O_CREAT | O_TRUNC | O_RDWR, 0, env);
  };
  EXPECT_GT(open("cks.type=adler32&cks.value=00000001"), 0);
  EXPECT_GT(open("cks.type=adler32&cks.value=00000001"), 0);
  EXPECT_EQ(store_.waiting.size(), 1u);
  EXPECT_GT(open("cks.type=adler32&cks.value=00000002"), 0);
  EXPECT_EQ(store_.waiting.size(), 2u);
  for (auto& admit : store_.waiting) admit(true);
}

}  // namespace
}  // namespace xec
