// SPDX-License-Identifier: LGPL-3.0-or-later
// Edits for which there is no room, in scratch or in the store.
#include "edit/test/edit_fixture.hh"

namespace xec {
namespace {

class EditRoomTest : public EditTest {
 protected:
  EditRoomTest() : EditTest("edit_room_test", 8) {}
};

TEST_F(EditRoomTest, FullScratchLosesNothing) {
  store_.Put("/a", "0123456789");
  const auto edit = Open("/a");
  EXPECT_TRUE(Write(*edit, 0, "abcdef"));
  EXPECT_EQ(Write(*edit, 5, "ghijkl").code(), Code::kNoSpace);
  EXPECT_EQ(Read(*edit), "abcdef6789");
  EXPECT_TRUE(SyncWait(edit->Flush()));
  EXPECT_TRUE(Write(*edit, 5, "ghijkl"));
  EXPECT_TRUE(SyncWait(edit->Close()));
  EXPECT_EQ(store_.objects["/a"].bytes, "abcdeghijkl");

  // What an upload has in memory has no room: it goes on as an upload.
  const auto upload = Open("/b", {.truncate = true});
  EXPECT_TRUE(Write(*upload, 0, "0123456789"));
  EXPECT_EQ(Write(*upload, 0, "x").code(), Code::kNoSpace);
  EXPECT_TRUE(Write(*upload, 10, "abc"));
  EXPECT_TRUE(SyncWait(upload->Close()));
  EXPECT_EQ(store_.objects["/b"].bytes, "0123456789abc");
}

// Bug: when scratch had no room for what was prepared, the next byte that was appended to it lost everything.
TEST_F(EditRoomTest, WhatIsPreparedIsKeptWhereScratchIsFull) {
  const auto edit = Open("/a", {.create = true});
  EXPECT_TRUE(SyncWait(edit->Truncate(12)));
  EXPECT_TRUE(SyncWait(edit->Prepare()));
  EXPECT_EQ(Write(*edit, 0, "x").code(), Code::kNoSpace);
  EXPECT_EQ(Write(*edit, 12, "y").code(), Code::kNoSpace);
  const auto closed = SyncWait(edit->Close());
  EXPECT_TRUE(closed) << closed.error().message;
  EXPECT_EQ(store_.objects["/a"].bytes, std::string(12, '\0'));
}

TEST_F(EditRoomTest, HolesThatAreLargerThanTheStoreAreNotWrittenToIt) {
  store_.Put("/a", "0123456789");
  store_.space.usable_free_bytes = 1 << 20;
  const auto edit = Open("/a");
  EXPECT_TRUE(SyncWait(edit->Truncate(uint64_t{1} << 40)));
  const auto flushed = SyncWait(edit->Flush());
  EXPECT_EQ(flushed.code(), Code::kNoSpace);
  EXPECT_EQ(flushed.error().message, "/a has 1.0 TiB and is written anew, and 1.0 MiB are free");
  EXPECT_TRUE(SyncWait(edit->Truncate(12)));
  EXPECT_TRUE(SyncWait(edit->Close()));
  EXPECT_EQ(store_.objects["/a"].bytes, std::string("0123456789\0\0", 12));
}

}  // namespace
}  // namespace xec
