// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/stray_lanes.hh"

#include <algorithm>

#include <gmock/gmock.h>

#include "object/repair/test/test_repair.hh"
#include "object/test/test_version.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class StrayLanesTest : public testing::Test {
 protected:
  // The archive of lane 1 is on a spare in place of its own server.
  void Move() {
    of_.CopyTo(of_.named[1], of_.spares[0]);
    of_.RemoveFrom(of_.named[1]);
  }
  // A search is due from then on at the latest.
  void PassLong() { of_.world.Pass(std::chrono::seconds(10)); }
  // Some archive has told the manifest.
  void Begin() { ASSERT_TRUE(of_.Load(of_.named[0])); }
  void Search() { of_.world.Run(SearchToEnd(of_.strays)); }
  static Task<bool> SearchToEnd(std::shared_ptr<StrayLanes> strays) {
    co_await strays->Search();
    co_return true;
  }

  TestVersion of_;
};

TEST_F(StrayLanesTest, WithoutAManifestThereIsNothingToSearchFor) {
  Search();
  of_.strays->StartSearch();
  EXPECT_FALSE(of_.strays->searching());
  EXPECT_EQ(of_.strays->SearchOn(), TimePoint::max());
  EXPECT_EQ(of_.places->finds, 0);
}

TEST_F(StrayLanesTest, NothingIsElsewhereThatIsInItsPlace) {
  Begin();
  EXPECT_FALSE(of_.strays->known()) << "nobody has searched yet";
  Search();
  for (uint32_t lane = 0; lane < 5; ++lane) EXPECT_FALSE(of_.strays->Find(lane)) << lane;
  EXPECT_TRUE(of_.strays->known());
  EXPECT_EQ(of_.damage->counts().reported, 0u);
}

TEST_F(StrayLanesTest, ALaneIsFoundOnASpare) {
  Move();
  Begin();
  EXPECT_FALSE(of_.strays->Find(1));
  const uint64_t changes = of_.strays->changes();
  Search();
  EXPECT_EQ(of_.strays->Find(1), of_.spares[0]);
  EXPECT_NE(of_.strays->changes(), changes);
  EXPECT_TRUE(of_.strays->known());
  EXPECT_EQ(of_.damage->counts().reported, 0u) << "it is not lost";
}

// Each of them was asked twice, to open an archive and to list what it has.
TEST_F(StrayLanesTest, ASpareThatListsNothingIsNotAskedToOpenIt) {
  of_.RemoveFrom(of_.named[1]);
  Begin();
  EXPECT_FALSE(of_.Load(of_.named[1]));
  const RequestCounts& counts = *of_.gateway.counts;
  const uint64_t opens = counts.Of(Operation::kOpen), lists = counts.Of(Operation::kList);
  Search();
  EXPECT_TRUE(of_.strays->known());
  EXPECT_EQ(counts.Of(Operation::kOpen) - opens, of_.named.size() - 2);
  EXPECT_LE(counts.Of(Operation::kList) - lists, of_.spares.size() + 2 * of_.engine.Homes(of_.path).quorum());
}

TEST_F(StrayLanesTest, ALaneThatIsNowhereIsReported) {
  of_.RemoveFrom(of_.named[1]);
  Begin();
  Search();
  const auto met = of_.damage->Take(of_.engine.executor().Now());
  ASSERT_TRUE(met);
  EXPECT_THAT(met->problem, HasSubstr("archive 1 is not on"));
}

TEST_F(StrayLanesTest, WhileASpareIsSilentNothingIsKnownToBeLost) {
  of_.RemoveFrom(of_.named[1]);
  of_.world.memory[of_.spares[0]]->SetDown(true);
  Begin();
  Search();
  EXPECT_FALSE(of_.strays->known());
  EXPECT_EQ(of_.damage->counts().reported, 0u);
  of_.world.memory[of_.spares[0]]->SetDown(false);
  PassLong();
  Search();
  EXPECT_TRUE(of_.strays->known());
  EXPECT_EQ(of_.damage->counts().reported, 1u);
}

TEST_F(StrayLanesTest, WhenMorePlacesAreKnownTheSearchWasNotComplete) {
  Begin();
  Search();
  ASSERT_TRUE(of_.strays->known());
  const uint64_t changes = of_.strays->changes();
  ++of_.places->more_changes;
  EXPECT_FALSE(of_.strays->known());
  EXPECT_NE(of_.strays->changes(), changes);
  PassLong();
  Search();
  EXPECT_TRUE(of_.strays->known());
}

TEST_F(StrayLanesTest, IsSearchedAgainAfterAPauseThatGrows) {
  Begin();
  Search();
  int finds = of_.places->finds;
  TimePoint next = of_.strays->SearchOn();
  EXPECT_EQ(of_.places->finds, finds) << "it was just done";
  for (const int pause : {2, 4, 8, 8}) {
    of_.world.Pass(next - of_.engine.executor().Now() - Duration(1));
    Search();
    EXPECT_EQ(of_.places->finds, finds) << pause;
    of_.world.Pass(Duration(1));
    const TimePoint begun = of_.engine.executor().Now();
    Search();
    EXPECT_GT(of_.places->finds, finds) << pause;
    finds = of_.places->finds;
    next = of_.strays->SearchOn();
    EXPECT_GE(next, begun + std::chrono::seconds(pause == 2 ? 4 : 8)) << pause;
  }
}

