// SPDX-License-Identifier: LGPL-3.0-or-later
// Layout xrdec through the facade: what users can do, what lies on the servers, and what missing servers and
// dying gateways do to it.
#include "archive/archive_reader.hh"
#include "base/text.hh"
#include "commit/engine/pause.hh"
#include "runtime/sync_wait.hh"
#include "store/test/xrdec_test_support.hh"

namespace xec {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(XrdecStoreTest, EverySizeComesBackAndLiesAsXrdEcHasIt) {
  const Geometry geometry{4, 2, 64 * kKiB};
  const uint64_t chunk = geometry.chunk_size_bytes, stripe = geometry.StripeSize();
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{27'000}, chunk - 1, chunk, chunk + 1,
                              stripe - 1, stripe, stripe + 1, 3 * stripe + 7}) {
    SCOPED_TRACE(size);
    const std::string path = fmt::format("/d/{}", size);
    const std::string bytes = TestBytes(size, size);
    for (const bool announced : {false, true}) {
      CreateOptions options;
      if (announced) options.write.size_hint = size;
      const std::string name = path + (announced ? "a" : "");
      ASSERT_TRUE(Put(name, bytes, options)) << name;
      EXPECT_EQ(*Get(name), bytes);
      EXPECT_EQ(SyncWait(store_->Stat(name))->size, size);
      const auto holders = ServersWith(name);
      ASSERT_EQ(holders.size(), 6u);
      std::set<std::pair<uint32_t, uint32_t>> members;
      for (const MemberIndex server : holders) {
        const std::string archive = *test_.memory(server).Content(name);
        const auto attributes = AttributesOn(server, name);
        EXPECT_EQ(attributes.file_size, size);
        EXPECT_EQ(attributes.version, static_cast<uint64_t>(SyncWait(store_->Stat(name))->mtime_ms / 1000));
        EXPECT_EQ(Hex(*attributes.adler32, 8), SyncWait(store_->Describe(name))->checksums.at("adler32"));
        if (size == 0) {
          EXPECT_TRUE(archive.empty());
          continue;
        }
        const auto tail = ParseArchiveTail(AsBytes(archive), archive.size());
        ASSERT_TRUE(tail && tail->index) << tail.error().ToString();
        EXPECT_EQ(tail->index->members.size(), geometry.StripeCount(size));
        for (const ArchiveMember& member : tail->index->members) {
          EXPECT_EQ(member.size_bytes, geometry.ChunkBytes(size, member.name.stripe, member.name.chunk));
          EXPECT_TRUE(members.emplace(member.name.stripe, member.name.chunk).second);
        }
      }
      EXPECT_EQ(members.size(), geometry.StripeCount(size) * 6);
    }
  }
  EXPECT_TRUE(test_.BudgetReturned());
}

TEST_F(XrdecStoreTest, BytesThatAreNotThoseDeclaredBecomeNoObject) {
  CreateOptions options;
  options.write.declared_checksums = {{"md5", "5d41402abc4b2a76b9719d911017c592"}};
  for (const size_t size : {0, 3, 1'000'000})
    EXPECT_EQ(Put("/a", TestBytes(size, size), options).code(), Code::kInvalidArgument) << size;
  EXPECT_EQ(SyncWait(store_->Stat("/a")).code(), Code::kNotFound);
  ASSERT_TRUE(Put("/a", "hello", options));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->checksums.at("md5"), "5d41402abc4b2a76b9719d911017c592");
}

