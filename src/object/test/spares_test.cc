// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/spares.hh"

#include <set>

#include <gmock/gmock.h>

#include "object/read/chunk_reader.hh"
#include "object/repair/test/test_repair.hh"

namespace xec {
namespace {

constexpr size_t kServers = 40;
constexpr size_t kSearchedFirst = 24;
constexpr size_t kUsedFirst = 12;

class SparesTest : public testing::Test {
 protected:
  SparesTest() : store_({.geometry = kSmall, .servers = kServers}) {
    EXPECT_TRUE(store_.Put("/o", bytes_));
    store_.Settle();
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    manifest_ = *SyncWait((*reader)->GetManifest());
  }

  void Move(uint32_t lane, MemberIndex from, MemberIndex to) {
    RepairOptions options;
    options.deep = false;
    options.moves = {{lane, from, to, 0}};
    Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
    ASSERT_TRUE(info);
    const Result<RepairReport> report =
        SyncWait(RepairObject(store_.engine(), std::move(*info), std::move(options)));
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->archives_made, 1u);
    EXPECT_TRUE(report->problems.empty());
    store_.Settle();
  }

  MemberIndex Named(uint32_t lane) const { return *store_.engine().FindMember(manifest_.servers[lane]); }
  bool HoldsArchive(MemberIndex member) const {
    for (const auto& [server, path] : store_.Archives("/o")) {
      if (server == member && path.find("/p.") != std::string::npos) return true;
    }
    return false;
  }

  std::vector<MemberIndex> FirstSpares() const {
    return SparesSearched(store_.engine(), TestStore::Path("/o"), manifest_);
  }
  std::string PathOf(uint32_t lane) const {
    for (const auto& [server, path] : store_.Archives("/o")) {
      if (server == Named(lane) && path.find("/p.") != std::string::npos) return path;
    }
    return "";
  }
  void CopyTo(uint32_t lane, MemberIndex to) {
    ASSERT_TRUE(SyncWait(CreateFile(store_.engine().MetadataCall(), store_.engine().server(to), PathOf(lane),
                                    *store_.memory(Named(lane)).Content(PathOf(lane)), true)));
  }
  // With what runs on in the background.
  uint64_t RequestsToRead() {
    store_.counts().Reset();
    EXPECT_TRUE(*store_.Get("/o") == bytes_);
    store_.Settle();
    return store_.counts().Total();
  }
  // As a reader has them who has opened the object just now.
  std::shared_ptr<ArchiveSet> OpenArchivesOf() {
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    EXPECT_TRUE(reader);
    Result<ReadContext> context = SyncWait((*reader)->GetContext());
    EXPECT_TRUE(context);
    return context->archives;
  }

  // A reader finds no chunk of the lane where the manifest says, but a witness at most.
  void Miss(ArchiveSet& archives, uint32_t lane) {
    const Result<LoadedArchive> loaded = SyncWait(archives.open().Load(Named(lane)));
    EXPECT_TRUE(!loaded || loaded->archive->is_witness());
    archives.strays().StartSearch();
    store_.Settle();
  }

