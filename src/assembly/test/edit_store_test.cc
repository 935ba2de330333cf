// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects of a store on real directories that are changed anywhere.
#include <filesystem>
#include <future>

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "assembly/open_store.hh"
#include "base/check.hh"
#include "edit/test/edit_model.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class EditStoreTest : public testing::Test {
 protected:
  using Options = std::map<std::string, std::string>;

  EditStoreTest() : EditStoreTest(4, {{"geometry", "2+1"}, {"chunk-size", "4KiB"}}) {}
  EditStoreTest(int servers, Options options) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    options["sync"] = "none";
    Configuration configuration;
    for (int i = 1; i <= servers; ++i)
      EXPECT_TRUE(SetOption(configuration, "data", (root_ / fmt::format("d{}", i)).string(), "test"));
    for (const auto& [name, value] : options) EXPECT_TRUE(SetOption(configuration, name, value, "test"));
    auto opened = OpenStore(configuration, {.create_if_new = true});
    EXPECT_TRUE(opened) << opened.error().message;
    opened_ = std::move(*opened);
  }
  ~EditStoreTest() override {
    opened_.reset();
    fs::remove_all(root_);
  }

  Store& store() { return opened_->store(); }
  std::unique_ptr<ObjectEdit> Open(const std::string& path, EditOptions options = {}) {
    auto edit = SyncWait(ObjectEdit::Open(store(), scratch_, path, std::move(options)));
    EXPECT_TRUE(edit) << edit.error().message;
    return edit ? std::move(*edit) : nullptr;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "edit_store_test";
  std::unique_ptr<OpenedStore> opened_;
  Scratch scratch_{(root_ / "scratch").string(), 1 << 30};
};

// Its memory is enough for one upload.
class EditStoreOfLittleMemoryTest : public EditStoreTest {
 protected:
  EditStoreOfLittleMemoryTest()
      : EditStoreTest(6, {{"geometry", "4+2"}, {"chunk-size", "1MiB"}, {"memory", "8MiB"}}) {}

  // What a deadlock holds cannot be cleaned up.
  static auto WaitFor(auto call) {
    auto answer = std::async(std::launch::async, std::move(call));
    XEC_CHECK(answer.wait_for(std::chrono::seconds(60)) == std::future_status::ready, "it waits for ever");
    return answer.get();
  }
};

// Bug: the upload of a close had claimed what its own next read of the version had to claim.
TEST_F(EditStoreOfLittleMemoryTest, WhatIsCopiedWaitsForNothingThatItsUploadHolds) {
  const std::string bytes(20 << 20, 'a');
  for (const bool streamed : {false, true}) {
    auto edit = Open("/a", {.truncate = true});
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Write(0, AsBytes(bytes))); }));
    if (!streamed) {
      ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Flush()); }));
    }
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Write(5, AsBytes("xyz"))); }));
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Close()); }));
    EXPECT_EQ(ReadText(*Open("/a"), 4, 5), "axyza");
  }
}

// Bug: as of an edit.
TEST_F(EditStoreOfLittleMemoryTest, AnObjectIsCopied) {
  const auto edit = Open("/a", {.truncate = true});
  ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Write(0, AsBytes(std::string(20 << 20, 'a')))); }));
  ASSERT_TRUE(WaitFor([&] { return SyncWait(edit->Close()); }));
  ASSERT_TRUE(WaitFor([&] { return SyncWait(store().Copy("/a", "/b", {}, {})); }));
  EXPECT_EQ(ReadText(*Open("/b"), 4, 5), "aaaaa");
}