TEST_F(XrdecStoreTest, ObjectsAreWrittenOnce) {
  ASSERT_TRUE(Put("/a", "first"));
  for (const bool exclusive : {false, true}) {
    CreateOptions options;
    options.write.only_if.absent = exclusive;
    const Status again = Put("/a", "second", options);
    EXPECT_EQ(again.code(), Code::kAlreadyExists);
    EXPECT_THAT(again.error().message, HasSubstr("written once"));
  }
  EXPECT_EQ(*Get("/a"), "first");
  const Result<ObjectGone> gone = SyncWait(store_->Remove("/a"));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->size, 5u);
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Remove("/a")).code(), Code::kNotFound);
  EXPECT_THAT(ServersWith("/a"), IsEmpty());
  ASSERT_TRUE(Put("/a", "second"));
  EXPECT_EQ(*Get("/a"), "second");
}

TEST_F(XrdecStoreTest, OfTwoCreationsOneWinsAndNothingIsMixed) {
  auto one = SyncWait(store_->Create("/a", {}));
  auto two = SyncWait(store_->Create("/a", {}));
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(SyncWait((*one)->Append(AsBytes(std::string_view("one")))));
  ASSERT_TRUE(SyncWait((*two)->Append(AsBytes(std::string_view("two two")))));
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_THAT(FilesOutsideReservedArea(), IsEmpty());
  ASSERT_TRUE(SyncWait((*two)->Commit()));
  EXPECT_EQ(SyncWait((*one)->Commit()).code(), Code::kAlreadyExists);
  one->reset();
  test_.Settle();
  EXPECT_EQ(*Get("/a"), "two two");
  EXPECT_EQ(ServersWith("/a").size(), 6u);
  CleanTwice();
  EXPECT_EQ(*Get("/a"), "two two");
}

TEST_F(XrdecStoreTest, ReadsFromAnyKOfItsServers) {
  const std::string bytes = TestBytes(3 * 256 * kKiB + 7);
  ASSERT_TRUE(Put("/a", bytes));
  const auto holders = ServersWith("/a");
  for (size_t i = 0; i < holders.size(); ++i) {
    for (size_t j = i + 1; j < holders.size(); ++j) {
      SetDown({holders[i], holders[j]}, true);
      const auto got = Get("/a");
      EXPECT_TRUE(got && *got == bytes) << i << " " << j;
      EXPECT_EQ(Names("/"), std::vector<std::string>{"a"});
      EXPECT_EQ(StatCode("/none"), Code::kNotFound);
      SetDown({holders[i], holders[j]}, false);
    }
  }
}

TEST_F(XrdecStoreTest, TooManyServersAwayIsCannotTell) {
  ASSERT_TRUE(Put("/a", "x"));
  const auto homes = test_.engine().Homes(TestStore::Path("/a"));
  SetDown({homes[0], homes[1], homes[2]}, true);
  EXPECT_EQ(StatCode("/a"), Code::kNoQuorum);
  EXPECT_EQ(Put("/a", "y").code(), Code::kNoQuorum);
  EXPECT_EQ(SyncWait(store_->Remove("/a")).code(), Code::kNoQuorum);
  SetDown({homes[0], homes[1], homes[2]}, false);
  EXPECT_EQ(*Get("/a"), "x");
}