  const std::string bytes_ = TestBytes(200'000);
  mutable TestStore store_;
  Manifest manifest_;
};

TEST_F(SparesTest, EveryServerIsSearchedSoonerOrLater) {
  const ObjectPath path = TestStore::Path("/o");
  const std::vector<MemberIndex> first = SparesSearched(store_.engine(), path, manifest_);
  const std::vector<MemberIndex> last = SparesSearchedLast(store_.engine(), path, manifest_);
  std::set<MemberIndex> all(first.begin(), first.end());
  all.insert(last.begin(), last.end());
  EXPECT_EQ(first.size(), kSearchedFirst);
  EXPECT_EQ(all.size(), kServers - 6);
  EXPECT_EQ(first.size() + last.size(), all.size());
}

// In a store with more servers than were searched a lane beyond them counted as lost.
TEST_F(SparesTest, ALaneIsFoundOnTheLastOfManyServers) {
  const MemberIndex last = SparesSearchedLast(store_.engine(), TestStore::Path("/o"), manifest_).back();
  Move(5, Named(5), last);
  ExpectWhole(store_, bytes_);
}

TEST_F(SparesTest, WhatWasMovedIsGoneWhereItWasAndMayMoveOn) {
  const std::vector<MemberIndex> first = SparesSearched(store_.engine(), TestStore::Path("/o"), manifest_);
  Move(5, Named(5), first[7]);
  EXPECT_FALSE(HoldsArchive(Named(5)));
  EXPECT_TRUE(HoldsArchive(first[7]));
  Move(5, first[7], first[8]);
  EXPECT_FALSE(HoldsArchive(first[7]));
  EXPECT_TRUE(HoldsArchive(first[8]));
  ExpectWhole(store_, bytes_);
}

TEST_F(SparesTest, AnArchiveGoesWhereReadersLookFirstAndThereByFreeSpace) {
  const ObjectPath path = TestStore::Path("/o");
  std::map<std::string, Space> heard;
  const std::vector<MemberIndex> first = SparesSearched(store_.engine(), path, manifest_);
  for (MemberIndex i = 0; i < kServers; ++i) heard[store_.engine().server_id(i)] = {1'000'000'000, 0};
  const MemberIndex near = first[9], far = first.back();
  heard[store_.engine().server_id(near)].free_bytes = 500'000'000;
  heard[store_.engine().server_id(far)].free_bytes = 900'000'000;
  store_.engine().space().Note(heard, store_.engine().executor().Now());
  EXPECT_EQ(SparesFor(store_.engine(), path, manifest_, {}, 2), (std::vector<MemberIndex>{near, far}));
  EXPECT_EQ(SparesSearched(store_.engine(), path, manifest_), first)
      << "what is searched does not depend on it";
}

TEST_F(SparesTest, ThoseThatGetArchivesFirstAreTheFirstOfTheSearched) {
  const ObjectPath path = TestStore::Path("/o");
  std::vector<MemberIndex> searched = SparesSearched(store_.engine(), path, manifest_);
  searched.resize(kUsedFirst);
  EXPECT_EQ(SparesSearchedFirst(store_.engine(), path, manifest_), searched);
}

// A reader that missed an archive asked 24 servers, five requests each: 164 requests in place of 34.
TEST_F(SparesTest, AnArchiveElsewhereCostsAReaderFewRequests) {
  const uint64_t in_place = RequestsToRead();
  EXPECT_LE(in_place, 36u);
  Move(1, Named(1), FirstSpares()[7]);
  EXPECT_LE(RequestsToRead(), in_place + kUsedFirst + 18);
}

// As after a server has gone: nobody says whether its archive is there. An error of this kind makes nobody
// ask all servers how they are.
TEST_F(SparesTest, AnArchiveOfAServerThatTellsNothingCostsAReaderFewRequests) {
  const uint64_t in_place = RequestsToRead();
  Move(1, Named(1), FirstSpares()[7]);
  store_.faults(Named(1)).Add(
      {.operation = Operation::kOpen, .error = {Code::kPermissionDenied, "not for you"}});
  EXPECT_LE(RequestsToRead(), in_place + kUsedFirst + 8);
}

TEST_F(SparesTest, ASearchThatEndedEarlyIsNotTakenForComplete) {
  Move(1, Named(1), FirstSpares()[7]);
  const auto archives = OpenArchivesOf();
  Miss(*archives, 1);
  EXPECT_EQ(archives->strays().Find(1), FirstSpares()[7]);
  EXPECT_FALSE(archives->strays().known());
  SyncWait(archives->strays().Search());
  EXPECT_TRUE(archives->strays().known());
}

TEST_F(SparesTest, AfterASearchThatEndedEarlyOneMoreLaneIsSearchedForEverywhere) {
  const MemberIndex last = SparesSearchedLast(store_.engine(), TestStore::Path("/o"), manifest_).back();
  Move(1, Named(1), FirstSpares()[7]);
  Move(2, Named(2), last);
  const auto archives = OpenArchivesOf();
  Miss(*archives, 1);
  ASSERT_EQ(archives->strays().Find(1), FirstSpares()[7]);
  ASSERT_FALSE(archives->strays().Find(2));
  Miss(*archives, 2);
  EXPECT_EQ(archives->strays().Find(2), last);
}

// Where a search ended early there may be a good copy further on.
TEST_F(SparesTest, ABadCopyThatIsFoundFirstIsPassedOverForAGoodOneFurtherOn) {
  CopyTo(1, FirstSpares()[3]);
  CopyTo(1, FirstSpares()[20]);
  const auto spoil = [](std::string& content) {
    for (size_t i = 0; i < content.size() / 2; i += 1000) content[i] ^= 1;
  };
  ASSERT_TRUE(store_.memory(FirstSpares()[3]).Tamper(PathOf(1), spoil));
  for (const uint32_t lane : {2u, 3u}) ASSERT_TRUE(store_.memory(Named(lane)).Tamper(PathOf(lane), spoil));
  ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(), store_.engine().server(Named(1)), PathOf(1))));
  const Result<std::string> got = store_.Get("/o");
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes_);
}

// Servers that are asked first and hang do not keep a reader from what others have.
TEST(HangingSpareTest, IsNotWaitedFor) {
  EngineOptions options;
  options.metadata_timeout = std::chrono::seconds(20);
  TestStore store({.geometry = kSmall, .servers = kServers, .engine = options});
  const std::string bytes = TestBytes(200'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  const Manifest manifest = *SyncWait((*reader)->GetManifest());
  const std::vector<MemberIndex> spares = SparesSearched(store.engine(), TestStore::Path("/o"), manifest);
  for (const auto& [server, path] : store.Archives("/o")) {
    const auto member = static_cast<MemberIndex>(server);
    if (member == store.engine().FindMember(manifest.servers[1])) {
      ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(spares[20]), path,
                                      *store.memory(server).Content(path), true)));
    }
    for (const uint32_t lane : {1u, 2u, 3u}) {
      if (member != store.engine().FindMember(manifest.servers[lane])) continue;
      ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), store.engine().server(member), path)));
    }
  }
  store.faults(spares[2]).Add({.kind = FaultKind::kHang});
  const TimePoint begun = store.engine().executor().Now();
  const Result<std::string> got = TestStore::Read(**reader, 0, bytes.size());
  EXPECT_LT(store.engine().executor().Now(), begun + options.metadata_timeout);
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes);
}

}  // namespace
}  // namespace xec
