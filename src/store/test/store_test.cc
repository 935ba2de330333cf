// SPDX-License-Identifier: LGPL-3.0-or-later
// The facade on memory servers: what users can do, what it costs in requests, and what missing servers do to
// it.
#include <thread>

#include <gtest/gtest.h>

#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/layout_store.hh"
#include "store/make_layout_store.hh"

namespace xec {
namespace {

TestStore::Options EightPlusTwo() {
  TestStore::Options options;
  options.geometry = Geometry{8, 2, kMiB};
  options.servers = 12;
  options.engine.superseded_grace = Duration(0);
  options.engine.upload_grace = Duration(0);
  options.engine.tombstone_horizon = Duration(0);
  return options;
}

class StoreTest : public ::testing::Test {
 protected:
  explicit StoreTest(const TestStore::Options& options = EightPlusTwo())
      : test_(options), store_(MakeLayoutStore(test_.engine())) {}

  Status Put(const std::string& path, const std::string& bytes, bool exclusive = false) {
    CreateOptions options;
    options.write.only_if.absent = exclusive;
    auto writer = SyncWait(store_->Create(path, std::move(options)));
    if (!writer) return writer.error();
    const Status appended = SyncWait((*writer)->Append(AsBytes(bytes)));
    if (!appended) return appended.error();
    const auto committed = SyncWait((*writer)->Commit());
    return committed ? OkStatus() : Status(committed.error());
  }

  Result<std::string> Get(const std::string& path) {
    auto reader = SyncWait(store_->OpenRead(path));
    if (!reader) return reader.error();
    return TestStore::Read(**reader, 0, (*reader)->size());
  }

  std::vector<std::string> Names(const std::string& path) {
    const auto listed = SyncWait(store_->List(path));
    std::vector<std::string> names;
    if (!listed) return {listed.error().ToString()};
    for (const ListedName& name : *listed) names.push_back(name.name + (name.directory ? "/" : ""));
    return names;
  }

  void SetDown(std::initializer_list<MemberIndex> servers, bool down) {
    for (const MemberIndex server : servers) test_.memory(server).SetDown(down);
  }

  size_t FilesLeft() {
    size_t count = 0;
    for (size_t i = 0; i < test_.server_count(); ++i) count += test_.memory(i).Files().size();
    return count;
  }

  std::vector<MemberIndex> Homes(const std::string& path) {
    return test_.engine().Homes(TestStore::Path(path));
  }

