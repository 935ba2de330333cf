// SPDX-License-Identifier: LGPL-3.0-or-later
// Seals that are left of an upload that has committed, on servers that do not read them well.
#include "commit/steps/roll_forward.hh"

#include <functional>

#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

ObjectPath Path() { return TestWorld::Path("/a"); }

// Puts the object; one server does not promote its archive.
void PutButPromoteNotOn(TestWorld& world, MemberIndex server) {
  Gateway& writer = world.NewGateway();
  const FaultRule full{.operation = Operation::kRename, .error = {Code::kNoSpace, "full"}};
  writer.faults[server]->plan().Add(full);
  ASSERT_TRUE(world.Put(writer, "/a"));
  writer.Kill();
  world.Pass(2h);
}

// What the server has of the name: the letters of its entries.
std::string KindsOn(TestWorld& world, MemberIndex server) {
  const Result<States> states = world.Run(ListStates(*world.NewGateway().engine, server, Path()));
  if (!states) return states.error().message;
  std::string kinds;
  for (const State& state : *states) kinds += FormatState(state)[0];
  return kinds;
}

// As it is on another home.
Accepted Goal(TestWorld& world) {
  const MemberIndex other = HomeFinder(world.descriptor).Of("a")[1];
  return HighestAccepted(*world.Run(ListStates(*world.NewGateway().engine, other, Path())));
}

Gateway& NewMisreading(TestWorld& world, MemberIndex server, FaultKind kind, uint64_t times) {
  Gateway& gateway = world.NewGateway();
  gateway.faults[server]->plan().Add(
      {.kind = kind, .operation = Operation::kRead, .path_contains = "/a.~xo/s.", .count = times});
  return gateway;
}

RollResult Roll(TestWorld& world, Gateway& gateway, MemberIndex home, const Accepted& goal) {
  return world.Run(RollForward(*gateway.engine, Path(), home, goal, std::nullopt));
}

// The bug: a good archive was removed for one read that fell short, or had a flipped bit.
TEST(RollForward, ASealThatIsMisreadOnceIsPromoted) {
  for (const FaultKind kind : {FaultKind::kShortRead, FaultKind::kCorrupt}) {
    TestWorld world({});
    const MemberIndex home = HomeFinder(world.descriptor).Of("a")[0];
    PutButPromoteNotOn(world, home);
    ASSERT_EQ(KindsOn(world, home), "s");
    Gateway& gateway = NewMisreading(world, home, kind, 1);
    EXPECT_EQ(Roll(world, gateway, home, Goal(world)), RollResult::kAccepted);
    EXPECT_EQ(gateway.faults[home]->plan().injected(), 1u);
    EXPECT_EQ(KindsOn(world, home), "p");
  }
}

TEST(RollForward, ASealThatIsNeverReadToItsEndStays) {
  TestWorld world({});
  const MemberIndex home = HomeFinder(world.descriptor).Of("a")[0];
  PutButPromoteNotOn(world, home);
  Gateway& gateway = NewMisreading(world, home, FaultKind::kShortRead, UINT64_MAX);
  EXPECT_EQ(Roll(world, gateway, home, Goal(world)), RollResult::kFailed);
  EXPECT_EQ(KindsOn(world, home), "s");
}

TEST(RollForward, ASealThatIsDamagedGivesWayToAWitness) {
  const auto flip = [](std::string& bytes) { bytes.back() ^= 1; };
  const auto cut = [](std::string& bytes) { bytes.resize(bytes.size() / 2); };
  const auto clear = [](std::string& bytes) { bytes.clear(); };
  for (const std::function<void(std::string&)>& damage :
       std::vector<std::function<void(std::string&)>>{flip, cut, clear}) {
    TestWorld world({});
    const MemberIndex home = HomeFinder(world.descriptor).Of("a")[0];
    PutButPromoteNotOn(world, home);
    for (const auto& [file, size] : world.memory[home]->Files()) {
      if (file.starts_with("/a.~xo/s.")) {
        ASSERT_TRUE(world.memory[home]->Tamper(file, damage));
      }
    }
    EXPECT_EQ(Roll(world, world.NewGateway(), home, Goal(world)), RollResult::kAccepted);
    EXPECT_EQ(KindsOn(world, home), "w");
  }
}

// On a server that is no home there is no witness in its place.
TEST(RollForward, ACleanerThatMisreadsASealComesAgain) {
  TestWorld world({});
  const MemberIndex server = world.Placement(Path()).back();
  ASSERT_FALSE(Contains(HomeFinder(world.descriptor).Of("a"), server));
  PutButPromoteNotOn(world, server);
  ASSERT_EQ(KindsOn(world, server), "s");
  Gateway& cleaner = NewMisreading(world, server, FaultKind::kShortRead, 1);
  const Result<CleanOutcome> cleaned = world.Run(CleanName(*cleaner.engine, Path()));
  ASSERT_TRUE(cleaned);
  EXPECT_GT(cleaned->left, 0u);
  EXPECT_EQ(KindsOn(world, server), "s");
  ASSERT_TRUE(world.Run(CleanName(*cleaner.engine, Path())));
  EXPECT_EQ(KindsOn(world, server), "p");
}

}  // namespace
}  // namespace xec
