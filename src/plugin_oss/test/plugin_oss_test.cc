// SPDX-License-Identifier: LGPL-3.0-or-later
// The plug-in driven as XRootD drives it (the sequences are those that a tracing plug-in saw in stock
// daemons).
#include <atomic>
#include <fcntl.h>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucCRC.hh>
#include <XrdOuc/XrdOucEnv.hh>
#include <XrdOuc/XrdOucIOVec.hh>

#include "plugin_access/client_access.hh"
#include "plugin_oss/attributes.hh"
#include "plugin_oss/checksums.hh"
#include "plugin_oss/storage.hh"
#include "plugin_oss/test/fake_store.hh"

namespace xec {
namespace {

constexpr int kCreate = O_RDWR | O_CREAT;
constexpr mode_t kPending = 0644 | 01000;

class PluginTest : public testing::Test {
 protected:
  using Handle = std::unique_ptr<XrdOssDF>;

  // What XrdOfs does for a new file: Create, and because that says ENOTSUP, Open with all flags.
  Handle OpenUpload(const char* path, int flags, int expected = 0, const char* cgi = "") {
    XrdOucEnv env(cgi);
    EXPECT_EQ(storage_.Create("user.1:2@host", path, 0644, env, flags << 8), -ENOTSUP);
    Handle file(storage_.newFile("user.1:2@host"));
    EXPECT_EQ(file->Open(path, flags, 0644, env), expected);
    return file;
  }

  static ssize_t Write(const Handle& file, const std::string& bytes, off_t offset) {
    return file->Write(bytes.data(), offset, bytes.size());
  }