TEST_F(EditStoreOfLittleMemoryTest, EditsThatAreClosedAtOnceWaitForEachOther) {
  const std::string bytes(20 << 20, 'a');
  std::vector<std::unique_ptr<ObjectEdit>> edits;
  for (const char* const path : {"/a", "/b", "/c"}) {
    edits.push_back(Open(path, {.truncate = true}));
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edits.back()->Write(0, AsBytes(bytes))); }));
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edits.back()->Flush()); }));
    ASSERT_TRUE(WaitFor([&] { return SyncWait(edits.back()->Write(5, AsBytes("xyz"))); }));
  }
  EXPECT_TRUE(WaitFor([&] {
    std::vector<std::future<bool>> closes;
    for (const auto& edit : edits)
      closes.push_back(std::async(std::launch::async, [&] { return SyncWait(edit->Close()).has_value(); }));
    return std::ranges::all_of(closes, [](std::future<bool>& closed) { return closed.get(); });
  }));
}

// Two in turn, of small objects and of such that have many stripes.
TEST_F(EditStoreTest, AsArraysOfBytes) {
  EditModel small(store(), scratch_, "/small", {.seed = 3, .size_max = 20'000, .tail_max = 10'000});
  EditModel large(store(), scratch_, "/large", {.seed = 4, .size_max = 200'000, .tail_max = 100'000});
  for (int step = 0; step < 1500 && !HasFatalFailure(); ++step) {
    small.Step();
    if (!HasFatalFailure()) large.Step();
  }
  EXPECT_LE(scratch_.used_bytes(), 1u << 20);
}

TEST_F(EditStoreTest, OfTwoThatChangeTheSameVersionOneWins) {
  {
    const auto first = Open("/a", {.create = true});
    ASSERT_TRUE(SyncWait(first->Write(0, AsBytes(std::string(100'000, 'a')))));
    ASSERT_TRUE(SyncWait(first->Close()));
  }
  const auto one = Open("/a"), other = Open("/a");
  ASSERT_TRUE(SyncWait(one->Write(5, AsBytes("one"))));
  ASSERT_TRUE(SyncWait(other->Write(50'000, AsBytes("other"))));
  ASSERT_TRUE(SyncWait(other->Close()));
  const auto lost = SyncWait(one->Close());
  EXPECT_EQ(lost.code(), Code::kNotCurrent);
  EXPECT_NE(lost.error().message.find("what was changed is not written"), std::string::npos)
      << lost.error().message;
  const auto now = Open("/a");
  EXPECT_EQ(ReadText(*now, 49'999, 7), "aothera");
  EXPECT_EQ(ReadText(*now, 0, 10), "aaaaaaaaaa");
  EXPECT_EQ(ReadText(*one, 0, 10), "aaaaaoneaa");
}

TEST_F(EditStoreTest, RenamedItIsCommittedAtItsNewName) {
  const auto edit = Open("/a", {.create = true});
  ASSERT_TRUE(SyncWait(edit->Write(0, AsBytes("12345"))));
  ASSERT_TRUE(SyncWait(edit->Flush()));
  ASSERT_TRUE(SyncWait(edit->Write(1, AsBytes("x"))));
  ASSERT_TRUE(SyncWait(store().Rename("/a", "/b")));
  ASSERT_TRUE(SyncWait(edit->Moved("/b")));
  ASSERT_TRUE(SyncWait(edit->Close()));
  EXPECT_EQ(SyncWait(store().Stat("/a")).code(), Code::kNotFound);
  EXPECT_EQ(ReadText(*Open("/b"), 0, 10), "1x345");
}

TEST_F(EditStoreTest, AttributesStay) {
  const auto edit = Open("/a", {.create = true});
  ASSERT_TRUE(SyncWait(edit->Write(0, AsBytes("12345"))));
  ASSERT_TRUE(SyncWait(edit->Flush()));
  ASSERT_TRUE(SyncWait(store().SetAttribute("/a", "color", "red")));
  ASSERT_TRUE(SyncWait(store().SetSettings("/a", {.mode = 0640})));
  ASSERT_TRUE(SyncWait(edit->Write(5, AsBytes("6"))));
  ASSERT_TRUE(SyncWait(edit->Close()));
  const auto all = SyncWait(store().Describe("/a"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->info.size, 6u);
  EXPECT_EQ(all->info.settings.mode, 0640);
  EXPECT_EQ(all->attributes.at("color"), "red");
}

}  // namespace
}  // namespace xec
