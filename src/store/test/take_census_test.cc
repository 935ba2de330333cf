// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/take_census.hh"

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/make_layout_store.hh"

namespace xec {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class CensusTest : public testing::Test {
 protected:
  CensusTest()
      : test_({.geometry = {4, 2, 8 * kKiB}, .servers = 8}), store_(MakeLayoutStore(test_.engine())) {}

  Census Take(bool deep = false) {
    CensusOptions options;
    options.deep = deep;
    Result<Census> census = SyncWait(TakeCensus(test_.engine(), *store_, options));
    EXPECT_TRUE(census) << census.error().ToString();
    return std::move(*census);
  }

  // Objects of the only geometry by level.
  static std::map<int, uint64_t> Levels(const Census& census) {
    std::map<int, uint64_t> levels;
    EXPECT_LE(census.geometries().size(), 1u);
    for (const Census::OfGeometry& of : census.geometries()) {
      for (const auto& [survives, count] : of.survive) levels[survives] = count.objects;
    }
    return levels;
  }

  void RemoveArchive(const std::string& object, size_t which) {
    const auto [server, path] = test_.Archives(object).at(which);
    const DataServerPtr target = test_.engine().server(static_cast<MemberIndex>(server));
    ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), target, path)));
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
};

TEST_F(CensusTest, EveryObjectIsCountedAtItsLevel) {
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d", false)));
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/d/e", false)));
  for (const auto& [name, size] : std::map<std::string, size_t>{{"/full", 100'000},
                                                                {"/empty", 0},
                                                                {"/d/less", 100'000},
                                                                {"/d/e/short", 9000},
                                                                {"/d/none", 40'000}})
    ASSERT_TRUE(test_.Put(name, TestBytes(size)));
  test_.Settle();
  Census census = Take();
  EXPECT_THAT(Levels(census), UnorderedElementsAre(Pair(2, 5)));
  EXPECT_EQ(census.total().bytes, 249'000u);
  EXPECT_EQ(census.names().size(), 0u);

  RemoveArchive("/d/less", 0);
  // Two data chunks, two of parity: only these can be lost.
  ASSERT_EQ(test_.Archives("/d/e/short").size(), 4u);
  RemoveArchive("/d/e/short", 1);
  RemoveArchive("/d/e/short", 2);
  for (int i = 0; i < 3; ++i) RemoveArchive("/d/none", 3);
  test_.Settle();
  census = Take();
  EXPECT_THAT(Levels(census), UnorderedElementsAre(Pair(2, 2), Pair(1, 1), Pair(0, 1), Pair(-2, 1)));
  EXPECT_EQ(census.lost(), 1u);
  EXPECT_EQ(census.thin(), 3u);
  EXPECT_EQ(census.full(), 2u);
  ASSERT_EQ(census.names().size(), 3u);
  EXPECT_EQ(census.names()[0].path, "/d/none") << "the worst first";
  EXPECT_EQ(census.names()[1].path, "/d/e/short");
  EXPECT_EQ(census.names()[2].path, "/d/less");
}

TEST_F(CensusTest, SilentServersAreNoLoss) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(100'000)));
  test_.Settle();
  const auto archives = test_.Archives("/o");
  for (int i = 0; i < 2; ++i) test_.memory(archives[static_cast<size_t>(i)].first).SetDown(true);
  Census census = Take();
  EXPECT_THAT(Levels(census), UnorderedElementsAre(Pair(0, 1)));
  EXPECT_EQ(census.away(), 1u);
  EXPECT_EQ(census.lost(), 0u);
}

TEST_F(CensusTest, ADirectoryThatCannotBeListedIsToldAndTheOthersAreCounted) {
  for (const char* name : {"/a", "/sub/b", "/z/c"}) ASSERT_TRUE(test_.Put(name, TestBytes(20'000)));
  for (const char* name : {"/sub", "/z"}) ASSERT_TRUE(SyncWait(store_->MakeDirectory(name, false)));
  test_.Settle();
  // Its homes answer for the name; too few servers tell what is in it.
  const auto homes = test_.engine().Homes(TestStore::Path("/sub"));
  for (MemberIndex server = 0; server < 8; ++server) {
    if (Contains(homes, server)) continue;
    FaultRule rule;
    rule.operation = Operation::kList;
    rule.path_contains = "/sub";
    test_.faults(server).Add(rule);
  }
  const Census census = Take();
  EXPECT_EQ(census.total().objects, 2u);
  ASSERT_EQ(census.unlisted().size(), 1u);
  EXPECT_EQ(census.unlisted()[0].directory, "/sub");
  EXPECT_THAT(census.unlisted()[0].problem, HasSubstr("cannot tell"));

  CensusOptions stop;
  stop.progress = [](const Census& so_far) { return so_far.unlisted().empty(); };
  EXPECT_EQ(SyncWait(TakeCensus(test_.engine(), *store_, stop)).code(), Code::kCancelled);
}

// Every disk that is a data server's from its root has one, and a census was never complete.
TEST_F(CensusTest, AFolderOfTheFileSystemIsNoneOfTheStores) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(10'000)));
  test_.Settle();
  for (MemberIndex server = 0; server < 8; ++server) {
    const CallContext call = test_.engine().MetadataCall();
    ASSERT_TRUE(SyncWait(MakeDirectory(call, test_.engine().server(server), "/lost+found")));
    FaultRule rule;
    rule.operation = Operation::kList;
    rule.path_contains = "/lost+found";
    rule.error = {Code::kPermissionDenied, "Permission denied"};
    test_.faults(server).Add(rule);
  }
  const Census census = Take();
  EXPECT_EQ(census.total().objects, 1u);
  EXPECT_EQ(census.unlisted().size(), 0u);
}

TEST_F(CensusTest, DamageInsideChunksShowsInADeepCensusOnly) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(100'000)));
  test_.Settle();
  const auto [server, path] = test_.Archives("/o")[2];
  test_.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  EXPECT_THAT(Levels(Take()), UnorderedElementsAre(Pair(2, 1)));
  const Census deep = Take(true);
  EXPECT_THAT(Levels(deep), UnorderedElementsAre(Pair(1, 1)));
  EXPECT_THAT(deep.names().at(0).left.problem, HasSubstr("chunk"));
}

TEST_F(CensusTest, AnArchiveCutShortIsSeenByItsEnd) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(100'000)));
  test_.Settle();
  const auto [server, path] = test_.Archives("/o")[2];
  test_.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() - 1); });
  EXPECT_THAT(Levels(Take()), UnorderedElementsAre(Pair(1, 1)));
}

TEST_F(CensusTest, RepairOfAServerThatIsGoneMakesItFull) {
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(test_.Put(fmt::format("/o{}", i), TestBytes(70'000)));
  test_.Settle();
  test_.memory(3).SetDown(true);
  const auto repair = [&](std::vector<MemberIndex> gone) {
    RepairReport sum;
    for (int i = 0; i < 6; ++i) {
      RepairOptions options;
      options.gone = gone;
      const auto report = SyncWait(store_->Repair(fmt::format("/o{}", i), std::move(options)));
      EXPECT_TRUE(report) << report.error().ToString();
      sum.archives_bad += report->archives_bad;
      sum.archives_made += report->archives_made;
      sum.archives_silent += report->archives_silent;
      sum.silent.insert(sum.silent.end(), report->silent.begin(), report->silent.end());
    }
    return sum;
  };
  // Silence alone is no loss.
  const RepairReport waiting = repair({});
  EXPECT_EQ(waiting.archives_made, 0u);
  ASSERT_GT(waiting.archives_silent, 0u);
  EXPECT_EQ(waiting.silent, std::vector<MemberIndex>(waiting.archives_silent, 3));
  const RepairReport gone = repair({3});
  EXPECT_EQ(gone.archives_made, waiting.archives_silent);
  EXPECT_THAT(Levels(Take(true)), UnorderedElementsAre(Pair(2, 6)));
  EXPECT_EQ(repair({3}).archives_bad, 0u) << "a second time there is nothing to do";
  // Two more servers may go.
  test_.memory(0).SetDown(true);
  test_.memory(6).SetDown(true);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(*test_.Get(fmt::format("/o{}", i)) == TestBytes(70'000));
}

// A server that lost everything comes back and gets an archive of another lane than the old manifests say.
TEST_F(CensusTest, AServerMayHoldAnotherLaneThanItOnceDid) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(70'000)));
  test_.Settle();
  const auto repair = [&](std::vector<MemberIndex> gone) {
    RepairOptions options;
    options.gone = std::move(gone);
    const auto report = SyncWait(store_->Repair("/o", std::move(options)));
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->problems, std::vector<std::string>{});
  };
  // All eight in turn: none of the manifests that are left names the places as they are.
  for (MemberIndex away = 0; away < 8; ++away) {
    test_.memory(away).SetDown(true);
    repair({away});
    EXPECT_THAT(Levels(Take(true)), UnorderedElementsAre(Pair(2, 1))) << away;
    test_.memory(away).Wipe();
    test_.memory(away).SetDown(false);
    EXPECT_THAT(Levels(Take()), UnorderedElementsAre(Pair(2, 1))) << away;
    EXPECT_TRUE(*test_.Get("/o") == TestBytes(70'000));
  }
}

}  // namespace
}  // namespace xec
