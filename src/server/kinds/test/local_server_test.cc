// SPDX-License-Identifier: LGPL-3.0-or-later
// What a LocalServer does beyond the contract: its root, its errors, its form on disk.
#include "server/kinds/local_server.hh"

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/calls.hh"
#include "server/test/expect_status.hh"

namespace {
std::atomic<int> syncs = 0;
}

// In place of the library's, so that a test can count what is made durable.
extern "C" int fsync(int file) {
  ++syncs;
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace xec {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class LocalServerTest : public testing::Test {
 protected:
  LocalServerTest() : top_(testing::TempDir() + "xec-local-XXXXXX") {
    XEC_CHECK(mkdtemp(top_.data()) != nullptr);
    root_ = top_ + "/d01";
    fs::create_directory(root_);
    server_ = std::make_shared<LocalServer>(root_);
  }
  ~LocalServerTest() override {
    server_.reset();
    if (mounted_) umount2(root_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }

  CallContext context() { return {&pool_, pool_.Now() + 60s}; }
  Status Make(const std::string& path, const std::string& content) {
    return SyncWait(CreateFile(context(), server_, path, content, true));
  }
  Result<std::string> Content(const std::string& path) {
    return SyncWait(ReadFile(context(), server_, path, 1 << 20));
  }
  Result<std::vector<Entry>> Listed(const std::string& path) {
    return SyncWait(List(context(), server_, path));
  }

  // A file system of its own at the root; false (and a skip) where we may not mount.
  bool Mount(const char* options) {
    if (mount("tmpfs", root_.c_str(), "tmpfs", 0, options) != 0) return false;
    mounted_ = true;
    return true;
  }

  static void WriteFileAt(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << content;
  }

  ThreadPool pool_{"test", 1};
  std::string top_;
  std::string root_;
  bool mounted_ = false;
  DataServerPtr server_;
};

TEST_F(LocalServerTest, FilesLieBelowTheRootAsTheyAre) {
  EXPECT_OK(Make("/a/b c/f", "content"));
  std::ifstream in(root_ + "/a/b c/f");
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "content");
  EXPECT_EQ(server_->name(), root_);
  WriteFileAt(root_ + "/by/others", "hello");
  EXPECT_EQ(*Content("/by/others"), "hello");
}

TEST_F(LocalServerTest, AttributesLieAsAStockServerStoresThem) {
  EXPECT_OK(Make("/f", "x"));
  const Attributes some = {{"xrdec.nbdata", "8"}};
  EXPECT_OK(SyncWait(SetAttributes(context(), server_, "/f", some)));
  std::array<char, 16> value = {};
  ASSERT_EQ(getxattr((root_ + "/f").c_str(), "user.U.xrdec.nbdata", value.data(), value.size()), 1);
  EXPECT_EQ(value[0], '8');
  // Attributes of others are not ours.
  ASSERT_EQ(setxattr((root_ + "/f").c_str(), "user.xrdec.other", "1", 1, 0), 0);
  EXPECT_EQ(*SyncWait(GetAttributes(context(), server_, "/f", "")), some);
}

TEST_F(LocalServerTest, DirectoriesOfOneFileSystemSayThatTheyShareIt) {
  fs::create_directory(top_ + "/d02");
  const DataServerPtr other = std::make_shared<LocalServer>(top_ + "/d02");
  const std::string filesystem = SyncWait(GetSpace(context(), server_))->filesystem;
  EXPECT_NE(filesystem, "");
  EXPECT_EQ(SyncWait(GetSpace(context(), other))->filesystem, filesystem);
}

TEST_F(LocalServerTest, IllegalPathsAreRefused) {
  WriteFileAt(top_ + "/outside", "secret");
  for (const char* path : {"", "outside", "/../outside", "/a/../../outside", "//outside", "/a/", "/."}) {
    SCOPED_TRACE(path);
    EXPECT_CODE(SyncWait(Open(context(), server_, path, OpenMode::kRead)), Code::kInvalidArgument);
    EXPECT_CODE(SyncWait(Open(context(), server_, path, OpenMode::kCreate)), Code::kInvalidArgument);
    EXPECT_CODE(Listed(path), Code::kInvalidArgument);
    EXPECT_CODE(SyncWait(Rename(context(), server_, path, "/x")), Code::kInvalidArgument);
    EXPECT_CODE(SyncWait(Remove(context(), server_, path)), Code::kInvalidArgument);
    EXPECT_CODE(SyncWait(MakeDirectory(context(), server_, path)), Code::kInvalidArgument);
    EXPECT_CODE(SyncWait(RemoveDirectory(context(), server_, path)), Code::kInvalidArgument);
  }
  EXPECT_CODE(Listed(std::string("/a\0b", 4)), Code::kInvalidArgument);
}

TEST_F(LocalServerTest, ARemovedRootIsUnavailableUntilItIsBack) {
  EXPECT_OK(Make("/d/f", "content"));
  const Result<ArchiveFilePtr> open = SyncWait(Open(context(), server_, "/d/f", OpenMode::kRead));
  ASSERT_TRUE(open);
  fs::rename(root_, top_ + "/away");
  EXPECT_CODE(Content("/d/f"), Code::kUnavailable);
  EXPECT_CODE(Content("/none"), Code::kUnavailable);
  EXPECT_CODE(Listed("/"), Code::kUnavailable);
  EXPECT_CODE(Make("/d/g", "x"), Code::kUnavailable);
  EXPECT_CODE(SyncWait(GetSpace(context(), server_)), Code::kUnavailable);
  EXPECT_FALSE(fs::exists(top_ + "/away/d/g"));
  // A reader that has a file open reads on.
  std::vector<ByteRange> ranges = {{0, 7}};
  EXPECT_EQ(*SyncWait(Read(context(), *open, ranges, Slice(Buffer::Allocate(7)))), 7u);
  fs::rename(top_ + "/away", root_);
  EXPECT_EQ(*Content("/d/f"), "content");
  EXPECT_CODE(Content("/none"), Code::kNotFound);
  EXPECT_OK(SyncWait(Close(context(), *open)));
}

TEST_F(LocalServerTest, ARootThatAppearsLaterIsTaken) {
  server_ = std::make_shared<LocalServer>(top_ + "/later");
  EXPECT_CODE(Content("/f"), Code::kUnavailable);
  fs::create_directory(top_ + "/later");
  EXPECT_CODE(Content("/f"), Code::kNotFound);
  EXPECT_OK(Make("/f", "x"));
}

TEST_F(LocalServerTest, ARootThatIsAFileIsUnavailable) {
  WriteFileAt(top_ + "/file", "x");
  server_ = std::make_shared<LocalServer>(top_ + "/file");
  const Result<std::string> content = Content("/f");
  EXPECT_CODE(content, Code::kUnavailable);
  EXPECT_NE(content.error().message.find(top_ + "/file"), std::string::npos) << content.error().message;
}

TEST_F(LocalServerTest, WithAnIdentityAnotherDirectoryIsNotTaken) {
  WriteFileAt(root_ + "/.xec/server", "member s01\n");
  LocalServerOptions options;
  options.identity = LocalIdentity{"/.xec/server", "member s01\n"};
  server_ = std::make_shared<LocalServer>(root_, options);
  EXPECT_OK(Make("/f", "content"));
  EXPECT_CODE(Content("/none"), Code::kNotFound);
  // An empty directory in its place, as when a disk is not mounted.
  fs::rename(root_, top_ + "/away");
  fs::create_directory(root_);
  EXPECT_CODE(Content("/f"), Code::kUnavailable);
  EXPECT_CODE(Make("/g", "x"), Code::kUnavailable);
  EXPECT_TRUE(fs::is_empty(root_));
  // Another member's directory.
  WriteFileAt(root_ + "/.xec/server", "member s02\n");
  EXPECT_CODE(Content("/f"), Code::kUnavailable);
  fs::remove_all(root_);
  fs::rename(top_ + "/away", root_);
  EXPECT_EQ(*Content("/f"), "content");
}

TEST_F(LocalServerTest, AnEmptiedRootKnowsNothing) {
  WriteFileAt(root_ + "/.xec/server", "member s01\n");
  LocalServerOptions options;
  options.identity = LocalIdentity{"/.xec/server", "member s01\n"};
  server_ = std::make_shared<LocalServer>(root_, options);
  EXPECT_OK(Make("/f", "content"));
  for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
  EXPECT_CODE(Content("/f"), Code::kUnavailable);
  EXPECT_CODE(Listed("/d"), Code::kUnavailable);
}

TEST_F(LocalServerTest, ADeadlineThatPassedInTheQueueIsNotExecuted) {
  Status answer;
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  server_->MakeDirectory({pool_.Now() - 1s}, "/late", [&](Status status) {
    std::lock_guard lock(mutex);
    answer = std::move(status);
    done = true;
    ready.notify_all();
  });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return done; });
  EXPECT_CODE(answer, Code::kDeadlineExceeded);
  EXPECT_FALSE(fs::exists(root_ + "/late"));
}