  // Requests of one operation, without what follows in the background.
  template <typename F>
  uint64_t Cost(F operation) {
    test_.Settle();
    test_.counts().Reset();
    operation();
    return test_.counts().Total();
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
};

TEST_F(StoreTest, PutGetReplaceRemove) {
  const std::string first = TestBytes(27'000);
  const std::string second = TestBytes(9 * kMiB + 7, 2);
  ASSERT_TRUE(Put("/a", first));
  EXPECT_EQ(*Get("/a"), first);
  ASSERT_TRUE(Put("/a", second));
  EXPECT_EQ(*Get("/a"), second);
  EXPECT_EQ(SyncWait(store_->Stat("/a"))->size, second.size());
  EXPECT_EQ(Put("/a", first, true).code(), Code::kAlreadyExists);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  EXPECT_EQ(SyncWait(store_->Stat("/a")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Remove("/a")).code(), Code::kNotFound);
  ASSERT_TRUE(Put("/a", first, true));
  EXPECT_EQ(*Get("/a"), first);
}

TEST_F(StoreTest, AReaderKeepsTheVersionItOpened) {
  const std::string first = TestBytes(300'000);
  ASSERT_TRUE(Put("/a", first));
  auto reader = SyncWait(store_->OpenRead("/a"));
  ASSERT_TRUE(reader);
  EXPECT_EQ(TestStore::Read(**reader, 0, 10)->substr(0, 10), first.substr(0, 10));
  ASSERT_TRUE(Put("/a", "new"));
  EXPECT_EQ(*TestStore::Read(**reader, 0, first.size()), first);
  EXPECT_EQ(*Get("/a"), "new");
}

TEST_F(StoreTest, AReaderOfWhatIsGoneIsNotToldThatItIsLost) {
  ASSERT_TRUE(Put("/a", TestBytes(300'000)));
  auto reader = SyncWait(store_->OpenRead("/a"));
  ASSERT_TRUE(reader);
  ASSERT_TRUE(Put("/a", "new"));
  test_.Settle();
  for (int pass = 0; pass < 4; ++pass) {
    // No grace still means that it was not in this very millisecond.
    const WallMillis now = test_.engine().executor().WallNow();
    while (test_.engine().executor().WallNow() == now) std::this_thread::yield();
    ASSERT_TRUE(SyncWait(store_->Clean()));
  }
  const auto got = TestStore::Read(**reader, 0, 10);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kConflict) << got.error().ToString();
}

TEST_F(StoreTest, Directories) {
  EXPECT_TRUE(Names("/").empty());
  ASSERT_TRUE(Put("/d/e/x", "1"));
  ASSERT_TRUE(Put("/d/y z", "22"));
  EXPECT_EQ(Names("/"), std::vector<std::string>{"d/"});
  EXPECT_EQ(Names("/d"), (std::vector<std::string>{"e/", "y z"}));
  EXPECT_EQ(SyncWait(store_->MakeDirectory("/d", false)).code(), Code::kAlreadyExists);
  EXPECT_EQ(SyncWait(store_->RemoveDirectory("/d")).code(), Code::kNotEmpty);
  EXPECT_EQ(SyncWait(store_->List("/nope")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->List("/d/y z")).code(), Code::kNotDirectory);
  EXPECT_EQ(Put("/d", "x").code(), Code::kIsDirectory);
  EXPECT_EQ(SyncWait(store_->MakeDirectory("/q/r", false)).code(), Code::kNotFound);
  ASSERT_TRUE(SyncWait(store_->Remove("/d/e/x")));
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/d/e")));
  EXPECT_EQ(Names("/d"), std::vector<std::string>{"y z"});
}

// The slash was dropped: an upload to "new/" made, and then replaced, an object "new".
TEST_F(StoreTest, ASlashAtTheEndSaysDirectory) {
  ASSERT_TRUE(Put("/d/a", "1"));
  EXPECT_EQ(Put("/new/", "2").code(), Code::kIsDirectory);
  EXPECT_EQ(Put("/new/", "2", true).code(), Code::kIsDirectory);
  EXPECT_EQ(Put("/d/a/", "2").code(), Code::kIsDirectory);
  EXPECT_EQ(SyncWait(store_->Stat("/new")).code(), Code::kNotFound);
  for (const Code code :
       {SyncWait(store_->Stat("/d/a/")).code(), Get("/d/a/").code(), SyncWait(store_->List("/d/a/")).code(),
        SyncWait(store_->Remove("/d/a/")).code(), SyncWait(store_->RemoveDirectory("/d/a/")).code(),
        SyncWait(store_->Rename("/d/a/", "/d/b")).code(), SyncWait(store_->Rename("/d/a", "/d/b/")).code(),
        SyncWait(store_->Describe("/d/a/")).code(), SyncWait(store_->SetAttribute("/d/a/", "k", "v")).code(),
        SyncWait(store_->Repair("/d/a/", {})).code()}) {
    EXPECT_EQ(code, Code::kNotDirectory);
  }
  EXPECT_EQ(*Get("/d/a"), "1");
  EXPECT_EQ(SyncWait(store_->Remove("/none/")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Remove("/d/")).code(), Code::kIsDirectory);
  EXPECT_TRUE(SyncWait(store_->Stat("/d/"))->directory);
  EXPECT_TRUE(SyncWait(store_->MakeDirectory("/e/", false)));
  EXPECT_TRUE(SyncWait(store_->SetAttribute("/e/", "k", "v")));
  EXPECT_TRUE(SyncWait(store_->Rename("/e/", "/f/")));
  EXPECT_EQ(Names("/f/"), std::vector<std::string>{});
  EXPECT_TRUE(SyncWait(store_->RemoveDirectory("/f/")));
  EXPECT_EQ(Names("/"), std::vector<std::string>{"d/"});
}

// All of it was taken before it was refused.
TEST_F(StoreTest, AnUploadToADirectoryIsRefusedWhenItBegins) {
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d", false)));
  for (const bool exclusive : {false, true}) {
    CreateOptions options;
    options.write.only_if.absent = exclusive;
    EXPECT_EQ(SyncWait(store_->Create("/d", std::move(options))).code(), Code::kIsDirectory) << exclusive;
  }
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/d")));
  EXPECT_TRUE(Put("/d", "1"));
  EXPECT_TRUE(Put("/d", "2"));
}

TEST_F(StoreTest, AModeIsToldWhereOneWasSet) {
  ASSERT_TRUE(Put("/d/a", "1"));
  for (const std::string path : {"/d/a", "/d"}) {
    EXPECT_EQ(SyncWait(store_->Stat(path))->settings.mode, std::nullopt);
    ASSERT_TRUE(SyncWait(store_->SetAttribute(path, "other", "0700")));
    EXPECT_EQ(SyncWait(store_->Stat(path))->settings.mode, std::nullopt);
    ASSERT_TRUE(SyncWait(store_->ChangeAttributes(path, AttributesOf({.mode = 0750}), {})));
    EXPECT_EQ(SyncWait(store_->Stat(path))->settings.mode, 0750);
  }
  ASSERT_TRUE(SyncWait(store_->Rename("/d", "/e")));
  EXPECT_EQ(SyncWait(store_->Stat("/e/a"))->settings.mode, 0750);
  EXPECT_EQ(SyncWait(store_->Stat("/e"))->settings.mode, 0750);
  ASSERT_TRUE(Put("/e/a", "2"));
  EXPECT_EQ(SyncWait(store_->Stat("/e/a"))->settings.mode, std::nullopt);
}

TEST_F(StoreTest, LongAndStrangeNames) {
  for (const std::string& name : {std::string("/") + std::string(255, 'x'), std::string("/a b%41?#&\xc3\xa9"),
                                  "/" + std::string(255, '%')}) {
    ASSERT_TRUE(Put(name, name)) << name;
    EXPECT_EQ(*Get(name), name);
  }
  EXPECT_EQ(Names("/").size(), 3u);
}

TEST_F(StoreTest, RenamesObjectsAndDirectories) {
  const std::string bytes = TestBytes(2 * kMiB);
  ASSERT_TRUE(Put("/a", bytes));
  ASSERT_TRUE(Put("/b", "old"));
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "U.k", "v")));
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  EXPECT_EQ(SyncWait(store_->Stat("/a")).code(), Code::kNotFound);
  EXPECT_EQ(*Get("/b"), bytes);
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->attributes.at("U.k"), "v");
  ASSERT_TRUE(Put("/d/e/x", "1"));
  ASSERT_TRUE(SyncWait(store_->Rename("/d", "/f/g")));
  EXPECT_EQ(*Get("/f/g/e/x"), "1");
  EXPECT_EQ(SyncWait(store_->Stat("/d")).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->Rename("/f", "/f/h")).code(), Code::kInvalidArgument);
  EXPECT_EQ(SyncWait(store_->Rename("/nope", "/x")).code(), Code::kNotFound);
}

TEST_F(StoreTest, UserAttributesAreKeptAndReplaced) {
  ASSERT_TRUE(Put("/a", "x"));
  EXPECT_TRUE(SyncWait(store_->Describe("/a"))->attributes.empty());
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "U.one", std::string("\0\xff", 2))));
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "U.two", "2")));
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "U.two", std::nullopt)));
  EXPECT_EQ(SyncWait(store_->SetAttribute("/a", "U.two", std::nullopt)).code(), Code::kNotFound);
  const auto attributes = SyncWait(store_->Describe("/a"))->attributes;
  EXPECT_EQ(attributes.size(), 1u);
  EXPECT_EQ(attributes.at("U.one"), std::string("\0\xff", 2));
}