TEST_F(StrayLanesTest, DamageIsAReasonToSearchOnceMore) {
  Begin();
  Search();
  PassLong();
  of_.strays->StartSearch();
  EXPECT_FALSE(of_.strays->searching()) << "all have answered";
  of_.archives->NoteCorrupt(of_.archives->All().front(), "a chunk is damaged");
  of_.strays->StartSearch();
  EXPECT_TRUE(of_.strays->searching());
  PassLong();
  EXPECT_FALSE(of_.strays->searching());
  of_.strays->StartSearch();
  EXPECT_FALSE(of_.strays->searching());
}

TEST_F(StrayLanesTest, AnotherArchiveOfTheLaneIsPreferredToADamagedOne) {
  of_.CopyTo(of_.named[0], of_.spares[0]);
  Begin();
  Search();
  EXPECT_FALSE(of_.strays->Find(0)) << "the one in place comes first";
  EXPECT_TRUE(of_.strays->CorruptBeside().empty());
  of_.archives->NoteCorrupt(of_.Load(of_.named[0])->archive, "a chunk is damaged");
  Search();
  EXPECT_EQ(of_.strays->Find(0), of_.spares[0]);
  EXPECT_THAT(of_.strays->CorruptBeside(), ElementsAre(Pair(0u, of_.named[0])));
}

TEST_F(StrayLanesTest, WhereItWasFoundItMayStillBeWhileTheServerIsSilent) {
  Move();
  Begin();
  Search();
  ASSERT_EQ(of_.strays->Find(1), of_.spares[0]);
  const ArchivePtr archive = of_.Load(of_.spares[0])->archive;
  of_.world.memory[of_.spares[0]]->SetDown(true);
  of_.archives->Forget(of_.spares[0], archive, MemberName{0, 0}, Fail(Code::kUnavailable, "cut off"));
  PassLong();
  Search();
  EXPECT_EQ(of_.strays->Find(1), of_.spares[0]);
  of_.world.memory[of_.spares[0]]->SetDown(false);
  of_.RemoveFrom(of_.spares[0]);
  PassLong();
  Search();
  EXPECT_FALSE(of_.strays->Find(1)) << "it is not there";
}

// A read that could not go on without a chunk did not wait for a search that had begun for another one a
// moment ago, and called lost what that search was about to find.
TEST_F(StrayLanesTest, WhoNeedsOneWaitsForASearchThatIsUnderWay) {
  Begin();
  of_.places->hide_spares = true;
  Search();  // the next one is due in 2 s, but for what is damaged
  of_.places->hide_spares = false;
  of_.archives->NoteCorrupt(of_.archives->All().front(), "a chunk is damaged");
  FaultRule hang;
  hang.kind = FaultKind::kHang;
  for (const auto& fault : of_.gateway.faults) fault->plan().Add(hang);
  of_.strays->StartSearch();
  ASSERT_TRUE(of_.strays->searching());
  bool waited = false;
  of_.gateway.scope.Spawn([](std::shared_ptr<StrayLanes> strays, bool& end) -> Task<void> {
    co_await strays->Search();
    end = true;
  }(of_.strays, waited));
  of_.world.Pass(std::chrono::milliseconds(100));
  EXPECT_FALSE(waited);
  for (const auto& fault : of_.gateway.faults) {
    fault->plan().Clear();
    fault->plan().ReleaseHung();
  }
  of_.world.Pass(std::chrono::seconds(1));
  EXPECT_TRUE(waited);
}

// Found by the simulator (seed 1419): a server was away, its archive was made again on a spare, the server
// came back, and the spare's copy went bad. A read that looked for the lane elsewhere found that one first,
// and called the lane damaged with a good copy beside it.
TEST(StrayLanes, ABadCopyIsPassedOverForAGoodOne) {
  for (const bool first_is_bad : {true, false}) {
    TestStore store({.geometry = kSmall, .servers = 9});
    const std::string bytes = TestBytes(200'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto archives = store.Archives("/o");
    std::vector<MemberIndex> spares;
    for (MemberIndex server = 0; server < store.server_count(); ++server) {
      const auto has = [&](const auto& archive) { return archive.first == server; };
      if (std::none_of(archives.begin(), archives.end(), has)) spares.push_back(server);
    }
    ASSERT_GE(spares.size(), 2u);
    const auto [named, path] = archives.back();
    const std::string good = *store.memory(named).Content(path);
    std::string bad = good;
    bad[100] ^= 1;
    for (const size_t i : {0, 1}) {
      const bool is_bad = (i == 0) == first_is_bad;
      ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(spares[i]), path,
                                      is_bad ? bad : good, true)));
    }
    ASSERT_TRUE(SyncWait(
        Remove(store.engine().MetadataCall(), store.engine().server(static_cast<MemberIndex>(named)), path)));
    ExpectWhole(store, bytes);
  }
}

}  // namespace
}  // namespace xec
