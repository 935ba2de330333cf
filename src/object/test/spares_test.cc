// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/spares.hh"

#include <set>

#include <gmock/gmock.h>

#include "object/repair/test/test_repair.hh"

namespace xec {
namespace {

constexpr size_t kServers = 40;
constexpr size_t kSearchedFirst = 24;

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

}  // namespace
}  // namespace xec
