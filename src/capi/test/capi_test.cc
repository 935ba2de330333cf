// SPDX-License-Identifier: LGPL-3.0-or-later
// The shared library as its users have it: nothing of XEC is linked besides.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "xec/xec.h"

namespace {

namespace fs = std::filesystem;

class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    config_ = xec_config_new();
    for (int i = 0; i < 4; ++i) {
      const fs::path directory = root_ / std::to_string(i);
      fs::create_directories(directory);
      ASSERT_EQ(xec_config_set(config_, "data", directory.c_str()), XEC_OK) << xec_config_error(config_);
    }
    ASSERT_EQ(xec_config_set(config_, "geometry", "2+1"), XEC_OK);
    char error[200];
    ASSERT_EQ(xec_store_open(config_, 1, 0, &store_, error, sizeof error), XEC_OK) << error;
  }
  void TearDown() override {
    xec_store_close(store_);
    xec_config_free(config_);
    fs::remove_all(root_);
  }

  // Waits for it and frees it.
  static int Code(xec_request* request) {
    const int code = xec_request_wait(request);
    EXPECT_EQ(code, xec_request_code(request));
    EXPECT_EQ(code == XEC_OK, std::strlen(xec_request_message(request)) == 0);
    xec_request_free(request);
    return code;
  }

  int Put(const char* path, const std::string& bytes, const xec_write_options* options = nullptr) {
    xec_request* const create = xec_create(store_, path, options, nullptr);
    const int created = xec_request_wait(create);
    xec_writer* const writer = xec_request_take_writer(create);
    EXPECT_EQ(writer == nullptr, created != XEC_OK);
    EXPECT_EQ(xec_request_take_writer(create), nullptr);
    xec_request_free(create);
    if (writer == nullptr) return created;
    int code = Code(xec_append(writer, bytes.data(), bytes.size(), nullptr));
    if (code == XEC_OK) code = Code(xec_commit(writer, nullptr));
    xec_writer_free(writer);
    return code;
  }

  xec_reader* Open(const char* path) {
    xec_request* const open = xec_open(store_, path, nullptr, nullptr);
    EXPECT_EQ(xec_request_wait(open), XEC_OK) << xec_request_message(open);
    xec_reader* const reader = xec_request_take_reader(open);
    xec_request_free(open);
    return reader;
  }

  xec_edit* OpenEdit(const char* path, const xec_edit_options* options = nullptr) {
    xec_request* const open = xec_edit_open(store_, path, options, nullptr);
    EXPECT_EQ(xec_request_wait(open), XEC_OK) << xec_request_message(open);
    xec_edit* const edit = xec_request_take_edit(open);
    EXPECT_EQ(xec_request_take_edit(open), nullptr);
    xec_request_free(open);
    return edit;
  }

  static std::string ReadEdit(xec_edit* edit, uint64_t offset, size_t size) {
    std::string bytes(size, '-');
    xec_request* const read = xec_edit_read(edit, offset, bytes.data(), size);
    EXPECT_EQ(xec_request_wait(read), XEC_OK) << xec_request_message(read);
    bytes.resize(xec_request_bytes(read));
    xec_request_free(read);
    return bytes;
  }

  std::string Get(const char* path) {
    xec_reader* const reader = Open(path);
    std::string bytes(xec_reader_size(reader), '-');
    EXPECT_EQ(Code(xec_read(reader, 0, bytes.data(), bytes.size(), nullptr)), XEC_OK);
    xec_reader_free(reader);
    return bytes;
  }

  std::string VersionOf(const char* path) {
    xec_request* const stat = xec_stat(store_, path, nullptr);
    EXPECT_EQ(xec_request_wait(stat), XEC_OK);
    std::string version = xec_request_info(stat)->version;
    xec_request_free(stat);
    return version;
  }

  fs::path root_;
  xec_config* config_ = nullptr;
  xec_store* store_ = nullptr;
};

