// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/walk_places.hh"

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"
#include "store/make_layout_store.hh"
#include "store/take_census.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WalkPlacesTest : public testing::Test {
 protected:
  WalkPlacesTest()
      : test_({.geometry = {4, 2, 8 * kKiB}, .servers = 8}), store_(MakeLayoutStore(test_.engine())) {}

  std::vector<ObjectPlaces> Walk(PlacesOptions options = {}) {
    std::vector<ObjectPlaces> found;
    unknown_.clear();
    options.object = [&](ObjectPlaces object) {
      found.push_back(std::move(object));
      return true;
    };
    options.unknown = [&](const std::string& path, bool, const Error&) {
      unknown_.push_back(path);
      return true;
    };
    walked_ = SyncWait(WalkPlaces(test_.engine(), *store_, std::move(options)));
    return found;
  }

  std::vector<std::string> Names(PlacesOptions options = {}) {
    std::vector<std::string> names;
    for (const ObjectPlaces& object : Walk(std::move(options))) names.push_back(object.path);
    std::sort(names.begin(), names.end());
    return names;
  }

  void MakeTree() {
    for (const char* name : {"/b", "/b-c", "/d"}) ASSERT_TRUE(SyncWait(store_->MakeDirectory(name, false)));
    for (const char* name : {"/a", "/b/x", "/b/y", "/b-c/z", "/d/1", "/e"})
      ASSERT_TRUE(test_.Put(name, TestBytes(20'000)));
    test_.Settle();
  }

  TestStore test_;
  std::unique_ptr<LayoutStore> store_;
  std::vector<std::string> unknown_;
  Status walked_;
};

TEST_F(WalkPlacesTest, TellsWhichServerHoldsWhich) {
  ASSERT_TRUE(test_.Put("/o", TestBytes(100'000)));
  ASSERT_TRUE(test_.Put("/none", {}));
  test_.Settle();
  std::vector<ObjectPlaces> found = Walk();
  ASSERT_TRUE(walked_);
  ASSERT_EQ(found.size(), 2u);
  const auto& object = found[0].path == "/o" ? found[0] : found[1];
  EXPECT_THAT((found[0].path == "/o" ? found[1] : found[0]).runs, IsEmpty());
  EXPECT_EQ(object.bytes, 100'000u);
  EXPECT_EQ(object.geometry, (Geometry{4, 2, 8 * kKiB}));
  EXPECT_EQ(object.object_id.size(), kObjectIdBytes);
  uint64_t bytes = 0;
  std::set<MemberIndex> servers;
  for (const LaneRun& run : object.runs) {
    EXPECT_TRUE(run.held);
    bytes += run.bytes;
    servers.insert(run.server);
  }
  EXPECT_GT(bytes, 150'000u);
  EXPECT_EQ(servers.size(), 6u);
}

TEST_F(WalkPlacesTest, WhatALostServerHeldIsTheSameBeforeAndAfterItsLoss) {
  for (const size_t size : {10u, 9'000u, 33'000u, 200'000u})
    ASSERT_TRUE(test_.Put(fmt::format("/o{}", size), TestBytes(size)));
  test_.Settle();
  const auto losses = [&](MemberIndex server) {
    std::map<std::string, std::tuple<std::vector<uint32_t>, uint64_t, uint64_t, int>> lost;
    for (const ObjectPlaces& object : Walk()) {
      const auto loss = LossOf(object, [&](const LaneRun& run) { return run.server == server; });
      if (loss) lost[object.path] = {loss->lanes, loss->stripes, loss->bytes, loss->survives};
    }
    return lost;
  };
  const auto archives = test_.Archives("/o200000");
  const auto server = static_cast<MemberIndex>(archives.front().first);
  const auto before = losses(server);
  EXPECT_TRUE(before.contains("/o200000"));
  for (const size_t size : {10u, 9'000u, 33'000u, 200'000u}) {
    for (const auto& [holder, path] : test_.Archives(fmt::format("/o{}", size))) {
      if (holder != server) continue;
      ASSERT_TRUE(SyncWait(Remove(test_.engine().MetadataCall(), test_.engine().server(server), path)));
    }
  }
  EXPECT_EQ(losses(server), before);
  // A census agrees.
  const Result<Census> census = SyncWait(TakeCensus(test_.engine(), *store_, {}));
  ASSERT_TRUE(census);
  EXPECT_EQ(census->names().size(), before.size());
  for (const Census::Thin& thin : census->names())
    EXPECT_EQ(thin.left.survives, std::get<3>(before.at(thin.path))) << thin.path;
}

TEST_F(WalkPlacesTest, BeginsWhereAnotherOneWas) {
  MakeTree();
  EXPECT_THAT(Names(), ElementsAre("/a", "/b-c/z", "/b/x", "/b/y", "/d/1", "/e"));
  EXPECT_THAT(Names({.from = "/b/y"}), ElementsAre("/b-c/z", "/b/y", "/d/1", "/e"));
  EXPECT_THAT(Names({.from = "/b-c/z"}), ElementsAre("/b-c/z", "/d/1", "/e"));
  EXPECT_THAT(Names({.from = "/c"}), ElementsAre("/d/1", "/e")) << "it is gone";
  EXPECT_THAT(Names({.from = "nonsense"}), ElementsAre("/a", "/b-c/z", "/b/x", "/b/y", "/d/1", "/e"));
}

TEST_F(WalkPlacesTest, WhatIsUnderWayAtATurnIsNotPassedOver) {
  MakeTree();
  // Stopped at each turn in turn, and gone on with from there: every object is met.
  for (size_t stop = 1; stop <= 6; ++stop) {
    std::string at;
    size_t turns = 0;
    PlacesOptions first;
    first.turn = [&](WalkPoint point) -> Task<bool> {
      at = point.at;
      co_return ++turns < stop;
    };
    std::set<std::string> met;
    // In the order of the walk.
    const auto order = [](std::string path) {
      std::replace(path.begin(), path.end(), '/', '\0');
      return path;
    };
    // What is under way when a walk is stopped is not counted on.
    for (std::string& name : Names(std::move(first))) {
      if (order(name) < order(at)) met.insert(std::move(name));
    }
    EXPECT_EQ(walked_.code(), Code::kCancelled);
    for (std::string& name : Names({.from = at})) met.insert(std::move(name));
    EXPECT_EQ(met.size(), 6u) << "stopped at " << at;
  }
}

TEST_F(WalkPlacesTest, ADirectoryThatCannotBeListedIsTold) {
  MakeTree();
  ASSERT_TRUE(SyncWait(store_->MakeDirectory("/sub", false)));
  ASSERT_TRUE(test_.Put("/sub/1", TestBytes(20'000)));
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
  EXPECT_THAT(Names(), ElementsAre("/a", "/b-c/z", "/b/x", "/b/y", "/d/1", "/e"));
  EXPECT_TRUE(walked_);
  EXPECT_THAT(unknown_, ElementsAre("/sub"));
}

}  // namespace
}  // namespace xec
