// SPDX-License-Identifier: LGPL-3.0-or-later
// Layout xrdec: what a remover took aside and neither removed nor put back. Archives that are needed come
// back, others go.
#include "runtime/sync_wait.hh"
#include "store/test/xrdec_test_support.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

using ::testing::IsEmpty;

class XrdecAside : public XrdecStoreTest {
 protected:
  // A remover of an old version that slept and takes newer archives, and then dies.
  void TakeAside(const std::string& name, int64_t up_to_s) {
    FailOn(Operation::kRename, "/.xec/staged/", test_.server_count());
    FailOn(Operation::kRemove, "/.xec/staged/", test_.server_count());
    const ObjectPath path = TestStore::Path(name);
    EXPECT_EQ(SyncWait(RemoveArchives(test_.engine(), ServersWith(name), path, up_to_s)), 0u);
    ClearFaults();
    EXPECT_THAT(ServersWith(name), IsEmpty());
  }

  void CleanAll() {
    for (int pass = 0; pass < 500 && FilesLeft() > 0; ++pass) (void)SyncWait(store_->Clean());
  }

  // An object of a stock client on six servers.
  void PlaceStock(const std::string& name) {
    for (MemberIndex server = 0; server < 6; ++server) PlaceArchive(server, name, "stock", 5, 1000);
  }

  const std::string bytes_ = TestBytes(300'000);
};

TEST_F(XrdecAside, ArchivesOfALiveObjectComeBackAndReadersRetryUntilThen) {
  ASSERT_TRUE(Put("/d/a", bytes_));
  TakeAside("/d/a", 1000);
  const auto got = Get("/d/a");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kUnavailable) << got.error().ToString();
  CleanTwice();
  EXPECT_EQ(ServersWith("/d/a").size(), 6u);
  EXPECT_EQ(*Get("/d/a"), bytes_);
}

TEST_F(XrdecAside, ArchivesOfAnObjectWithALongNameComeBack) {
  const std::string name = "/" + std::string(250, 'x');
  ASSERT_TRUE(Put(name, bytes_));
  TakeAside(name, 1000);
  EXPECT_EQ(Get(name).code(), Code::kUnavailable);
  CleanTwice();
  EXPECT_EQ(*Get(name), bytes_);
}

TEST_F(XrdecAside, ArchivesOfAnObjectThatWasRenamedMeanwhileFollowIt) {
  ASSERT_TRUE(Put("/a", bytes_));
  TakeAside("/a", 1000);
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  CleanTwice();
  EXPECT_EQ(*Get("/b"), bytes_);
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
}

TEST_F(XrdecAside, AnOlderObjectThatWasRenamedToTheNameIsNotTakenForWhatWasRemoved) {
  ASSERT_TRUE(Put("/old", bytes_));
  ASSERT_TRUE(SyncWait(store_->Rename("/old", "/a")));
  TakeAside("/a", INT64_MAX);
  CleanTwice();
  EXPECT_EQ(*Get("/a"), bytes_);
}

TEST_F(XrdecAside, WhatAStockClientWroteComesBack) {
  PlaceStock("/s");
  ASSERT_EQ(StatCode("/s"), Code::kInternal) << "it is there";
  TakeAside("/s", 999);
  CleanTwice();
  EXPECT_EQ(ServersWith("/s").size(), 6u);
  EXPECT_EQ(StatCode("/s"), Code::kInternal);
}

TEST_F(XrdecAside, WhatAStockClientWritesUnderTheNameMeanwhileIsNotReplaced) {
  PlaceStock("/s");
  TakeAside("/s", 999);
  PlaceArchive(0, "/s", "newer", 5, 2000);
  CleanTwice();
  EXPECT_EQ(*test_.memory(0).Content("/s"), "newer");
  EXPECT_EQ(ServersWith("/s").size(), 6u);
}

TEST_F(XrdecAside, WhatWasRemovedDoesNotComeBack) {
  PlaceStock("/s");
  TakeAside("/s", 1000);
  CleanTwice();
  EXPECT_THAT(AllFiles(), IsEmpty());

  ASSERT_TRUE(Put("/a", bytes_));
  FailOn(Operation::kRemove, "/.xec/staged/", test_.server_count());
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  ClearFaults();
  EXPECT_GT(FilesLeft(), 5u);
  CleanAll();
  EXPECT_THAT(AllFiles(), IsEmpty());
}

// The tombstone tells what is aside from what must be put back.
TEST_F(XrdecAside, ATombstoneOutlivesWhatIsAside) {
  ASSERT_TRUE(Put("/a", bytes_));
  TakeAside("/a", 1000);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  for (int pass = 0; pass < 500 && FilesLeft() > 0; ++pass) {
    (void)SyncWait(store_->Clean());
    EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  }
  EXPECT_THAT(AllFiles(), IsEmpty());
}

}  // namespace
}  // namespace xec