TEST_F(CInterface, AnObjectIsWrittenReadAndDescribed) {
  const std::string bytes(3'000'000, 'x');
  xec_pair attribute = {"k", "v\0w", 3};
  xec_write_options options = {};
  options.size = sizeof options;
  options.object_size = 3'000'000;
  options.attributes = &attribute;
  options.attributes_count = 1;
  ASSERT_EQ(Put("/d/a", bytes, &options), XEC_OK);
  xec_reader* const reader = Open("/d/a");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(xec_reader_size(reader), bytes.size());
  EXPECT_EQ(xec_reader_version(reader), VersionOf("/d/a"));
  std::string got(bytes.size() + 10, '-');
  xec_request* const read = xec_read(reader, 0, got.data(), got.size(), nullptr);
  ASSERT_EQ(xec_request_wait(read), XEC_OK);
  EXPECT_EQ(xec_request_bytes(read), bytes.size());
  EXPECT_EQ(got.substr(0, bytes.size()), bytes);
  EXPECT_EQ(got.substr(bytes.size()), "----------");
  xec_request_free(read);
  char one[2], other[3];
  const xec_piece pieces[] = {{0, one, sizeof one}, {2'999'997, other, sizeof other}};
  EXPECT_EQ(Code(xec_read_vector(reader, pieces, 2, nullptr)), XEC_OK);
  EXPECT_EQ(std::string(one, 2) + std::string(other, 3), "xxxxx");
  xec_reader_free(reader);
  ASSERT_EQ(Code(xec_set_mode(store_, "/d/a", 0640, nullptr)), XEC_OK);
  xec_request* const describe = xec_describe(store_, "/d/a", nullptr);
  ASSERT_EQ(xec_request_wait(describe), XEC_OK);
  const xec_description* const all = xec_request_description(describe);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->data_chunks, 2u);
  EXPECT_EQ(all->info.mode, 0640u);
  EXPECT_EQ(all->checksums_count, 2u);
  EXPECT_STREQ(all->checksums[0].name, "adler32");
  EXPECT_EQ(std::string(all->attributes[0].value, all->attributes[0].value_size), std::string("v\0w", 3));
  EXPECT_EQ(xec_request_page(describe), nullptr);
  xec_request_free(describe);
}

TEST_F(CInterface, AComputedChecksumIsKeptWithItsVersion) {
  ASSERT_EQ(Put("/a", "1"), XEC_OK);
  const std::string first = VersionOf("/a");
  EXPECT_EQ(Code(xec_keep_checksum(store_, "/a", first.c_str(), "sha1", "356a192b", nullptr)), XEC_OK);
  xec_request* const describe = xec_describe(store_, "/a", nullptr);
  ASSERT_EQ(xec_request_wait(describe), XEC_OK);
  const xec_description* const all = xec_request_description(describe);
  ASSERT_EQ(all->checksums_count, 3u);
  EXPECT_STREQ(all->checksums[2].name, "sha1");
  EXPECT_STREQ(all->checksums[2].value, "356a192b");
  EXPECT_EQ(all->attributes_count, 0u);
  xec_request_free(describe);
  ASSERT_EQ(Put("/a", "2"), XEC_OK);
  EXPECT_EQ(Code(xec_keep_checksum(store_, "/a", first.c_str(), "sha1", "356a192b", nullptr)),
            XEC_NOT_CURRENT);
  EXPECT_EQ(Code(xec_keep_checksum(store_, "/a", nullptr, "sha1", "356a192b", nullptr)),
            XEC_INVALID_ARGUMENT);
}

TEST_F(CInterface, ConditionsAndErrorsAreTold) {
  ASSERT_EQ(Put("/a", "1"), XEC_OK);
  xec_write_options options = {};
  options.size = sizeof options;
  xec_only_if condition = {sizeof condition, 1, nullptr};
  options.only_if = &condition;
  EXPECT_EQ(Put("/a", "2", &options), XEC_ALREADY_EXISTS);
  const std::string first = VersionOf("/a");
  condition = {sizeof condition, 0, first.c_str()};
  EXPECT_EQ(Put("/a", "2", &options), XEC_OK);
  EXPECT_EQ(Put("/a", "3", &options), XEC_NOT_CURRENT);
  xec_only_if stale = {sizeof stale, 0, first.c_str()};
  EXPECT_EQ(Code(xec_remove(store_, "/a", &stale, nullptr)), XEC_NOT_CURRENT);
  stale.version = "nonsense";
  EXPECT_EQ(Code(xec_remove(store_, "/a", &stale, nullptr)), XEC_INVALID_ARGUMENT);
  stale = {};
  EXPECT_EQ(Code(xec_remove(store_, "/a", &stale, nullptr)), XEC_INVALID_ARGUMENT) << "no size";
  EXPECT_EQ(Code(xec_stat(store_, "/none", nullptr)), XEC_NOT_FOUND);
  EXPECT_EQ(Code(xec_stat(store_, nullptr, nullptr)), XEC_INVALID_ARGUMENT);
  xec_call call = {};
  call.size = sizeof call;
  call.timeout_ms = 60'000;
  call.subject = "alice";
  EXPECT_EQ(Code(xec_remove(store_, "/a", nullptr, &call)), XEC_OK);
  EXPECT_STREQ(xec_code_name(XEC_NOT_CURRENT), "not_current");
  EXPECT_STREQ(xec_code_name(XEC_OK), "ok");
  EXPECT_STREQ(xec_code_name(12345), "unknown_code");
}