TEST_F(XrdecStoreTest, WhatWasRemovedWhileServersWereAwayStaysSoAndIsCleaned) {
  ASSERT_TRUE(Put("/a", "old"));
  const auto holders = ServersWith("/a");
  SetDown({holders[0], holders[1]}, true);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  (void)SyncWait(store_->Clean());
  SetDown({holders[0], holders[1]}, false);
  EXPECT_EQ(ServersWith("/a").size(), 2u);
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_THAT(Names("/"), IsEmpty());
  ASSERT_TRUE(Put("/a", "new"));
  EXPECT_EQ(*Get("/a"), "new");
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  for (int pass = 0; pass < 500 && FilesLeft() > 0; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_THAT(AllFiles(), IsEmpty());
}

TEST_F(XrdecStoreTest, ATombstoneOutlivesEveryArchiveLeftOver) {
  ASSERT_TRUE(Put("/a", "old"));
  const auto holders = ServersWith("/a");
  const std::vector<MemberIndex> away(holders.begin(), holders.begin() + 2);
  SetDown(away, true);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  // The horizon is over at once in this store.
  for (int pass = 0; pass < 4; ++pass) (void)SyncWait(store_->Clean());
  SetDown(away, false);
  const auto stat = StatCode("/a");
  EXPECT_EQ(stat, Code::kNotFound);
  for (int pass = 0; pass < 500 && FilesLeft() > 0; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(XrdecStoreTest, Renames) {
  const std::string bytes = TestBytes(300'000);
  ASSERT_TRUE(Put("/a", bytes));
  ASSERT_TRUE(Put("/b", "other"));
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "k", "v")));
  EXPECT_EQ(SyncWait(store_->Rename("/a", "/b")).code(), Code::kAlreadyExists);
  const Result<Renamed> renamed = SyncWait(store_->Rename("/a", "/d/e/c"));
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->size, bytes.size());
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_EQ(*Get("/d/e/c"), bytes);
  EXPECT_EQ(SyncWait(store_->Describe("/d/e/c"))->attributes.at("k"), "v");
  EXPECT_EQ(ServersWith("/d/e/c").size(), 6u);
  EXPECT_EQ(FilesOutsideReservedArea(), (std::set<std::string>{"/b", "/d/e/c"}));
  EXPECT_EQ(SyncWait(store_->Rename("/nope", "/x")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Rename("/d", "/x")).code(), Code::kUnsupported);
  EXPECT_EQ(SyncWait(store_->Rename("/b", "/d")).code(), Code::kAlreadyExists);
  CleanTwice();
  EXPECT_EQ(*Get("/d/e/c"), bytes);
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  test_.memory(0).SetDown(true);
  const Status away = SyncWait(store_->Rename("/d/e/c", "/f"));
  EXPECT_EQ(away.code(), Code::kUnavailable);
  EXPECT_THAT(away.error().message, HasSubstr("all data servers"));
  test_.memory(0).SetDown(false);
  EXPECT_EQ(*Get("/d/e/c"), bytes);
}

