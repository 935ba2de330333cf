// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/steps/place_copy.hh"

#include "commit/steps/drafts.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

class PlaceCopyTest : public ToleranceTest {};

INSTANTIATE_TEST_SUITE_P(Tolerance, PlaceCopyTest, ::testing::Values(1, 2));

// The bad archive may be all that a home shows of the version, and the homes that never heard of it a quorum
// with that one.
TEST_P(PlaceCopyTest, AHomeWhoseBadArchiveGoesStillKnowsTheVersion) {
  for (size_t steps = 1;; ++steps) {
    ASSERT_LT(steps, kStepsMax);
    TestWorld world(OptionsOf(1));
    const ObjectPath path = world.Path("/a");
    const Homes homes = HomeFinder(world.descriptor).Of(path.Last());
    const size_t quorum = homes.quorum();
    ASSERT_TRUE(
        world.Put(world.NewGateway(), "/a", {homes.begin() + static_cast<long>(quorum), homes.end()}));
    Gateway& repairing = world.NewGateway();
    const Accepted version = world.StateOf(repairing, "/a");
    const auto states = world.Run(ListStates(*repairing.engine, homes[0], path));
    ASSERT_TRUE(states);
    const std::optional<State> bad = ArchiveInPlace(*states, version);
    ASSERT_TRUE(bad);
    const auto done =
        world.executor.RunTask(RemoveBad(*repairing.engine, path, homes[0], version, *bad), steps);
    repairing.Kill();
    for (size_t i = 1; i < quorum; ++i) world.memory[homes[i]]->SetDown(true);
    EXPECT_TRUE(world.Lives(world.NewGateway(), "/a")) << "killed after " << steps << " steps";
    if (HasFailure()) break;
    if (!done) continue;
    EXPECT_TRUE(*done) << done->error().message;
    break;
  }
}

// Its archive has followed a rename on one home, another home knows from where the version came. The third
// one was repaired: when it accepts, the second one may lose its disk. Nobody waits for a repair, so it waits
// for servers that are late.
TEST(PlaceCopyOfMovedTest, AHomeThatIsRepairedKnowsTheOrigin) {
  for (const auto& [damaged, late] : {std::pair(false, false), {false, true}, {true, false}}) {
    TestWorld world({.seed = 2});
    Gateway& gateway = world.NewGateway();
    const ObjectPath path = world.Path("/b");
    ASSERT_TRUE(world.Put(gateway, "/x"));
    const Accepted put = world.StateOf(gateway, "/x");
    const Homes homes = gateway.engine->Homes(path);
    State witness = WitnessState(put.version, put.oid, put.size);
    const State archive = PromotedState(put.version, put.oid, put.size);
    ASSERT_TRUE(world.Seal(gateway, path, homes[1], archive));
    std::optional<State> replaces;
    if (damaged) {
      ASSERT_TRUE(world.Seal(gateway, path, homes[2], archive));
      replaces = world.Run(ListStates(*gateway.engine, homes[2], path))->front();
    }
    witness.origin = gateway.engine->NewObjectId();
    ASSERT_TRUE(world.Seal(gateway, path, homes[0], witness));
    const Accepted version = AcceptedFrom(archive);
    const State draft = DraftOf(*gateway.engine, version);
    ASSERT_TRUE(world.Seal(gateway, path, homes[2], draft));
    if (late) {
      FaultRule slow{.kind = FaultKind::kDelay, .operation = Operation::kList};
      slow.delay = std::chrono::milliseconds(500);
      gateway.faults[homes[0]]->plan().Add(slow);
    }
    const Placed placed = world.Run(PlaceCopy(*gateway.engine, path, homes[2], draft, version, replaces));
    EXPECT_TRUE(placed.status) << placed.status.error().message;
    const auto states = world.Run(ListStates(*gateway.engine, homes[2], path));
    ASSERT_TRUE(states);
    EXPECT_EQ(HighestAccepted(*states).origin, witness.origin) << "damaged " << damaged << ", late " << late;
    EXPECT_TRUE(ArchiveInPlace(*states, version));
  }
}

}  // namespace
}  // namespace xec