// A program that was compiled with a later header, or an earlier one.
TEST_F(CInterface, StructuresOfOtherVersionsAreTakenIfTheyAskForNothingNew) {
  struct Later {
    xec_call call;
    int64_t more;
  } later = {};
  later.call.size = sizeof later;
  EXPECT_EQ(Code(xec_make_directory(store_, "/d", 0, &later.call)), XEC_OK);
  later.more = 1;
  EXPECT_EQ(Code(xec_make_directory(store_, "/e", 0, &later.call)), XEC_INVALID_ARGUMENT);
  xec_call earlier = {};
  earlier.size = offsetof(xec_call, subject);
  earlier.subject = reinterpret_cast<const char*>(1);  // is not looked at
  EXPECT_EQ(Code(xec_make_directory(store_, "/e", 0, &earlier)), XEC_OK);
}

TEST_F(CInterface, NamesAreListedInPagesMovedAndCopied) {
  for (const char* path : {"/d/c", "/d/a", "/d/b"}) ASSERT_EQ(Put(path, path), XEC_OK);
  xec_request* list = xec_list(store_, "/d", nullptr, nullptr, 2, nullptr);
  ASSERT_EQ(xec_request_wait(list), XEC_OK);
  const xec_page* page = xec_request_page(list);
  ASSERT_EQ(page->count, 2u);
  EXPECT_STREQ(page->names[1].name, "b");
  EXPECT_TRUE(page->more);
  xec_request_free(list);
  list = xec_list(store_, "/d", "b", nullptr, 0, nullptr);
  ASSERT_EQ(xec_request_wait(list), XEC_OK);
  EXPECT_EQ(xec_request_page(list)->count, 1u);
  EXPECT_FALSE(xec_request_page(list)->more);
  xec_request_free(list);
  const xec_only_if absent = {sizeof absent, 1, nullptr};
  EXPECT_EQ(Code(xec_rename(store_, "/d/a", "/d/b", nullptr, &absent, nullptr)), XEC_ALREADY_EXISTS);
  EXPECT_EQ(Code(xec_rename(store_, "/d", "/e", nullptr, nullptr, nullptr)), XEC_OK);
  EXPECT_EQ(Code(xec_copy(store_, "/e/a", "/f/a", nullptr, &absent, nullptr)), XEC_OK);
  EXPECT_EQ(Code(xec_copy(store_, "/e/a", "/f/a", nullptr, &absent, nullptr)), XEC_ALREADY_EXISTS);
  EXPECT_EQ(Code(xec_remove_directory(store_, "/f", nullptr)), XEC_NOT_EMPTY);
  xec_request* const space = xec_get_space(store_, nullptr);
  ASSERT_EQ(xec_request_wait(space), XEC_OK);
  EXPECT_GT(xec_request_space(space)->total_bytes, 0u);
  xec_request_free(space);
}

TEST_F(CInterface, ManyRequestsAtOnceCallTheirFunctionsAndMayBeFreedInThem) {
  constexpr int kRequests = 200;
  ASSERT_EQ(Put("/a", "x"), XEC_OK);
  struct Counter {
    std::atomic<int> left{kRequests};
    std::promise<void> all;
  } counter;
  for (int i = 0; i < kRequests; ++i) {
    xec_request* const request = xec_stat(store_, i % 2 == 0 ? "/a" : "/b", nullptr);
    xec_request_then(
        request,
        [](xec_request* ended, void* user) {
          auto* const of = static_cast<Counter*>(user);
          const int code = xec_request_code(ended);
          EXPECT_TRUE(code == XEC_OK || code == XEC_NOT_FOUND);
          xec_request_free(ended);
          if (--of->left == 0) of->all.set_value();
        },
        &counter);
  }
  counter.all.get_future().wait();
}

TEST_F(CInterface, ARequestMayBeFreedBeforeItsEndAndCancelled) {
  for (int i = 0; i < 50; ++i) xec_request_free(xec_stat(store_, "/a", nullptr));
  xec_request* const request = xec_stat(store_, "/a", nullptr);
  xec_request_cancel(request);
  const int code = Code(request);
  EXPECT_TRUE(code == XEC_CANCELLED || code == XEC_NOT_FOUND);
}