TEST_F(XrdecStoreTest, ARenameThatIsCutShortLosesNothing) {
  const std::string bytes = TestBytes(300'000);
  ASSERT_TRUE(Put("/a", bytes));
  const auto holders = ServersWith("/a");
  // The last step fails on all servers, and so does the way back.
  for (size_t i = 0; i < test_.server_count(); ++i) {
    FaultRule rule;
    rule.operation = Operation::kRename;
    rule.path_contains = "/.xec/staged/";
    test_.faults(i).Add(rule);
  }
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  ClearFaults();
  EXPECT_THAT(FilesOutsideReservedArea(), IsEmpty());
  EXPECT_EQ(*Get("/b"), bytes);
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_EQ(Names("/"), std::vector<std::string>{"b"});
  // The cleaner leaves a rename alone that may still be under way.
  CleanTwice();
  EXPECT_EQ(*Get("/b"), bytes);
  ASSERT_TRUE(SyncWait(store_->Remove("/b")));
  for (int pass = 0; pass < 500 && FilesLeft() > 0; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(XrdecStoreTest, ACreationCutShortAfterItsCommitIsWholeAndIsFinished) {
  const std::string bytes = TestBytes(300'000);
  FailOn(Operation::kRename, "/.xec/staged/", test_.server_count());
  ASSERT_TRUE(Put("/a", bytes));
  ClearFaults();
  EXPECT_THAT(ServersWith("/a"), IsEmpty());
  EXPECT_EQ(SyncWait(store_->Stat("/a"))->size, bytes.size());
  EXPECT_EQ(*Get("/a"), bytes);
  EXPECT_EQ(Names("/"), std::vector<std::string>{"a"});
  CleanTwice();
  EXPECT_EQ(ServersWith("/a").size(), 6u);
  EXPECT_EQ(*Get("/a"), bytes);
}

TEST_F(XrdecStoreTest, AnUploadThatDiedIsInvisibleAndCleaned) {
  {
    auto writer = SyncWait(store_->Create("/d/killed", {}));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(TestBytes(600'000)))));
    // Nobody tells the servers that it was given up.
    FailOn(Operation::kRemove, "", test_.server_count());
  }
  test_.Settle();
  ClearFaults();
  EXPECT_GT(FilesLeft(), 0u);
  EXPECT_EQ(StatCode("/d/killed"), Code::kNotFound);
  EXPECT_THAT(FilesOutsideReservedArea(), IsEmpty());
  ASSERT_TRUE(Put("/d/killed", "again"));
  EXPECT_EQ(*Get("/d/killed"), "again");
}

// The register shortens the name of the folder, so that nobody can tell the names below.
TEST_F(XrdecStoreTest, AFolderWithATooLongNameDoesNotKeepDeadUploads) {
  std::string folder = "/";
  while (folder.size() < 200) folder += "a b ";
  folder += "c";
  const std::string bytes = TestBytes(600'000);
  FailOn(Operation::kRename, "/.xec/staged/", test_.server_count());
  ASSERT_TRUE(Put(folder + "/x", bytes));
  ClearFaults();
  const auto staged = [&] {
    size_t count = 0;
    for (const std::string& file : AllFiles()) count += file.starts_with("/.xec/staged/") ? 1 : 0;
    return count;
  };
  ASSERT_EQ(staged(), 6u);
  const auto call = test_.engine().MetadataCall();
  const std::string dead = "/.xec/staged/00112233445566778899aabb";
  ASSERT_TRUE(SyncWait(CreateFile(call, test_.engine().server(3), dead, "half of it", false)));
  const TimePoint give_up = test_.engine().executor().Now() + std::chrono::seconds(20);
  while (staged() > 6 && test_.engine().executor().Now() < give_up) {
    const auto cleaned = SyncWait(store_->Clean());
    ASSERT_TRUE(cleaned) << cleaned.error().ToString();
    SyncWait(Pause(test_.engine(), std::chrono::milliseconds(100)));
  }
  EXPECT_EQ(staged(), 6u);
  EXPECT_EQ(*Get(folder + "/x"), bytes);
}

TEST_F(XrdecStoreTest, MinRedundancyAllowsMissingServers) {
  const std::string bytes = TestBytes(600'000);
  SetDown({0, 1, 2, 3}, true);
  const auto homes = test_.engine().Homes(TestStore::Path("/a"));
  std::string name = "/a";
  // A name of which enough homes are there.
  for (int i = 0; i < 100; ++i) {
    name = fmt::format("/n{}", i);
    const auto its = test_.engine().Homes(TestStore::Path(name));
    if (std::count_if(its.begin(), its.end(), [](MemberIndex home) { return home > 3; }) >= 3) break;
  }
  EXPECT_EQ(Put(name, bytes).code(), Code::kNoQuorum) << "more than m servers are away: not provably new";
  SetDown({0, 1}, false);
  SetDown({2, 3}, true);
  FailOn(Operation::kCreate, "/.xec/staged/", 2);
  const Status refused = Put(name, bytes);
  EXPECT_FALSE(refused);
  CreateOptions options;
  options.write.archives_min = 5;
  ASSERT_TRUE(Put(name, bytes, options));
  EXPECT_EQ(ServersWith(name).size(), 5u);
  EXPECT_EQ(*Get(name), bytes);
}

TEST_F(XrdecStoreTest, AFullServerIsTold) {
  for (size_t i = 0; i < test_.server_count(); ++i) test_.faults(i).SetFull(true);
  EXPECT_EQ(Put("/a", TestBytes(600'000)).code(), Code::kNoSpace);
  for (size_t i = 0; i < test_.server_count(); ++i) test_.faults(i).SetFull(false);
  test_.Settle();
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_THAT(FilesOutsideReservedArea(), IsEmpty());
}

TEST_F(XrdecStoreTest, Directories) {
  EXPECT_THAT(Names("/"), IsEmpty());
  ASSERT_TRUE(Put("/d/e/x", "1"));
  ASSERT_TRUE(Put("/d/y z", "22"));
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/empty", false)));
  EXPECT_EQ(Names("/"), (std::vector<std::string>{"d/", "empty/"}));
  EXPECT_EQ(Names("/d"), (std::vector<std::string>{"e/", "y z"}));
  EXPECT_THAT(Names("/empty"), IsEmpty());
  EXPECT_TRUE(SyncWait(store_->Stat("/d/e"))->directory);
  EXPECT_EQ(SyncWait(store_->MakeDirectory("/d", false)).code(), Code::kAlreadyExists);
  EXPECT_EQ(SyncWait(store_->MakeDirectory("/q/r", false)).code(), Code::kNotFound);
  EXPECT_TRUE(SyncWait(store_->MakeDirectory("/q/r", true)));
  EXPECT_EQ(SyncWait(store_->RemoveDirectory("/d")).code(), Code::kNotEmpty);
  EXPECT_EQ(SyncWait(store_->RemoveDirectory("/nope")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->RemoveDirectory("/d/y z")).code(), Code::kNotDirectory);
  EXPECT_EQ(SyncWait(store_->List("/nope")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->List("/d/y z")).code(), Code::kNotDirectory);
  EXPECT_EQ(Put("/d", "x").code(), Code::kIsDirectory);
  EXPECT_EQ(Put("/d/y z/below", "x").code(), Code::kNotDirectory);
  EXPECT_EQ(SyncWait(store_->Remove("/d")).code(), Code::kIsDirectory);
  EXPECT_EQ(Put("/d/a?b", "x").code(), Code::kInvalidArgument);
  ASSERT_TRUE(SyncWait(store_->Remove("/d/e/x")));
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/d/e")));
  EXPECT_EQ(Names("/d"), std::vector<std::string>{"y z"});
}

TEST_F(XrdecStoreTest, ASlashAtTheEndSaysDirectory) {
  ASSERT_TRUE(Put("/d/a", "1"));
  EXPECT_EQ(Put("/new/", "2").code(), Code::kIsDirectory);
  EXPECT_EQ(Put("/d/a/", "2").code(), Code::kIsDirectory);
  for (const Code code :
       {SyncWait(store_->Stat("/d/a/")).code(), Get("/d/a/").code(), SyncWait(store_->List("/d/a/")).code(),
        SyncWait(store_->Remove("/d/a/")).code(), SyncWait(store_->RemoveDirectory("/d/a/")).code(),
        SyncWait(store_->Rename("/d/a/", "/d/b")).code(), SyncWait(store_->Rename("/d/a", "/d/b/")).code(),
        SyncWait(store_->Describe("/d/a/")).code(),
        SyncWait(store_->SetAttribute("/d/a/", "k", "v")).code()}) {
    EXPECT_EQ(code, Code::kNotDirectory);
  }
  EXPECT_EQ(*Get("/d/a"), "1");
  EXPECT_EQ(SyncWait(store_->Remove("/d/")).code(), Code::kIsDirectory);
  EXPECT_TRUE(SyncWait(store_->Stat("/d/"))->directory);
  EXPECT_TRUE(SyncWait(store_->MakeDirectory("/e/", false)));
  EXPECT_TRUE(SyncWait(store_->RemoveDirectory("/e/")));
  EXPECT_EQ(Names("/"), std::vector<std::string>{"d/"});
}

TEST_F(XrdecStoreTest, ADirectoryIsRemovedWhereServersSaySo) {
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d", false)));
  const auto remove_failing = [&](Code code, size_t servers) {
    for (size_t i = 0; i < servers; ++i) {
      FaultRule rule;
      rule.operation = Operation::kRemoveDirectory;
      rule.error = Fail(code, "injected fault");
      test_.faults(i).Add(rule);
    }
    const Status removed = SyncWait(store_->RemoveDirectory("/d"));
    ClearFaults();
    return removed ? Code::kInternal : removed.code();
  };
  EXPECT_EQ(remove_failing(Code::kPermissionDenied, 9), Code::kPermissionDenied);
  EXPECT_EQ(remove_failing(Code::kUnavailable, 9), Code::kUnknown);
  EXPECT_EQ(Names("/"), std::vector<std::string>{"d/"});
  EXPECT_EQ(remove_failing(Code::kUnavailable, 3), Code::kUnknown);
  EXPECT_EQ(remove_failing(Code::kUnavailable, 2), Code::kInternal) << "as many may be away";
}

TEST_F(XrdecStoreTest, UserAttributesAreKeptInTheRegister) {
  CreateOptions options;
  options.write.attributes["written"] = "with it";
  ASSERT_TRUE(Put("/a", "x", options));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->attributes.at("written"), "with it");
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "later", std::string("\0\xff", 2))));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->attributes.size(), 2u);
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "written", std::nullopt)));
  EXPECT_EQ(SyncWait(store_->SetAttribute("/a", "written", std::nullopt)).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->attributes.at("later"), std::string("\0\xff", 2));
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d", false)));
  EXPECT_EQ(SyncWait(store_->SetAttribute("/d", "k", "v")).code(), Code::kUnsupported);
}

// Its archives are empty files, so they were lost.
TEST_F(XrdecStoreTest, AnEmptyObjectHasTheAttributesItWasWrittenWith) {
  CreateOptions options;
  options.write.attributes["written"] = "with it";
  ASSERT_TRUE(Put("/a", "", options));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->attributes.at("written"), "with it");
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->attributes.at("written"), "with it");
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/b", "later", "set")));
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->attributes.size(), 2u);
}

