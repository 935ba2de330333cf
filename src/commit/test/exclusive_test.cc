// SPDX-License-Identifier: LGPL-3.0-or-later
// Exclusive creations that ask one home before they seal.
#include "commit/engine/names.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

class Exclusive : public ToleranceTest {
 protected:
  static void ExpectRisenBase(bool may_rise);
  // The home that a start asks.
  static MemberIndex Asked(const Gateway& gateway) {
    return gateway.engine->ByHealth(gateway.engine->Homes(TestWorld::Path("/a"))).front();
  }
  // `gateway` has a view of the servers of its own, and does not see the home fail.
  static void WithoutAsked(TestWorld& world, Gateway& gateway, const std::function<void()>& change) {
    world.memory[Asked(gateway)]->SetDown(true);
    change();
    world.memory[Asked(gateway)]->SetDown(false);
  }
};

// The home that it asks shows nothing.
void ExpectNoBase(TestWorld& world, Gateway& gateway) {
  const Result<ExclusiveStart> start = world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/a")));
  ASSERT_TRUE(start);
  EXPECT_FALSE(start->base);
}

TEST_P(Exclusive, OfANewNameAsksOneHome) {
  TestWorld world(OptionsOf(1));
  Gateway& gateway = world.NewGateway();
  const Result<ExclusiveStart> start = world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/a")));
  ASSERT_TRUE(start);
  EXPECT_FALSE(start->base);
  EXPECT_EQ(gateway.counts->Total(), 1u);
}

TEST_P(Exclusive, OfANameThatLivesIsRefusedBeforeAnythingIsSealed) {
  TestWorld world(OptionsOf(2));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  EXPECT_EQ(world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/a"))).code(), Code::kAlreadyExists);
}

TEST_P(Exclusive, MeetsWhatTheHomeItAskedHasMissed) {
  TestWorld world(OptionsOf(3));
  Gateway& other = world.NewGateway();
  Gateway& gateway = world.NewGateway();
  Result<Version> before = Fail(Code::kInternal, "not put");
  WithoutAsked(world, gateway, [&] { before = world.Put(other, "/a", {Asked(gateway)}); });
  ASSERT_TRUE(before);
  ExpectNoBase(world, gateway);
  EXPECT_EQ(world.Run(world.PutOn(gateway, TestWorld::Path("/a"), true)).code(), Code::kAlreadyExists);
  EXPECT_EQ(world.StateOf(gateway, "/a").version, *before);
  ASSERT_TRUE(world.Tidy(gateway, std::chrono::seconds(30)));
  for (const std::string& entry : world.EntriesOf(gateway, "/a")) EXPECT_NE(entry[0], 'e') << entry;
}

TEST_P(Exclusive, MeetsADirectoryThatTheHomeItAskedHasMissed) {
  TestWorld world(OptionsOf(7));
  Gateway& other = world.NewGateway();
  Gateway& gateway = world.NewGateway();
  WithoutAsked(world, gateway, [&] {
    ASSERT_TRUE(world.Run(MakeDirectoryName(*other.engine, TestWorld::Path("/a"), false)));
  });
  ExpectNoBase(world, gateway);
  EXPECT_EQ(world.Run(world.PutOn(gateway, TestWorld::Path("/a"), true)).code(), Code::kIsDirectory);
  EXPECT_EQ(world.StateOf(gateway, "/a").kind, Accepted::kDirectory);
}

TEST_P(Exclusive, StandsOnARemovalThatTheHomeItAskedHasMissed) {
  TestWorld world(OptionsOf(4));
  Gateway& other = world.NewGateway();
  Gateway& gateway = world.NewGateway();
  WithoutAsked(world, gateway, [&] {
    ASSERT_TRUE(world.Put(other, "/a", {Asked(gateway)}));
    ASSERT_TRUE(world.Run(RemoveObject(*other.engine, TestWorld::Path("/a"))));
  });
  world.Pass(std::chrono::seconds(1));
  ExpectNoBase(world, gateway);
  ASSERT_TRUE(world.Run(world.PutOn(gateway, TestWorld::Path("/a"), true)));
  EXPECT_TRUE(world.Lives(other, "/a"));
}

void Exclusive::ExpectRisenBase(bool may_rise) {
  TestWorld world(OptionsOf(8));
  Gateway& other = world.NewGateway();
  Gateway& gateway = world.NewGateway();
  const auto put_and_remove = [&] {
    ASSERT_TRUE(world.Put(other, "/a"));
    ASSERT_TRUE(world.Run(RemoveObject(*other.engine, TestWorld::Path("/a"))));
    world.Pass(std::chrono::seconds(1));
  };
  put_and_remove();
  Result<PutRequest> request = world.Run(world.StartPut(gateway, TestWorld::Path("/a"), true));
  ASSERT_TRUE(request);
  ASSERT_TRUE(request->exclusive_base);
  put_and_remove();
  request->seal.version = *gateway.engine->NextVersion(*request->seal.version);
  request->base_may_rise = may_rise;
  for (const MemberIndex server : world.Placement(request->path)) {
    ASSERT_TRUE(world.Seal(gateway, request->path, server, request->seal));
    request->archives.push_back(server);
  }
  const Result<Version> committed = world.Run(CommitPut(*gateway.engine, std::move(*request)));
  EXPECT_EQ(committed.has_value(), may_rise);
  EXPECT_TRUE(committed || committed.code() == Code::kConflict);
  EXPECT_EQ(world.Lives(other, "/a"), may_rise);
}

// It was taken for another upload that is under way. An entry of layout xrdec holds for its base only.
TEST_P(Exclusive, StandsOnARemovalThatCameSinceItsBaseWasSettled) {
  for (const bool may_rise : {true, false}) ExpectRisenBase(may_rise);
}

// Its version would be below the removal; the next one's is not.
TEST_P(Exclusive, IsToldToRetryWhereARemovalIsAheadOfItsClock) {
  TestWorld world(OptionsOf(5));
  Gateway& ahead = world.NewGateway();
  ahead.process.SetWallSkew(std::chrono::minutes(10));
  Gateway& gateway = world.NewGateway();
  WithoutAsked(world, gateway, [&] {
    ASSERT_TRUE(world.Put(ahead, "/a", {Asked(gateway)}));
    ASSERT_TRUE(world.Run(RemoveObject(*ahead.engine, TestWorld::Path("/a"))));
  });
  const Status refused = world.Run(world.PutOn(gateway, TestWorld::Path("/a"), true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::kConflict);
  EXPECT_NE(refused.error().message.find("clock"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(world.Lives(ahead, "/a"));
  ASSERT_TRUE(world.Run(world.PutOn(gateway, TestWorld::Path("/a"), true)));
  EXPECT_TRUE(world.Lives(ahead, "/a"));
}

// A creator that waited for its answer would take as long as a request may.
TEST_P(Exclusive, DoesNotWaitForAHomeThatHangs) {
  TestWorld world(OptionsOf(6));
  Gateway& gateway = world.NewGateway();
  FaultRule hang;
  hang.kind = FaultKind::kHang;
  gateway.faults[Asked(gateway)]->plan().Add(hang);
  const TimePoint begin = world.executor.Now();
  const Result<ExclusiveStart> start = world.Run(StartExclusive(*gateway.engine, TestWorld::Path("/a")));
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_TRUE(start->base);
  EXPECT_LT(world.executor.Now() - begin, gateway.engine->options().metadata_timeout);
}

INSTANTIATE_TEST_SUITE_P(Tolerances, Exclusive, testing::Values(1, 2));

}  // namespace
}  // namespace xec