TEST_F(CInterface, ReadersMayBeFreedWhileTheyRead) {
  ASSERT_EQ(Put("/a", std::string(3'000'000, 'x')), XEC_OK);
  for (int i = 0; i < 20; ++i) {
    xec_reader* const reader = Open("/a");
    std::string bytes(3'000'000, '-');
    xec_request* const read = xec_read(reader, 0, bytes.data(), bytes.size(), nullptr);
    xec_reader_free(reader);
    EXPECT_EQ(xec_request_wait(read), XEC_OK);
    xec_request_free(read);
    EXPECT_EQ(bytes.find('-'), std::string::npos);
  }
}

TEST_F(CInterface, AnObjectIsChangedAnywhereAndCommittedByASyncAndAClose) {
  ASSERT_EQ(Put("/a", "0123456789"), XEC_OK);
  xec_edit* const edit = OpenEdit("/a");
  EXPECT_FALSE(xec_edit_changed(edit));
  EXPECT_EQ(Code(xec_edit_write(edit, 2, "ab", 2)), XEC_OK);
  EXPECT_EQ(Code(xec_edit_write(edit, 12, "z", 1)), XEC_OK);
  EXPECT_EQ(Code(xec_edit_append(edit, "end", 3)), XEC_OK);
  EXPECT_TRUE(xec_edit_changed(edit));
  EXPECT_EQ(xec_edit_size(edit), 16u);
  EXPECT_EQ(ReadEdit(edit, 0, 20), std::string("01ab456789\0\0zend", 16));
  EXPECT_EQ(Get("/a"), "0123456789") << "nobody sees it yet";
  xec_request* const sync = xec_edit_sync(edit);
  ASSERT_EQ(xec_request_wait(sync), XEC_OK) << xec_request_message(sync);
  EXPECT_EQ(xec_request_bytes(sync), 16u);
  EXPECT_EQ(xec_request_description(sync)->info.version, VersionOf("/a"));
  xec_request_free(sync);
  EXPECT_EQ(Get("/a").size(), 16u);
  EXPECT_EQ(Code(xec_edit_truncate(edit, 4)), XEC_OK);
  EXPECT_EQ(Code(xec_edit_close(edit)), XEC_OK);
  EXPECT_EQ(Get("/a"), "01ab");
  EXPECT_EQ(Code(xec_edit_write(edit, 0, "x", 1)), XEC_INVALID_ARGUMENT) << "closed";
  xec_edit_free(edit);
}

TEST_F(CInterface, AnEditWithoutChangesHasNothingToCommitAndOneThatIsFreedCommitsNothing) {
  ASSERT_EQ(Put("/a", "0123456789"), XEC_OK);
  const std::string version = VersionOf("/a");
  xec_edit* edit = OpenEdit("/a");
  xec_request* const close = xec_edit_close(edit);
  EXPECT_EQ(xec_request_wait(close), XEC_OK);
  EXPECT_EQ(xec_request_description(close), nullptr);
  xec_request_free(close);
  xec_edit_free(edit);
  edit = OpenEdit("/a");
  EXPECT_EQ(Code(xec_edit_write(edit, 2, "ab", 2)), XEC_OK);
  xec_request* const write = xec_edit_append(edit, "ab", 2);
  xec_edit_free(edit);
  EXPECT_EQ(Code(write), XEC_OK) << "it goes on to its end";
  EXPECT_EQ(VersionOf("/a"), version);
  // Of one that nobody has taken, too.
  xec_request_free(xec_edit_open(store_, "/a", nullptr, nullptr));
}

TEST_F(CInterface, OfTwoWhoChangeAnObjectOneIsToldUnlessTheLastWins) {
  ASSERT_EQ(Put("/a", "0123456789"), XEC_OK);
  xec_edit_options options = {};
  options.size = sizeof options;
  options.last_writer_wins = 1;
  xec_edit *const first = OpenEdit("/a"), *const last = OpenEdit("/a", &options);
  EXPECT_EQ(Code(xec_edit_write(first, 0, "first", 5)), XEC_OK);
  EXPECT_EQ(Code(xec_edit_write(last, 0, "last", 4)), XEC_OK);
  ASSERT_EQ(Put("/a", "another"), XEC_OK);
  EXPECT_EQ(Code(xec_edit_sync(first)), XEC_NOT_CURRENT);
  EXPECT_EQ(Code(xec_edit_close(first)), XEC_NOT_CURRENT);
  EXPECT_EQ(ReadEdit(first, 0, 20), "first56789") << "it can still be saved elsewhere";
  EXPECT_EQ(Get("/a"), "another");
  EXPECT_EQ(Code(xec_edit_close(last)), XEC_OK);
  EXPECT_EQ(Get("/a"), "last456789");
  xec_edit_free(first);
  xec_edit_free(last);
}