TEST_F(XrdecStoreTest, LaterChecksumsAreKeptInTheRegister) {
  ASSERT_TRUE(Put("/a", "x"));
  const Version version = SyncWait(store_->Describe("/a"))->info.version;
  EXPECT_EQ((*SyncWait(store_->OpenRead("/a")))->version(), version);
  ASSERT_TRUE(SyncWait(store_->KeepChecksum("/a", version, "md5", "00ff")));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->checksums.at("md5"), "00ff");
  EXPECT_TRUE(SyncWait(store_->Describe("/a"))->attributes.empty());
  EXPECT_EQ(SyncWait(store_->KeepChecksum("/a", {}, "md5", "11")).code(), Code::kNotCurrent);
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->checksums.at("md5"), "00ff");
}

TEST_F(XrdecStoreTest, UploadsOfStockClientsAreLeftAlone) {
  const auto call = test_.engine().MetadataCall();
  ASSERT_TRUE(SyncWait(CreateFile(call, test_.engine().server(3), "/a", "unfinished", false)));
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_THAT(Names("/"), IsEmpty());
  EXPECT_EQ(Put("/a", "x").code(), Code::kConflict);
  EXPECT_EQ(SyncWait(store_->Remove("/a")).code(), Code::kNotFound);
  CleanTwice();
  EXPECT_EQ(*test_.memory(3).Content("/a"), "unfinished");
}

TEST_F(XrdecStoreTest, WhatAnotherClientRemovedIsAnErrorUntilRm) {
  ASSERT_TRUE(Put("/a", TestBytes(1000)));
  for (const MemberIndex server : ServersWith("/a")) {
    ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), test_.engine().server(server), "/a")));
  }
  EXPECT_EQ(Get("/a").code(), Code::kDataLoss);
  EXPECT_EQ(Put("/a", "x").code(), Code::kAlreadyExists);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  ASSERT_TRUE(Put("/a", "x"));
}

}  // namespace
}  // namespace xec