TEST_F(StoreTest, LaterChecksumsAreOfTheirVersionOnlyAndNotForUsers) {
  ASSERT_TRUE(Put("/a", "x"));
  const Version version = SyncWait(store_->Stat("/a"))->version;
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->info.version, version);
  ASSERT_TRUE(SyncWait(store_->KeepChecksum("/a", version, "md5", "00ff")));
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->checksums.at("md5"), "00ff");
  EXPECT_EQ(SyncWait(store_->Describe("/a"))->checksums.size(), 3u);
  EXPECT_TRUE(SyncWait(store_->Describe("/a"))->attributes.empty());
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/a", "k", "v")));
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/b")));
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->checksums.at("md5"), "00ff");
  EXPECT_EQ(SyncWait(store_->Describe("/b"))->attributes, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(SyncWait(store_->KeepChecksum("/b", version, "sha1", "22")).code(), Code::kNotCurrent);
  ASSERT_TRUE(Put("/b", "other"));
  EXPECT_FALSE(SyncWait(store_->Describe("/b"))->checksums.contains("md5"));
  EXPECT_EQ(SyncWait(store_->Describe("/a")).code(), Code::kNotFound);
}

TEST_F(StoreTest, ChecksumsAreStored) {
  ASSERT_TRUE(Put("/a", "123456789"));
  const auto described = SyncWait(store_->Describe("/a"));
  ASSERT_TRUE(described);
  EXPECT_EQ(described->checksums.at("crc32c"), "e3069283");
  EXPECT_EQ(described->checksums.at("adler32"), "091e01de");
}