TEST_F(CInterface, EditsMakeObjectsAsTheirOptionsSay) {
  EXPECT_EQ(Code(xec_edit_open(store_, "/d/a", nullptr, nullptr)), XEC_NOT_FOUND);
  xec_pair attribute = {"k", "v", 1};
  xec_edit_options options = {};
  options.size = sizeof options;
  options.exclusive = 1;
  options.attributes = &attribute;
  options.attributes_count = 1;
  xec_edit* edit = OpenEdit("/d/a", &options);
  EXPECT_EQ(Code(xec_edit_append(edit, "text", 4)), XEC_OK);
  EXPECT_EQ(Code(xec_edit_close(edit)), XEC_OK);
  xec_edit_free(edit);
  xec_request* const describe = xec_describe(store_, "/d/a", nullptr);
  ASSERT_EQ(xec_request_wait(describe), XEC_OK);
  EXPECT_EQ(xec_request_description(describe)->attributes_count, 1u);
  xec_request_free(describe);
  EXPECT_EQ(Code(xec_edit_open(store_, "/d/a", &options, nullptr)), XEC_ALREADY_EXISTS);
  options = {};
  options.size = sizeof options;
  options.truncate = 1;
  edit = OpenEdit("/d/a", &options);
  EXPECT_EQ(xec_edit_size(edit), 0u);
  EXPECT_EQ(Code(xec_edit_close(edit)), XEC_OK);
  xec_edit_free(edit);
  EXPECT_EQ(Get("/d/a"), "");
  options.truncate = 0;
  options.create = 1;
  options.parent_must_exist = 1;
  edit = OpenEdit("/d/b", &options);
  EXPECT_EQ(Code(xec_edit_close(edit)), XEC_OK);
  xec_edit_free(edit);
  EXPECT_EQ(Get("/d/b"), "");
  EXPECT_EQ(Code(xec_edit_open(store_, "/none/b", &options, nullptr)), XEC_NOT_FOUND);
  options.size = 0;
  EXPECT_EQ(Code(xec_edit_open(store_, "/d/b", &options, nullptr)), XEC_INVALID_ARGUMENT);
}

// Appends of many threads do not meet, and requests made without waiting are done one after another.
TEST_F(CInterface, RequestsOfAnEditAreDoneInTheOrderOfTheCalls) {
  xec_edit_options options = {};
  options.size = sizeof options;
  options.create = 1;
  xec_edit* const edit = OpenEdit("/a", &options);
  std::vector<xec_request*> requests;
  std::string wanted;
  static constexpr char kDigits[] = "0123456789";
  for (size_t i = 0; i < 200; ++i) {
    requests.push_back(xec_edit_append(edit, &kDigits[i % 10], 1));
    wanted += kDigits[i % 10];
    if (i % 50 == 49) {
      requests.push_back(xec_edit_truncate(edit, i - 20));
      wanted.resize(i - 20);
    }
  }
  requests.push_back(xec_edit_sync(edit));
  for (xec_request* const request : requests) EXPECT_EQ(Code(request), XEC_OK);
  EXPECT_EQ(Get("/a"), wanted);
  xec_edit_free(edit);
}

TEST(CInterfaceErrors, AWrongConfigurationIsExplained) {
  xec_config* const config = xec_config_new();
  EXPECT_EQ(xec_config_set(config, "geometrie", "2+1"), XEC_INVALID_ARGUMENT);
  EXPECT_NE(std::string(xec_config_error(config)).find("geometrie"), std::string::npos);
  EXPECT_EQ(xec_config_read_text(config, "xec.geometry 2x1\n"), XEC_INVALID_ARGUMENT);
  EXPECT_EQ(xec_config_read_file(config, "/no/such/file"), XEC_NOT_FOUND);
  xec_store* store = nullptr;
  char error[20];
  EXPECT_NE(xec_store_open(config, 0, 0, &store, error, sizeof error), XEC_OK);
  EXPECT_EQ(store, nullptr);
  EXPECT_LT(std::strlen(error), sizeof error);
  xec_config_free(config);
}

}  // namespace