TEST_F(LocalServerTest, AFullFileSystemIsNoSpace) {
  if (!Mount("size=1m")) GTEST_SKIP() << "cannot mount a tmpfs here: " << ErrnoWords(errno);
  EXPECT_OK(Make("/small", std::string(100 << 10, 'x')));
  EXPECT_CODE(Make("/large", std::string(2 << 20, 'x')), Code::kNoSpace);
  EXPECT_LT(SyncWait(GetSpace(context(), server_))->free_bytes, uint64_t{1} << 20);
  EXPECT_OK(SyncWait(Remove(context(), server_, "/large")));
  EXPECT_OK(Make("/again", "x"));
  EXPECT_EQ(Content("/small")->size(), size_t{100} << 10);
}

TEST_F(LocalServerTest, AReadOnlyFileSystemRefuses) {
  if (!Mount("size=1m")) GTEST_SKIP() << "cannot mount a tmpfs here: " << ErrnoWords(errno);
  EXPECT_OK(Make("/d/f", "x"));
  ASSERT_EQ(mount("tmpfs", root_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_CODE(Make("/d/g", "x"), Code::kPermissionDenied);
  EXPECT_CODE(Make("/new/g", "x"), Code::kPermissionDenied);
  EXPECT_CODE(SyncWait(Rename(context(), server_, "/d/f", "/d/g")), Code::kPermissionDenied);
  EXPECT_CODE(SyncWait(Remove(context(), server_, "/d/f")), Code::kPermissionDenied);
  EXPECT_CODE(SyncWait(MakeDirectory(context(), server_, "/e")), Code::kPermissionDenied);
  EXPECT_EQ(*Content("/d/f"), "x");
  EXPECT_CODE(Content("/none"), Code::kNotFound);
}

// It was said that the server is unavailable.
TEST_F(LocalServerTest, ADirectoryOnWhichSomethingIsMountedIsNotEmpty) {
  const std::string place = root_ + "/m";
  fs::create_directory(place);
  if (mount("tmpfs", place.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "cannot mount a tmpfs here: " << ErrnoWords(errno);
  EXPECT_CODE(SyncWait(RemoveDirectory(context(), server_, "/m")), Code::kNotEmpty);
  EXPECT_EQ(umount(place.c_str()), 0);
  EXPECT_OK(SyncWait(RemoveDirectory(context(), server_, "/m")));
}

TEST_F(LocalServerTest, ADirectoryWithoutPermissionRefuses) {
  if (geteuid() == 0) GTEST_SKIP() << "root may do everything; AReadOnlyFileSystemRefuses covers the code";
  fs::permissions(root_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_CODE(Make("/f", "x"), Code::kPermissionDenied);
  fs::permissions(root_, fs::perms::owner_all);
}

TEST_F(LocalServerTest, AMountOverTheRootIsNoticed) {
  EXPECT_OK(Make("/f", "below"));
  if (!Mount("size=1m")) GTEST_SKIP() << "cannot mount a tmpfs here: " << ErrnoWords(errno);
  EXPECT_CODE(Content("/f"), Code::kNotFound);
  EXPECT_EQ(umount2(root_.c_str(), MNT_DETACH), 0);
  mounted_ = false;
  EXPECT_EQ(*Content("/f"), "below");
}

TEST_F(LocalServerTest, LinksToOtherDisksAreFollowed) {
  WriteFileAt(top_ + "/space/data", "elsewhere");
  fs::create_symlink(top_ + "/space/data", root_ + "/f");
  fs::create_symlink(top_ + "/space/gone", root_ + "/dangling");
  EXPECT_EQ(*Content("/f"), "elsewhere");
  const Result<std::vector<Entry>> entries = Listed("/");
  ASSERT_EQ(entries->size(), 2u);
  for (const Entry& entry : *entries) {
    if (entry.name == "f") {
      EXPECT_EQ(entry.size, 9u);
    }
  }
}

TEST_F(LocalServerTest, RenameNeverReplaces) {
  EXPECT_OK(Make("/a", "1"));
  EXPECT_OK(Make("/b", "2"));
  EXPECT_CODE(SyncWait(Rename(context(), server_, "/a", "/b")), Code::kAlreadyExists);
  EXPECT_EQ(*Content("/b"), "2");
}

// Its maker may not have come to its sync yet, or have failed there.
TEST_F(LocalServerTest, WhatIsThereAlreadyIsMadeDurableAsWell) {
  EXPECT_OK(Make("/a", "1"));
  EXPECT_OK(Make("/b", "2"));
  fs::create_directory(root_ + "/d");
  const auto synced = [](const std::function<void()>& change) {
    const int before = syncs;
    change();
    return syncs - before;
  };
  EXPECT_EQ(synced([&] { EXPECT_OK(SyncWait(MakeDirectory(context(), server_, "/d"))); }), 2);
  EXPECT_EQ(synced([&] { EXPECT_OK(SyncWait(MakeDirectory(context(), server_, "/e"))); }), 1);
  EXPECT_GT(
      synced([&] { EXPECT_CODE(SyncWait(Rename(context(), server_, "/a", "/b")), Code::kAlreadyExists); }),
      0);
  const Attributes some = {{"k", "v"}};
  EXPECT_GT(synced([&] { EXPECT_OK(SyncWait(SetAttributes(context(), server_, "/a", some))); }), 0);
  server_ = std::make_shared<LocalServer>(root_, LocalServerOptions{.sync_directories = false});
  EXPECT_EQ(synced([&] { EXPECT_OK(SyncWait(MakeDirectory(context(), server_, "/d"))); }), 0);
}

TEST_F(LocalServerTest, TheServerMayGoInItsOwnCompletion) {
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  // The completion owns the last reference, and drops it on the server's own thread.
  LocalServer* raw = static_cast<LocalServer*>(server_.get());
  raw->List({}, "/", [&, owner = std::exchange(server_, nullptr)](Result<std::vector<Entry>> listed) mutable {
    EXPECT_OK(listed);
    owner.reset();
    std::lock_guard lock(mutex);
    done = true;
    ready.notify_all();
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(ready.wait_for(lock, 60s, [&] { return done; }));
}

TEST(ErrnoTable, SaysWhatTheContractNeeds) {
  EXPECT_EQ(CodeOfErrno(ENOENT), Code::kNotFound);
  EXPECT_EQ(CodeOfErrno(EEXIST), Code::kAlreadyExists);
  EXPECT_EQ(CodeOfErrno(ENOTEMPTY), Code::kNotEmpty);
  EXPECT_EQ(CodeOfErrno(ENOTDIR), Code::kNotDirectory);
  EXPECT_EQ(CodeOfErrno(EISDIR), Code::kIsDirectory);
  for (const int error : {ENOSPC, EDQUOT}) EXPECT_EQ(CodeOfErrno(error), Code::kNoSpace);
  for (const int error : {EACCES, EPERM, EROFS}) EXPECT_EQ(CodeOfErrno(error), Code::kPermissionDenied);
  for (const int error : {ENAMETOOLONG, EINVAL}) EXPECT_EQ(CodeOfErrno(error), Code::kInvalidArgument);
  for (const int error : {EIO, ESTALE, EMFILE, ENODEV}) EXPECT_EQ(CodeOfErrno(error), Code::kUnavailable);
}

}  // namespace
}  // namespace xec
