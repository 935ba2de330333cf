// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects that the stock client of XRootD 6.1.0 wrote, in a store of layout xrdec.
#include <bit>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "base/text.hh"
#include "runtime/sync_wait.hh"
#include "store/test/xrdec_test_support.hh"
#include "xrdec/entry.hh"

namespace xec {
namespace {

using ::testing::IsEmpty;

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
  EXPECT_THAT(SyncWait(store_->Describe(Path(object)))->checksums, IsEmpty());
  ASSERT_TRUE(SyncWait(store_->Rename(Path(object), "/moved")));
  EXPECT_EQ(Sha256(*Get("/moved")), object["sha256"].get<std::string>());
  EXPECT_EQ(StatCode(Path(object)), Code::kNotFound);
  ASSERT_TRUE(SyncWait(store_->SetAttribute("/moved", "k", "v")));
  for (const nlohmann::json& other : objects_) {
    if (&other == &objects_.back()) continue;
    ASSERT_TRUE(SyncWait(store_->Remove(Path(other)))) << Path(other);
    EXPECT_EQ(StatCode(Path(other)), Code::kNotFound);
  }
  ASSERT_TRUE(SyncWait(store_->RemoveDirectory("/4+2")));
  EXPECT_EQ(Names("/"), std::vector<std::string>{"moved"});
  EXPECT_EQ(FilesOutsideReservedArea(), (std::set<std::string>{"/moved"}));
}

// A client that asks for a checksum only reads: the object stays as the stock client wrote it.
TEST_F(FourPlusTwoFixtures, NoChecksumsAreKeptWithThem) {
  const std::string path = Path(objects_.front());
  const auto described = SyncWait(store_->Describe(path));
  ASSERT_TRUE(described);
  EXPECT_THAT(described->checksums, IsEmpty());
  const Version version = described->info.version;
  EXPECT_EQ((*SyncWait(store_->OpenRead(path)))->version(), version);
  EXPECT_EQ(SyncWait(store_->KeepChecksum(path, version, "md5", "00")).code(), Code::kUnsupported);
  EXPECT_EQ(SyncWait(store_->Stat(path))->version, version);
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

// An entry without archives was made, and what its maker did then to the object answered OK.
TEST_F(FourPlusTwoFixtures, WhatWasRenamedSinceItWasLookedUpIsNotTakenOver) {
  const std::string path = Path(objects_.front());
  const std::string bytes = *Get(path);
  const Result<ObjectPath> parsed = ObjectPath::Parse(path);
  ASSERT_TRUE(parsed);
  Result<XrdecName> name = SyncWait(LookUpXrdec(test_.engine(), *parsed, XrdecWidth::kArchives));
  ASSERT_TRUE(name);
  ASSERT_FALSE(name->in_register);
  ASSERT_TRUE(SyncWait(store_->Rename(path, path + ".moved")));
  const Result<XrdecName> taken =
      SyncWait(TakeOver(test_.engine(), std::move(*name), XrdecWidth::kExistence));
  EXPECT_EQ(taken ? Code::kInternal : taken.code(), Code::kConflict);
  EXPECT_EQ(StatCode(path), Code::kNotFound);
  EXPECT_EQ(*Get(path + ".moved"), bytes);
}

}  // namespace
}  // namespace xec
