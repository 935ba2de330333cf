// SPDX-License-Identifier: LGPL-3.0-or-later
// Layout xrdec through the facade, on memory servers: what users can do, what lies on the servers, and what
// missing servers, dying gateways and stock clients do to it.
#include <bit>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "archive/archive_reader.hh"
#include "archive/xrdec_attributes.hh"
#include "base/text.hh"
#include "object/test_store.hh"
#include "store/store.hh"

namespace xec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TestStore::Options FourPlusTwo() {
  TestStore::Options options;
  options.layout = Layout::kXrdec;
  options.servers = 9;
  options.engine.superseded_grace = Duration(0);
  options.engine.upload_grace = Duration(0);
  options.engine.tombstone_horizon = Duration(0);
  return options;
}

class XrdecStoreTest : public ::testing::Test {
 protected:
  explicit XrdecStoreTest(const TestStore::Options& options = FourPlusTwo())
      : test_(options), store_(Store::Make(test_.engine())) {}

  Status Put(const std::string& path, const std::string& bytes, CreateOptions options = {}) {
    auto writer = SyncWait(store_->Create(path, std::move(options)));
    if (!writer) return writer.error();
    for (size_t at = 0; at < bytes.size(); at += 100'003) {
      const Status appended =
          SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(at, 100'003))));
      if (!appended) return appended.error();
    }
    const auto committed = SyncWait((*writer)->Commit());
    return committed ? OkStatus() : Status(committed.error());
  }

  Result<std::string> Get(const std::string& path) {
    auto reader = SyncWait(store_->OpenRead(path));
    if (!reader) return reader.error();
    return TestStore::Read(**reader, 0, (*reader)->size() + 1);
  }

  Code StatCode(const std::string& path) {
    const auto info = SyncWait(store_->Stat(path));
    return info ? Code::kInternal : info.code();
  }

  std::vector<std::string> Names(const std::string& path) {
    const auto listed = SyncWait(store_->List(path));
    if (!listed) return {listed.error().ToString()};
    std::vector<std::string> names;
    for (const ListedName& name : *listed) names.push_back(name.name + (name.directory ? "/" : ""));
    return names;
  }

  void SetDown(const std::vector<MemberIndex>& servers, bool down) {
    for (const MemberIndex server : servers) test_.memory(server).SetDown(down);
  }

  std::vector<MemberIndex> ServersWith(const std::string& file) {
    std::vector<MemberIndex> servers;
    for (size_t i = 0; i < test_.server_count(); ++i) {
      if (test_.memory(i).Content(file)) servers.push_back(static_cast<MemberIndex>(i));
    }
    return servers;
  }

  std::set<std::string> FilesOutsideReservedArea() {
    std::set<std::string> files;
    for (size_t i = 0; i < test_.server_count(); ++i) {
      for (const auto& [file, size] : test_.memory(i).Files()) {
        if (!file.starts_with("/.xec/")) files.insert(file);
      }
    }
    return files;
  }

  size_t FilesLeft() {
    size_t count = 0;
    for (size_t i = 0; i < test_.server_count(); ++i) count += test_.memory(i).Files().size();
    return count;
  }

  XrdecAttributes AttributesOn(MemberIndex server, const std::string& file) {
    const auto got =
        SyncWait(GetAttributes(test_.engine().MetadataCall(), test_.engine().server(server), file, "xrdec."));
    EXPECT_TRUE(got);
    const auto parsed = XrdecAttributes::Parse(std::map<std::string, std::string>(got->begin(), got->end()));
    EXPECT_TRUE(parsed);
    return parsed ? *parsed : XrdecAttributes();
  }

  // As a stock client leaves it: the bytes of an archive at the plain name, with attributes.
  void PlaceArchive(MemberIndex server, const std::string& path, const std::string& bytes, uint64_t size,
                    uint64_t version) {
    const auto call = test_.engine().MetadataCall();
    EXPECT_TRUE(SyncWait(CreateFile(call, test_.engine().server(server), path, bytes, false)));
    XrdecAttributes attributes;
    attributes.file_size = size;
    attributes.version = version;
    EXPECT_TRUE(SyncWait(SetAttributes(call, test_.engine().server(server), path, attributes.Format())));
  }

  void CleanTwice() {
    for (int pass = 0; pass < 2; ++pass) {
      const auto cleaned = SyncWait(store_->Clean());
      EXPECT_TRUE(cleaned) << cleaned.error().ToString();
    }
  }

  void FailOn(Operation operation, const std::string& path, size_t servers) {
    for (size_t i = 0; i < servers; ++i) {
      FaultRule rule;
      rule.operation = operation;
      rule.path_contains = path;
      test_.faults(i).Add(rule);
    }
  }
  void ClearFaults() {
    for (size_t i = 0; i < test_.server_count(); ++i) test_.faults(i).Clear();
  }

  TestStore test_;
  std::unique_ptr<Store> store_;
};

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
        EXPECT_EQ(Hex(*attributes.adler32, 8), SyncWait(store_->Checksums(name))->at("adler32"));
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

TEST_F(XrdecStoreTest, ObjectsAreWrittenOnce) {
  ASSERT_TRUE(Put("/a", "first"));
  for (const bool exclusive : {false, true}) {
    CreateOptions options;
    options.write.exclusive = exclusive;
    const Status again = Put("/a", "second", options);
    EXPECT_EQ(again.code(), Code::kAlreadyExists);
    EXPECT_THAT(again.error().message, HasSubstr("written once"));
  }
  EXPECT_EQ(*Get("/a"), "first");
  ASSERT_TRUE(SyncWait(store_->Remove("/a")));
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
  for (int pass = 0; pass < 4; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_EQ(FilesLeft(), 0u);
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
  for (int pass = 0; pass < 4; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
  EXPECT_EQ(FilesLeft(), 0u);
}

TEST_F(XrdecStoreTest, Renames) {
  const std::string bytes = TestBytes(300'000);
  ASSERT_TRUE(Put("/a", bytes));
  ASSERT_TRUE(Put("/b", "other"));
  ASSERT_TRUE(SyncWait(store_->SetUserAttribute("/a", "k", "v")));
  EXPECT_EQ(SyncWait(store_->Rename("/a", "/b")).code(), Code::kAlreadyExists);
  ASSERT_TRUE(SyncWait(store_->Rename("/a", "/d/e/c")));
  EXPECT_EQ(StatCode("/a"), Code::kNotFound);
  EXPECT_EQ(*Get("/d/e/c"), bytes);
  EXPECT_EQ(SyncWait(store_->GetUserAttributes("/d/e/c"))->at("k"), "v");
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
  for (int pass = 0; pass < 4; ++pass) ASSERT_TRUE(SyncWait(store_->Clean()));
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

TEST_F(XrdecStoreTest, UserAttributesAreKeptInTheRegister) {
  CreateOptions options;
  options.write.attributes["written"] = "with it";
  ASSERT_TRUE(Put("/a", "x", options));
  EXPECT_EQ(SyncWait(store_->GetUserAttributes("/a"))->at("written"), "with it");
  ASSERT_TRUE(SyncWait(store_->SetUserAttribute("/a", "later", std::string("\0\xff", 2))));
  EXPECT_EQ(SyncWait(store_->GetUserAttributes("/a"))->size(), 2u);
  ASSERT_TRUE(SyncWait(store_->SetUserAttribute("/a", "written", std::nullopt)));
  EXPECT_EQ(SyncWait(store_->SetUserAttribute("/a", "written", std::nullopt)).code(), Code::kNotFound);
  EXPECT_EQ(SyncWait(store_->GetUserAttributes("/a"))->at("later"), std::string("\0\xff", 2));
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d", false)));
  EXPECT_EQ(SyncWait(store_->SetUserAttribute("/d", "k", "v")).code(), Code::kUnsupported);
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

// Objects of the stock client.

namespace fs = std::filesystem;

std::string Sha256(const std::string& bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return HexBytes(std::as_bytes(std::span(digest)));
}

nlohmann::json FixtureList() {
  std::ifstream in(fs::path(XEC_FIXTURES) / "xrdec-6.1.0" / "manifest.json");
  return nlohmann::json::parse(in)["objects"];
}

TestStore::Options ForFixtures(uint32_t data, uint32_t parity) {
  TestStore::Options options = FourPlusTwo();
  options.geometry = Geometry{data, parity, 64 * kKiB};
  options.servers = 12;
  return options;
}

class FixtureStoreTest : public XrdecStoreTest {
 protected:
  FixtureStoreTest(uint32_t data, uint32_t parity) : XrdecStoreTest(ForFixtures(data, parity)) {
    for (const nlohmann::json& object : FixtureList()) {
      if (object["data_chunks"] != data) continue;
      objects_.push_back(object);
      for (const auto& [server, attributes] : object["archives"].items()) {
        const auto member = static_cast<MemberIndex>(*ParseUint(server.substr(2)) - 1);
        std::ifstream in(fs::path(XEC_FIXTURES) / "xrdec-6.1.0" / server / object["path"].get<std::string>(),
                         std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(in)), {});
        PlaceArchive(member, Path(object), bytes,
                     *ParseUint(attributes["user.U.xrdec.filesize"].get<std::string>()),
                     *ParseUint(attributes["user.U.xrdec.strpver"].get<std::string>()));
      }
    }
  }

  static std::string Path(const nlohmann::json& object) { return "/" + object["path"].get<std::string>(); }

  // From any k of its servers, and with all of them.
  void ReadAll() {
    for (const nlohmann::json& object : objects_) {
      const auto holders = ServersWith(Path(object));
      const auto info = SyncWait(store_->Stat(Path(object)));
      ASSERT_TRUE(info);
      EXPECT_EQ(info->size, object["size"].get<uint64_t>());
      for (uint32_t away = 0; away < (1u << holders.size()); ++away) {
        const auto count = static_cast<uint32_t>(std::popcount(away));
        if (count != 0 && count != test_.engine().descriptor().geometry.parity_chunks) continue;
        for (size_t i = 0; i < holders.size(); ++i) test_.memory(holders[i]).SetDown((away >> i) & 1);
        const auto bytes = Get(Path(object));
        ASSERT_TRUE(bytes) << Path(object) << " away " << away << ": " << bytes.error().ToString();
        EXPECT_EQ(Sha256(*bytes), object["sha256"].get<std::string>()) << Path(object) << " away " << away;
      }
      for (const MemberIndex holder : holders) test_.memory(holder).SetDown(false);
    }
  }

  std::vector<nlohmann::json> objects_;
};

class FourPlusTwoFixtures : public FixtureStoreTest {
 protected:
  FourPlusTwoFixtures() : FixtureStoreTest(4, 2) {}
};
class EightPlusThreeFixtures : public FixtureStoreTest {
 protected:
  EightPlusThreeFixtures() : FixtureStoreTest(8, 3) {}
};

TEST_F(FourPlusTwoFixtures, AreReadFromAnyKServers) { ReadAll(); }
TEST_F(EightPlusThreeFixtures, AreReadFromAnyKServers) { ReadAll(); }

TEST_F(FourPlusTwoFixtures, AreListedRenamedAndRemoved) {
  EXPECT_EQ(Names("/"), std::vector<std::string>{"4+2/"});
  EXPECT_EQ(Names("/4+2").size(), objects_.size());
  const nlohmann::json& object = objects_.back();
  EXPECT_EQ(SyncWait(store_->Stat(Path(object)))->mtime_ms / 1000,
            static_cast<int64_t>(AttributesOn(ServersWith(Path(object))[0], Path(object)).version));
  EXPECT_EQ(Put(Path(object), "x").code(), Code::kAlreadyExists);
  EXPECT_THAT(*SyncWait(store_->Checksums(Path(object))), IsEmpty());
  ASSERT_TRUE(SyncWait(store_->Rename(Path(object), "/moved")));
  EXPECT_EQ(Sha256(*Get("/moved")), object["sha256"].get<std::string>());
  EXPECT_EQ(StatCode(Path(object)), Code::kNotFound);
  ASSERT_TRUE(SyncWait(store_->SetUserAttribute("/moved", "k", "v")));
  for (const nlohmann::json& other : objects_) {
    if (&other == &objects_.back()) continue;
    ASSERT_TRUE(SyncWait(store_->Remove(Path(other)))) << Path(other);
    EXPECT_EQ(StatCode(Path(other)), Code::kNotFound);
  }
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/4+2")));
  EXPECT_EQ(Names("/"), std::vector<std::string>{"moved"});
  EXPECT_EQ(FilesOutsideReservedArea(), (std::set<std::string>{"/moved"}));
}

TEST_F(FourPlusTwoFixtures, RemovedOnesDoNotComeBackWithTheirServers) {
  const std::string path = Path(objects_.front());
  const auto holders = ServersWith(path);
  const std::vector<MemberIndex> away(holders.begin(), holders.begin() + 2);
  SetDown(away, true);
  ASSERT_TRUE(SyncWait(store_->Remove(path)));
  SetDown(away, false);
  EXPECT_EQ(ServersWith(path).size(), 2u);
  EXPECT_EQ(StatCode(path), Code::kNotFound);
  CleanTwice();
  EXPECT_THAT(ServersWith(path), IsEmpty());
}

TEST_F(FourPlusTwoFixtures, DebrisIsNotFoundAndGivesWay) {
  const std::string path = Path(objects_.front());
  const auto holders = ServersWith(path);
  for (size_t i = 3; i < holders.size(); ++i) {
    ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), test_.engine().server(holders[i]), path)));
  }
  EXPECT_EQ(StatCode(path), Code::kNotFound);
  test_.memory(holders[5]).SetDown(true);
  EXPECT_EQ(StatCode(path), Code::kNoQuorum) << "the server that is away could make it an object";
  test_.memory(holders[5]).SetDown(false);
  ASSERT_TRUE(Put(path, "new"));
  EXPECT_EQ(*Get(path), "new");
}

}  // namespace
}  // namespace xec
