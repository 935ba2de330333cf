// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects of a store on real directories that are changed anywhere.
#include <filesystem>

#include <gtest/gtest.h>

#include "assembly/configuration/options.hh"
#include "assembly/open_store.hh"
#include "edit/test/edit_model.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

class EditStoreTest : public testing::Test {
 protected:
  EditStoreTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
    Configuration configuration;
    for (const char* name : {"d1", "d2", "d3", "d4"})
      EXPECT_TRUE(SetOption(configuration, "data", (root_ / name).string(), "test"));
    for (const auto& [name, value] : {std::pair("geometry", "2+1"), {"chunk-size", "4KiB"}, {"sync", "none"}})
      EXPECT_TRUE(SetOption(configuration, name, value, "test"));
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
  ASSERT_TRUE(SyncWait(store().SetMode("/a", 0640)));
  ASSERT_TRUE(SyncWait(edit->Write(5, AsBytes("6"))));
  ASSERT_TRUE(SyncWait(edit->Close()));
  const auto all = SyncWait(store().Describe("/a"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->info.size, 6u);
  EXPECT_EQ(all->info.mode, 0640u);
  EXPECT_EQ(all->attributes.at("color"), "red");
}

}  // namespace
}  // namespace xec