// What an operation may cost: t = 2, no faults.
TEST_F(StoreTest, RequestBudgets) {
  const std::string small = TestBytes(27'000);
  EXPECT_LE(Cost([&] { ASSERT_TRUE(Put("/a", small)); }), 19u);
  EXPECT_LE(Cost([&] { ASSERT_TRUE(SyncWait(store_->Stat("/a"))); }), 3u);
  EXPECT_LE(Cost([&] { EXPECT_EQ(SyncWait(store_->Stat("/none")).code(), Code::kNotFound); }), 3u);
  EXPECT_LE(Cost([&] {
              EXPECT_EQ(*Get("/a"), small);
              test_.Settle();
            }),
            6u);
  EXPECT_LE(Cost([&] { ASSERT_TRUE(Put("/b", small, true)); }), 19u);
  EXPECT_LE(Cost([&] { ASSERT_TRUE(SyncWait(store_->Remove("/a"))); }), 6u);
}

TEST_F(StoreTest, LaterChangesOfModeAndTimeAreToldAtNoRequest) {
  ASSERT_TRUE(Put("/d/a", "1"));
  const Settings set = {.mtime_ns = 1'700'000'000'123'456'789, .mode = 0640};
  const auto stat = [&](const std::string& path) { return SyncWait(store_->Stat(path)); };
  const uint64_t listing = Cost([&] { EXPECT_EQ(Names("/d").size(), 1u); });
  for (const char* path : {"/d", "/d/a"}) {
    ASSERT_TRUE(SyncWait(store_->ChangeAttributes(path, AttributesOf(set), OnlyIf())));
    test_.Settle();
    EXPECT_LE(Cost([&] { EXPECT_EQ(stat(path)->settings, set); }), 3u) << path;
    EXPECT_EQ(stat(path)->mtime_ms, 1'700'000'000'123) << path;
  }
  // What is set once more counts, and so does what was set before.
  ASSERT_TRUE(SyncWait(store_->ChangeAttributes("/d/a", AttributesOf({.mode = 0600}), OnlyIf())));
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/d/a", "U.k", "v")));
  test_.Settle();
  EXPECT_LE(Cost([&] { EXPECT_EQ(stat("/d/a")->settings, set.With({.mode = 0600})); }), 3u);
  EXPECT_LE(Cost([&] {
              const auto listed = SyncWait(store_->List("/d"));
              EXPECT_EQ(listed->at(0).settings, set.With({.mode = 0600}));
              EXPECT_EQ(listed->at(0).mtime_ms, 1'700'000'000'123);
              EXPECT_TRUE(listed->at(0).settings_known);
            }),
            listing);
  const auto above = SyncWait(store_->List("/"));
  EXPECT_TRUE(above->at(0).directory);
  EXPECT_EQ(above->at(0).settings, set);
  EXPECT_EQ(above->at(0).mtime_ms, 1'700'000'000'123);
  EXPECT_TRUE(above->at(0).settings_known);
}

TEST_F(StoreTest, ReadsWithAnyTwoServersAway) {
  const std::string bytes = TestBytes(17 * kMiB + 5);
  ASSERT_TRUE(Put("/big", bytes));
  ASSERT_TRUE(Put("/small", "tiny"));
  for (MemberIndex a = 0; a < 12; ++a) {
    const auto b = static_cast<MemberIndex>((a + 1 + a % 5) % 12);
    SetDown({a, b}, true);
    EXPECT_TRUE(*Get("/big") == bytes) << a << " " << b;
    EXPECT_EQ(*Get("/small"), "tiny");
    EXPECT_EQ(Names("/").size(), 2u);
    SetDown({a, b}, false);
  }
}

TEST_F(StoreTest, TooManyHomesAwayIsCannotTell) {
  ASSERT_TRUE(Put("/a", "x"));
  const auto homes = Homes("/a");
  SetDown({homes[0], homes[1], homes[2]}, true);
  EXPECT_EQ(SyncWait(store_->Stat("/a")).code(), Code::kNoQuorum);
  EXPECT_EQ(Put("/a", "y", true).code(), Code::kNoQuorum);
  SetDown({homes[0], homes[1], homes[2]}, false);
  EXPECT_EQ(*Get("/a"), "x");
}

TEST_F(StoreTest, WhatWasRemovedOrReplacedWhileServersWereAwayStaysSo) {
  ASSERT_TRUE(Put("/a", "old"));
  ASSERT_TRUE(Put("/b", "old"));
  const auto a = Homes("/a");
  SetDown({a[0], a[1]}, true);
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
  SetDown({a[0], a[1]}, false);
  const auto b = Homes("/b");
  SetDown({b[0], b[1]}, true);
  ASSERT_TRUE(Put("/b", "new"));
  SetDown({b[0], b[1]}, false);
  for (int round = 0; round < 2; ++round) {
    SetDown({a[4]}, true);
    EXPECT_EQ(SyncWait(store_->Stat("/a")).code(), Code::kNotFound);
    SetDown({a[4]}, false);
    EXPECT_EQ(*Get("/b"), "new");
    ASSERT_TRUE(SyncWait(store_->Clean()));
  }
}

TEST_F(StoreTest, TheCleanerLeavesNothingOfWhatIsGone) {
  ASSERT_TRUE(Put("/d/a", TestBytes(9 * kMiB)));
  ASSERT_TRUE(Put("/d/a", "x"));
  ASSERT_TRUE(Put("/d/b", "x"));
  ASSERT_TRUE(SyncWait(store_->Rename("/d/b", "/d/c")));
  {
    auto writer = SyncWait(store_->Create("/d/killed", {}));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(TestBytes(9 * kMiB)))));
  }
  test_.Settle();
  for (const char* name : {"/d/a", "/d/c"}) ASSERT_TRUE(SyncWait(store_->Remove(name))) << name;
  for (int pass = 0; pass < 4; ++pass) {
    const auto cleaned = SyncWait(store_->Clean());
    ASSERT_TRUE(cleaned) << cleaned.error().message;
  }
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/d")));
  for (int pass = 0; pass < 4; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_EQ(FilesLeft(), 0u);
}

}  // namespace
}  // namespace xec