  // As a whole upload under `ofs.persist auto`; returns what Close says.
  int Put(const char* path, const std::string& bytes, int flags, const char* cgi = "") {
    const Handle file = OpenUpload(path, flags, 0, cgi);
    EXPECT_EQ(file->Fchmod(kPending), 0);
    EXPECT_EQ(Write(file, bytes, 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(file->Fchmod(0644), 0);
    return file->Close(nullptr);
  }

  std::string Get(const char* path) {
    XrdOucEnv env("");
    const Handle file(storage_.newFile("user.1:2@host"));
    EXPECT_EQ(file->Open(path, O_RDONLY, 0, env), 0);
    char buffer[100];
    const ssize_t got = file->Read(buffer, 0, sizeof(buffer));
    EXPECT_EQ(file->Close(nullptr), 0);
    return got < 0 ? "error" : std::string(buffer, static_cast<size_t>(got));
  }

  FakeStore store_;
  Gateway gateway_{store_, kHardlyAny};
  Storage storage_{gateway_};
  XrdOucEnv env_;
};

TEST_F(PluginTest, UploadIsVisibleAfterCloseOnly) {
  struct stat info;
  const Handle file = OpenUpload("/a", kCreate | O_EXCL, 0, "oss.asize=10");
  EXPECT_EQ(file->Fchmod(kPending), 0);
  EXPECT_EQ(Write(file, "01234", 0), 5);
  EXPECT_EQ(file->Fstat(&info), 0);
  EXPECT_EQ(info.st_size, 5);
  EXPECT_EQ(Write(file, "56789", 5), 5);
  EXPECT_EQ(file->Fchmod(0644), 0);
  EXPECT_TRUE(store_.objects.empty());
  long long size = 0;
  EXPECT_EQ(file->Close(&size), 0);
  EXPECT_EQ(size, 10);
  EXPECT_EQ(store_.objects["/a"].bytes, "0123456789");
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(PluginTest, EmptyUpload) {
  EXPECT_EQ(Put("/a", "", kCreate | O_TRUNC), 0);
  EXPECT_EQ(Get("/a"), "");
}

TEST_F(PluginTest, PageReadsCarryTheChecksumsOfXrootd) {
  constexpr off_t kPage = 4096;
  std::string bytes(3 * kPage + 100, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 5);
  store_.Put("/a", bytes);
  EXPECT_NE(storage_.Features() & XRDOSS_HASPGRW, 0u);
  const Handle file(storage_.newFile("user.1:2@host"));
  ASSERT_EQ(file->Open("/a", O_RDONLY, 0, env_), 0);
  const std::vector<std::pair<off_t, size_t>> reads = {{0, 3 * kPage},    {0, 4 * kPage}, {kPage, kPage},
                                                       {100, 50},         {kPage - 1, 2}, {kPage - 1, 1},
                                                       {5000, 3 * kPage}, {1, 1}};
  for (const auto& [offset, size] : reads) {
    std::string buffer(size, '\0');
    std::vector<uint32_t> checksums(6, 0xdeadbeef);
    const ssize_t got = file->pgRead(buffer.data(), offset, size, checksums.data(), 0);
    ASSERT_EQ(got, static_cast<ssize_t>(std::min(size, bytes.size() - static_cast<size_t>(offset))));
    EXPECT_EQ(bytes.compare(static_cast<size_t>(offset), static_cast<size_t>(got), buffer, 0,
                            static_cast<size_t>(got)),
              0);
    std::vector<uint32_t> expected;
    for (off_t at = offset; at < offset + got;) {
      const off_t end = std::min(offset + got, (at / kPage + 1) * kPage);
      expected.push_back(XrdOucCRC::Calc32C(buffer.data() + (at - offset), static_cast<size_t>(end - at)));
      at = end;
    }
    expected.resize(checksums.size(), 0xdeadbeef);
    EXPECT_EQ(checksums, expected) << offset << "+" << size;
  }
  EXPECT_EQ(file->pgRead(bytes.data(), 0, kPage, nullptr, 0), kPage);
  EXPECT_EQ(file->pgRead(bytes.data(), 4 * kPage, kPage, nullptr, 0), 0);
}

TEST_F(PluginTest, InterruptedUploadLeavesThePreviousObject) {
  store_.Put("/a", "old");
  {
    const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
    EXPECT_EQ(file->Fchmod(kPending), 0);
    EXPECT_EQ(Write(file, "new", 0), 3);
    EXPECT_EQ(storage_.Unlink("/a", 0, nullptr), 0);
    EXPECT_EQ(file->Close(nullptr), 0);
  }
  EXPECT_EQ(store_.objects["/a"].bytes, "old");
  EXPECT_EQ(store_.commits, 0);
  EXPECT_EQ(store_.abandons, 1);
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(PluginTest, UploadDestroyedWithoutCloseIsAbandoned) {
  OpenUpload("/a", kCreate | O_TRUNC);
  EXPECT_EQ(store_.commits, 0);
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(PluginTest, RefusedSecondWriterDoesNotHarmTheFirst) {
  const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
  EXPECT_EQ(file->Fchmod(kPending), 0);
  EXPECT_EQ(Write(file, "first", 0), 5);
  EXPECT_EQ(storage_.Unlink("/a", 0, nullptr), 0);
  EXPECT_EQ(file->Fchmod(0644), 0);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "first");
}

TEST_F(PluginTest, WriteErrorIsAnsweredByAllThatFollows) {
  store_.Put("/a", "old");
  const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
  EXPECT_EQ(file->Fchmod(kPending), 0);
  store_.append_fails = Code::kNoSpace;
  EXPECT_EQ(Write(file, "new", 0), -ENOSPC);
  EXPECT_EQ(store_.writers_alive, 0);
  store_.append_fails.reset();
  EXPECT_EQ(Write(file, "new", 0), -ENOSPC);
  EXPECT_EQ(storage_.Unlink("/a", 0, nullptr), 0);
  EXPECT_EQ(file->Fchmod(0644), 0);
  EXPECT_EQ(file->Close(nullptr), -ENOSPC);
  EXPECT_EQ(store_.objects["/a"].bytes, "old");
}

TEST_F(PluginTest, AnUploadIsWrittenAnywhereAndReadBack) {
  for (const off_t offset : {0, 1, 2, 3, 100}) {
    const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
    EXPECT_EQ(file->Fchmod(kPending), 0);
    EXPECT_EQ(Write(file, "01", 0), 2);
    EXPECT_EQ(Write(file, "23", offset), 2) << offset;
    std::string expected(static_cast<size_t>(std::max<off_t>(2, offset + 2)), '\0');
    expected.replace(0, 2, "01").replace(static_cast<size_t>(offset), 2, "23");
    std::string read(200, '?');
    EXPECT_EQ(file->Read(read.data(), 0, read.size()), static_cast<ssize_t>(expected.size()));
    EXPECT_EQ(read.substr(0, expected.size()), expected);
    XrdOucIOVec pieces[2] = {{0, 1, 0, read.data()}, {offset, 2, 0, read.data() + 1}};
    EXPECT_EQ(file->ReadV(pieces, 2), 3);
    pieces[1].offset = static_cast<long long>(expected.size() - 1);
    EXPECT_EQ(file->ReadV(pieces, 2), -ESPIPE);
    EXPECT_EQ(file->Ftruncate(expected.size() - 1), 0);
    EXPECT_EQ(file->Fchmod(0644), 0);
    EXPECT_FALSE(store_.objects.contains("/a"));
    EXPECT_EQ(file->Close(nullptr), 0);
    EXPECT_EQ(store_.objects["/a"].bytes, expected.substr(0, expected.size() - 1));
    store_.objects.clear();
  }
}

TEST_F(PluginTest, AnInterruptedUploadThatWasWrittenAnywhereIsDropped) {
  store_.Put("/a", "old");
  const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
  EXPECT_EQ(file->Fchmod(kPending), 0);
  EXPECT_EQ(Write(file, "01", 7), 2);
  EXPECT_EQ(file->Fsync(), 0);
  EXPECT_EQ(storage_.Unlink("/a", 0, nullptr), 0);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "old");
  EXPECT_EQ(gateway_.scratch().used_bytes(), 0u);
}

TEST_F(PluginTest, CommitErrorIsAnsweredByClose) {
  for (const auto& [code, error] :
       {std::pair{Code::kUnknown, kRetryErrno}, {Code::kNoSpace, ENOSPC}, {Code::kConflict, kRetryErrno}}) {
    store_.commit_fails = code;
    EXPECT_EQ(Put("/a", "bytes", kCreate | O_TRUNC), -error);
  }
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_EQ(store_.writers_alive, 0);
}

TEST_F(PluginTest, AnnouncedSizeMustCome) {
  EXPECT_EQ(Put("/a", "four", kCreate | O_TRUNC, "oss.asize=5"), -EINVAL);
  EXPECT_EQ(Put("/a", "four", kCreate | O_TRUNC, "oss.asize=3"), -EINVAL);
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_EQ(Put("/a", "four", kCreate | O_TRUNC, "oss.asize=4"), 0);
  EXPECT_EQ(Put("/b", "four", kCreate | O_TRUNC, "oss.asize=nonsense"), 0);
}

TEST_F(PluginTest, WithoutPersistOnCloseEveryCloseCommits) {
  const Handle file = OpenUpload("/a", kCreate | O_TRUNC);
  EXPECT_EQ(Write(file, "x", 0), 1);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(store_.objects["/a"].bytes, "x");
}

TEST_F(PluginTest, ExclusiveAndReplace) {
  EXPECT_EQ(Put("/a", "one", kCreate | O_EXCL), 0);
  OpenUpload("/a", kCreate | O_EXCL, -EEXIST);
  EXPECT_EQ(store_.objects["/a"].bytes, "one");
  EXPECT_EQ(Put("/a", "two", kCreate | O_TRUNC), 0);
  EXPECT_EQ(Get("/a"), "two");
  store_.directories.insert("/d");
  OpenUpload("/d", kCreate | O_TRUNC, -EISDIR);
}

TEST_F(PluginTest, ReaderKeepsItsVersion) {
  store_.Put("/a", "0123456789");
  const Handle file(storage_.newFile("user.1:2@host"));
  ASSERT_EQ(file->Open("/a", O_RDONLY, 0, env_), 0);
  EXPECT_EQ(Put("/a", "new", kCreate | O_TRUNC), 0);
  char buffer[20];
  EXPECT_EQ(file->Read(buffer, 8, 5), 2);
  EXPECT_EQ(std::string(buffer, 2), "89");
  EXPECT_EQ(file->Read(buffer, 10, 5), 0);
  EXPECT_EQ(file->Read(buffer, -1, 5), -EINVAL);
  EXPECT_EQ(file->Write("x", 0, 1), -EBADF);
  EXPECT_EQ(file->getFD(), -1);
  struct stat info, now;
  EXPECT_EQ(file->Fstat(&info), 0);
  EXPECT_EQ(info.st_size, 10);
  EXPECT_EQ(storage_.Stat("/a", &now, 0, &env_), 0);
  EXPECT_EQ(now.st_size, 3);
  EXPECT_NE(info.st_ino, now.st_ino);
  XrdOucIOVec pieces[2] = {{1, 2, 0, buffer}, {8, 2, 0, buffer + 2}};
  EXPECT_EQ(file->ReadV(pieces, 2), 4);
  EXPECT_EQ(std::string(buffer, 4), "1289");
  pieces[1].size = 3;
  EXPECT_EQ(file->ReadV(pieces, 2), -ESPIPE);
  EXPECT_EQ(file->Close(nullptr), 0);
  EXPECT_EQ(file->Close(nullptr), -EBADF);
  EXPECT_EQ(file->Read(buffer, 0, 1), -EBADF);
}

TEST_F(PluginTest, StatTellsMissingFromUnknown) {
  struct stat info;
  store_.Put("/a", "12345");
  EXPECT_EQ(storage_.Stat("/a", &info, 0, &env_), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
  EXPECT_EQ(info.st_size, 5);
  EXPECT_NE(info.st_dev, 0u);
  EXPECT_GT(static_cast<int64_t>(info.st_ino), 0);
  EXPECT_EQ(info.st_mtime * 1000 + info.st_mtim.tv_nsec / 1000000, store_.objects["/a"].version.WallMillis());
  EXPECT_EQ(storage_.Stat("/", &info, 0, &env_), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  EXPECT_EQ(storage_.Stat("/none", &info, 0, &env_), -ENOENT);
  for (const Code code : {Code::kNoQuorum, Code::kUnavailable, Code::kDeadlineExceeded}) {
    store_.all_fail = code;
    EXPECT_EQ(storage_.Stat("/a", &info, 0, &env_), -kRetryErrno);
    OpenUpload("/new", kCreate | O_EXCL, -kRetryErrno);
  }
  std::string text;
  EXPECT_TRUE(TakeErrorText(text));
  EXPECT_EQ(text, "injected");
  EXPECT_FALSE(TakeErrorText(text));
}

// XRootD 6 asks for the sentence after some failures only: a client was told of another one's.
TEST_F(PluginTest, ASentenceIsThatOfTheCallThatFailed) {
  std::string text;
  struct stat info;
  char byte;
  EXPECT_EQ(storage_.Stat("/none", &info, 0, &env_), -ENOENT);
  const Handle closed(storage_.newFile("user.1:2@host"));
  EXPECT_EQ(closed->Read(&byte, 0, 1), -EBADF);
  EXPECT_FALSE(TakeErrorText(text)) << text;

  const Handle file = OpenUpload("/a", kCreate);
  EXPECT_EQ(Write(file, "x", -5), -EINVAL);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(storage_.Stat("/none", &info, 0, &env_), -ENOENT);
    EXPECT_EQ(again == 0 ? Write(file, "y", 6) : file->Close(nullptr), -EINVAL);
    EXPECT_TRUE(TakeErrorText(text));
    EXPECT_EQ(text, "write at -5: there is no such place");
  }
}

TEST_F(PluginTest, TheListOfUploadsNeitherAsksTheStoreNorRemovesAnything) {
  store_.Put("/a", "old");
  struct stat info;
  const int calls = store_.calls;
  EXPECT_EQ(storage_.Stat("/a", &info, 0, nullptr), -ENOENT);
  EXPECT_EQ(storage_.Unlink("/a", 0, nullptr), 0);
  EXPECT_EQ(storage_.Unlink("/", 0, nullptr), 0);
  EXPECT_EQ(store_.calls, calls);
  EXPECT_EQ(Get("/a"), "old");
}

TEST_F(PluginTest, Names) {
  store_.Put("/a", "1");
  EXPECT_EQ(storage_.Mkdir("/d", 0755, 1, &env_), 0);
  EXPECT_EQ(storage_.Remdir("/d", 0, &env_), -ENOTEMPTY);
  EXPECT_EQ(storage_.Rename("/a", "/b", &env_, &env_), 0);
  EXPECT_EQ(storage_.Rename("/a", "/b", &env_, &env_), -ENOENT);
  EXPECT_EQ(storage_.Chmod("/b", 0600, &env_), 0);
  EXPECT_EQ(storage_.Chmod("/a", 0600, &env_), -ENOENT);
  EXPECT_EQ(storage_.Unlink("/b", 0, &env_), 0);
  EXPECT_EQ(storage_.Unlink("/b", 0, &env_), -ENOENT);
  char buffer[10];
  EXPECT_EQ(storage_.Lfn2Pfn("/a b", buffer, sizeof(buffer)), 0);
  EXPECT_STREQ(buffer, "/a b");
  EXPECT_EQ(storage_.Lfn2Pfn("/123456789", buffer, sizeof(buffer)), -ENAMETOOLONG);
}

TEST_F(PluginTest, ARenameThatMayReplaceNothingIsToldSo) {
  store_.Put("/a", "1");
  store_.Put("/b", "2");
  XrdOucEnv target;
  target.Put(kTargetAbsent, "1");
  EXPECT_EQ(storage_.Rename("/a", "/b", &env_, &target), -EEXIST);
  EXPECT_EQ(storage_.Rename("/a", "/c", &env_, &target), 0);
}

TEST(CreationTurnsTest, OneAfterAnother) {
  CreationTurns turns(std::chrono::hours(1));
  turns.Take("/a");
  turns.Take("/b");
  std::atomic<bool> had = false;
  std::jthread second([&] {
    turns.Take("/a");
    EXPECT_TRUE(had);
    turns.Give("/a");
  });
  turns.Give("/b");
  had = true;
  turns.Give("/a");
  second.join();
  turns.Give("/never taken");
}

TEST(CreationTurnsTest, OneThatIsNotGivenBackEnds) {
  CreationTurns turns(std::chrono::milliseconds(1));
  turns.Take("/a");
  turns.Take("/a");
}

// An error in the middle of a listing was its end for XRootD: what came after a name of 255 bytes was
// missing.
TEST_F(PluginTest, ANameThatDoesNotFitIsCutAndTheListingGoesOn) {
  store_.Put("/" + std::string(255, 'l'), "");
  store_.Put("/z", "");
  const Handle directory(storage_.newDir("user.1:2@host"));
  ASSERT_EQ(directory->Opendir("/", env_), 0);
  char name[255];  // XRootD's
  EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
  EXPECT_EQ(name, std::string(254, 'l'));
  EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
  EXPECT_STREQ(name, "z");
  EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
  EXPECT_STREQ(name, "");
}

TEST_F(PluginTest, ListingWithAndWithoutStat) {
  store_.Put("/a", "123");
  store_.directories.insert("/d");
  for (const bool with_stat : {false, true}) {
    const Handle directory(storage_.newDir("user.1:2@host"));
    char name[16];
    struct stat info = {};
    EXPECT_EQ(directory->Readdir(name, sizeof(name)), -EBADF);
    ASSERT_EQ(directory->Opendir("/", env_), 0);
    if (with_stat) {
      EXPECT_EQ(directory->StatRet(&info), 0);
    }
    EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
    EXPECT_STREQ(name, "d");
    if (with_stat) {
      EXPECT_TRUE(S_ISDIR(info.st_mode));
    }
    EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
    EXPECT_STREQ(name, "a");
    EXPECT_EQ(info.st_size, with_stat ? 3 : 0);
    EXPECT_EQ(directory->Readdir(name, sizeof(name)), 0);
    EXPECT_STREQ(name, "");
    EXPECT_EQ(directory->Close(nullptr), 0);
  }
  const Handle directory(storage_.newDir("user.1:2@host"));
  EXPECT_EQ(directory->Opendir("/a", env_), -ENOTDIR);
}

TEST_F(PluginTest, SpaceIsAskedForOnceInAWhile) {
  store_.space = {1000 * kMiB, 500 * kMiB, 800 * kMiB, 400 * kMiB, 6};
  char buffer[300];
  int length = sizeof(buffer);
  EXPECT_EQ(storage_.StatLS(env_, "/", buffer, length), 0);
  EXPECT_EQ(std::string(buffer),
            fmt::format("oss.cgroup=public&oss.space={}&oss.free={}&oss.maxf={}&oss.used={}&oss.quota=-1&xec."
                        "raw={}&xec.rawfree={}",
                        800 * kMiB, 400 * kMiB, 400 * kMiB, 400 * kMiB, 1000 * kMiB, 500 * kMiB));
  EXPECT_EQ(static_cast<size_t>(length), std::string(buffer).size());
  length = sizeof(buffer);
  EXPECT_EQ(storage_.StatFS("/", buffer, length, &env_), 0);
  EXPECT_STREQ(buffer, "1 400 50 0 0 0");
  EXPECT_EQ(store_.calls, 1);
}

TEST_F(PluginTest, ExtendedStat) {
  store_.Put("/a", "123");
  char buffer[200];
  int length = sizeof(buffer);
  EXPECT_EQ(storage_.StatXA("/a", buffer, length, &env_), 0);
  EXPECT_TRUE(std::string(buffer).starts_with("oss.cgroup=public&oss.type=f&oss.used=3&oss.mt="));
  EXPECT_EQ(storage_.StatXA("/b", buffer, length, &env_), -ENOENT);
}

TEST_F(PluginTest, StoredChecksums) {
  store_.Put("/a", "123");
  xec::Checksums checksums(gateway_, nullptr);
  XrdCksData data;
  data.Set("adler32");
  data.envP = &env_;
  EXPECT_EQ(checksums.Get("/a", data), 4);
  char text[40];
  EXPECT_EQ(data.Get(text, sizeof(text)), 8);
  EXPECT_STREQ(text, "0badcafe");
  EXPECT_EQ(checksums.Ver("/a", data), 1);
  EXPECT_EQ(checksums.Get("/b", data), -ENOENT);
  XrdCksData other;
  other.Set("rot13");
  EXPECT_EQ(checksums.Get("/a", other), -EINVAL);
  EXPECT_EQ(checksums.Calc("/a", other, 1), -EINVAL);
  EXPECT_EQ(checksums.Size("md5"), 16);
  EXPECT_EQ(checksums.Size("sha512"), 64);
  EXPECT_EQ(checksums.Size("rot13"), 0);
  EXPECT_EQ(checksums.Size(nullptr), 4);
  EXPECT_STREQ(checksums.Name(0), "adler32");
  EXPECT_EQ(checksums.Name(99), nullptr);
  char names[60];
  EXPECT_STREQ(checksums.List("/a", names, sizeof(names), ' '), "adler32 crc32c");
  store_.objects["/a"].later_checksums["md5"] = "00";
  EXPECT_STREQ(checksums.List("/a", names, sizeof(names), ' '), "adler32 crc32c md5");
  EXPECT_EQ(checksums.List("/a", names, 5, ' '), nullptr);
  EXPECT_EQ(checksums.List("/b", names, sizeof(names), ' '), nullptr);
}

TEST_F(PluginTest, UserAttributes) {
  store_.Put("/a", "123");
  UserAttributesPlugin attributes(gateway_);
  const std::string value("v\0w", 3);
  char buffer[10];
  EXPECT_EQ(attributes.Set("U.k", value.data(), 3, "/a", -1, 1), 0);
  EXPECT_EQ(attributes.Set("U.k", value.data(), 3, "/a", -1, 1), -EEXIST);
  EXPECT_EQ(store_.objects["/a"].attributes["k"], value);
  EXPECT_EQ(attributes.Get("U.k", buffer, 0, "/a", -1), 3);
  EXPECT_EQ(attributes.Get("U.k", buffer, 2, "/a", -1), -ERANGE);
  EXPECT_EQ(attributes.Get("U.k", buffer, sizeof(buffer), "/a", -1), 3);
  EXPECT_EQ(std::string(buffer, 3), value);
  EXPECT_EQ(attributes.Get("U.x", buffer, sizeof(buffer), "/a", -1), -ENODATA);
  EXPECT_EQ(attributes.Get("U.k", buffer, sizeof(buffer), "/b", -1), -ENOENT);
  EXPECT_EQ(attributes.Set("XrdCks.md5", "x", 1, "/a", -1, 0), -ENOTSUP);
  XrdSysXAttr::AList* list = nullptr;
  EXPECT_EQ(attributes.List(&list, "/a", -1, 1), 3);
  ASSERT_NE(list, nullptr);
  EXPECT_STREQ(list->Name, "U.k");
  EXPECT_EQ(list->Nlen, 3);
  EXPECT_EQ(list->Vlen, 3);
  EXPECT_EQ(list->Next, nullptr);
  attributes.Free(list);
  EXPECT_EQ(attributes.Del("U.x", "/a", -1), -ENODATA);
  EXPECT_EQ(attributes.Del("U.k", "/b", -1), -ENOENT);
  EXPECT_EQ(attributes.Del("U.k", "/a", -1), 0);
  EXPECT_TRUE(store_.objects["/a"].attributes.empty());
}

}  // namespace
}  // namespace xec
