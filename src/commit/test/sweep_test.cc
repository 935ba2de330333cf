// SPDX-License-Identifier: LGPL-3.0-or-later
// What the cleaner does about names that never come to rest, and about homes that cannot follow.
#include <algorithm>

#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::minutes;

TestWorld::Options Small() {
  TestWorld::Options options;
  options.servers = 5;
  options.tolerance = 1;
  return options;
}

size_t ArchivesOn(TestWorld& world, TestWorld::Gateway& gateway, MemberIndex member) {
  const auto states = world.Run(ListStates(*gateway.engine, member, TestWorld::Path("/a")));
  EXPECT_TRUE(states);
  if (!states) return 0;
  return static_cast<size_t>(std::count_if(
      states->begin(), states->end(), [](const State& state) { return state.kind == StateKind::kPromoted; }));
}

// Each version is younger than the grace time of readers of the one before.
TEST(Sweep, OfANameThatIsWrittenAgainAndAgainWhatIsOldGoes) {
  TestWorld world(Small());
  TestWorld::Gateway& gateway = world.NewGateway();
  const MemberIndex home = gateway.engine->Homes(TestWorld::Path("/a"))[0];
  std::vector<std::string> versions;
  for (int i = 0; i < 30; ++i) {
    const auto put = world.Put(gateway, "/a");
    ASSERT_TRUE(put);
    versions.push_back("p." + put->ToString());
    world.Pass(minutes(1));
    ASSERT_TRUE(world.Run(CleanName(*gateway.engine, TestWorld::Path("/a"))));
    // The grace is five minutes: what was current within that is there.
    const auto entries = world.EntriesOf(gateway, "/a");
    for (size_t back = 0; back < std::min<size_t>(5, versions.size()); ++back) {
      const std::string& version = versions[versions.size() - 1 - back];
      EXPECT_TRUE(std::any_of(entries.begin(), entries.end(),
                              [&](const std::string& entry) { return entry.starts_with(version); }))
          << back << " versions ago, after " << i;
    }
    EXPECT_LE(ArchivesOn(world, gateway, home), 8u);
  }
}

// A full disk takes no witness of the current version: the home stays behind, but what it had before the last
// version that it took goes, which makes room.
TEST(Sweep, AHomeThatIsFullGivesUpWhatIsOld) {
  TestWorld world(Small());
  TestWorld::Gateway& gateway = world.NewGateway();
  const MemberIndex home = gateway.engine->Homes(TestWorld::Path("/a"))[0];
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(world.Put(gateway, "/a"));
  EXPECT_EQ(ArchivesOn(world, gateway, home), 4u);
  gateway.faults[home]->plan().Add({.operation = Operation::kWrite, .error = {Code::kNoSpace, "full"}});
  ASSERT_TRUE(world.Put(gateway, "/a", {home}));
  for (int i = 0; i < 3; ++i) {
    world.Pass(minutes(90));
    ASSERT_TRUE(world.Run(CleanName(*gateway.engine, TestWorld::Path("/a"))));
    const auto states = world.Run(ListStates(*gateway.engine, home, TestWorld::Path("/a")));
    ASSERT_TRUE(states);
    // The last one it took, and the draft of a witness.
    EXPECT_LE(states->size(), 2u);
    EXPECT_EQ(ArchivesOn(world, gateway, home), 1u);
  }
  gateway.faults[home]->plan().Clear();
  world.Clean(gateway);
  EXPECT_EQ(ArchivesOn(world, gateway, home), 0u);
  EXPECT_TRUE(world.Lives(gateway, "/a"));
}

}  // namespace
}  // namespace xec
