// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine/server_gather.hh"

#include "commit/engine/pause.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;

Task<bool> After(Engine& engine, Duration time) {
  co_await Pause(engine, time);
  co_return true;
}
Task<bool> AfterAnHour(Engine& engine) { return After(engine, 1h); }

TEST(ServerGatherTest, WhoIsLateChangesOnlyWithNewsOfIt) {
  TestWorld world({});
  Engine& engine = *world.NewGateway().engine;
  ServerGather<bool> gather(engine);
  gather.Start(0, 0, 100ms, AfterAnHour(engine));
  gather.Start(1, 1, 200ms, AfterAnHour(engine));
  world.Pass(150ms);
  EXPECT_EQ(gather.late(), 0) << "the owner has not been told";
  EXPECT_FALSE(world.Run(gather.Next()).value);
  EXPECT_EQ(gather.LateTags(), std::vector<size_t>{0});
  world.Pass(100ms);
  EXPECT_FALSE(gather.OnlyLateOnes());
  EXPECT_FALSE(world.Run(gather.Next()).value);
  EXPECT_TRUE(gather.OnlyLateOnes());
  EXPECT_TRUE(world.Run(gather.Next()).value) << "it waits on for those who are late";
}

TEST(ServerGatherTest, WhoIsLateIsTimelyAgainWhileEverybodyIsBehind) {
  TestWorld world({});
  TestWorld::Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const TimePoint start = world.executor.Now();
  ServerGather<bool> gather(engine);
  gather.Start(0, 0, 100ms, AfterAnHour(engine));
  EXPECT_FALSE(world.Run(gather.Next()).value);
  EXPECT_EQ(gather.late(), 1);
  ServerGather<Result<std::vector<Entry>>> others(engine);
  for (MemberIndex other = 1; other < 6; ++other) {
    gateway.faults[other]->plan().Add({.kind = FaultKind::kHang});
    others.Start(other, List(engine.MetadataCall(), engine.server(other), "x"));
  }
  EXPECT_FALSE(world.Run(gather.Next(start + 300ms)).value);
  EXPECT_EQ(gather.late(), 0);
  EXPECT_FALSE(world.Run(gather.Next()).value);
  EXPECT_EQ(gather.late(), 1);
  EXPECT_GT(world.executor.Now(), start + 2s) << "as long as nobody answers, within the bound";
}

TEST(ServerGatherTest, WhoIsKnownToBeBadIsNews) {
  TestWorld world({});
  TestWorld::Gateway& gateway = world.NewGateway();
  gateway.faults[0]->plan().SetDown(true);
  ASSERT_FALSE(world.Run(List(gateway.engine->MetadataCall(), gateway.engine->server(0), "x")));
  ServerGather<bool> gather(*gateway.engine);
  gather.Start(0, 0, 100ms, AfterAnHour(*gateway.engine));
  EXPECT_EQ(gather.late(), 1);
  EXPECT_FALSE(world.Run(gather.Next()).value) << "for those who do not ask before";
  EXPECT_TRUE(world.Run(gather.Next()).value);
}

TEST(ServerGatherTest, ATimerThatIsLeftOverHidesNobody) {
  TestWorld world({});
  TestWorld::Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  gateway.faults[0]->plan().SetDown(true);
  ASSERT_FALSE(world.Run(List(engine.MetadataCall(), engine.server(0), "x")));
  ServerGather<bool> gather(engine);
  gather.Start(0, 0, 100ms, AfterAnHour(engine));
  gather.Start(1, 1, 100ms, After(engine, 50ms));
  EXPECT_FALSE(world.Run(gather.Next()).value);
  EXPECT_TRUE(world.Run(gather.Next()).value);
  world.Pass(200ms);
  EXPECT_TRUE(gather.OnlyLateOnes());
}

}  // namespace
}  // namespace xec
