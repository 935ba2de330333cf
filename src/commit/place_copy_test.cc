// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/place_copy.hh"

#include "commit/test_world.hh"

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
    const std::vector<MemberIndex> homes = HomesOf(world.descriptor, path.Last());
    const size_t quorum = Quorum(homes.size());
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

}  // namespace
}  // namespace xec
