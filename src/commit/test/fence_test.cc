// SPDX-License-Identifier: LGPL-3.0-or-later
// Giving up an upload or a rename whose gateway may wake up, or have committed on a home that is away.
#include "commit/steps/fence.hh"

#include "commit/steps/promote.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using Gateway = TestWorld::Gateway;

// The writer seals one home more just when the cleaner has seen nothing there.
TEST(Fence, ASealThatComesBetweenTheListingAndTheMarkIsFencedAsWell) {
  TestWorld world({});
  Gateway& writer = world.NewGateway();
  Gateway& cleaner = world.NewGateway();
  const ObjectPath path = TestWorld::Path("/a");
  const MemberIndex home = writer.engine->Homes(path).front();
  const State seal = SealedState(writer.engine->NewObjectId());
  cleaner.faults[home]->plan().Add(
      {.kind = FaultKind::kDelay, .operation = Operation::kMakeDirectory, .delay = milliseconds(200)});
  std::optional<bool> fenced;
  const auto keep = [](Task<bool> task, std::optional<bool>* into) -> Task<void> { *into = co_await task; };
  cleaner.scope.Spawn(keep(FenceHome(*cleaner.engine, path, home, seal), &fenced));
  world.Pass(milliseconds(100));
  ASSERT_EQ(cleaner.counts->Of(Operation::kList), 1u) << "it has listed, and the mark is on its way";
  ASSERT_TRUE(world.Seal(writer, path, home, seal));
  world.Pass(std::chrono::seconds(2));
  ASSERT_TRUE(fenced);
  EXPECT_TRUE(*fenced);
  const Status promoted = world.Run(RenameState(*writer.engine, home, path, FormatState(seal),
                                                FormatState(PromotedState(Version{}, seal.oid, 7))));
  EXPECT_EQ(promoted.code(), Code::kNotFound) << "it can be promoted after its upload was given up";
}

// A writer that slept meets something higher everywhere, and its seals are gone.
TEST(Fence, WhatNoHomeEverAcceptedIsNotDoneBecauseSomethingHigherIsThere) {
  TestWorld world({});
  Gateway& sleeper = world.NewGateway();
  const ObjectPath path = TestWorld::Path("/a");
  const State seal = SealedState(sleeper.engine->NewObjectId());
  const Result<Version> version = sleeper.engine->NextVersion(std::nullopt);
  ASSERT_TRUE(version);
  world.Pass(std::chrono::hours(2));
  ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
  const auto promoted = world.Run(PromoteHomes(*sleeper.engine, path, sleeper.engine->Homes(path),
                                               PromotedState(*version, seal.oid, 7), FormatState(seal)));
  EXPECT_EQ(promoted.code(), Code::kConflict);
}

// A home that is away may be the one that took the rename.
TEST(Fence, TheTargetKeepsItsSealsWhileAHomeOfTheSourceIsSilent) {
  TestWorld world({});
  Gateway& renamer = world.NewGateway();
  ASSERT_TRUE(world.Put(renamer, "/a"));
  const Homes homes = renamer.engine->Homes(TestWorld::Path("/a"));
  for (size_t i = 1; i < homes.size(); ++i)
    renamer.faults[homes[i]]->plan().Add(
        {.kind = FaultKind::kHang, .operation = Operation::kRename, .path_contains = "/a.~xo/r."});
  const auto rename = [](Engine& engine) -> Task<void> {
    (void)co_await RenameObject(engine, TestWorld::Path("/a"), TestWorld::Path("/b"));
  };
  renamer.scope.Spawn(rename(*renamer.engine));
  const auto taken = [&] {
    const auto files = world.memory[homes[0]]->Files();
    return std::any_of(files.begin(), files.end(),
                       [](const auto& file) { return file.first.starts_with("/a.~xo/t."); });
  };
  for (int tries = 0; tries < 500 && !taken(); ++tries) world.Pass(milliseconds(1));
  ASSERT_TRUE(taken());
  renamer.Kill();
  Gateway& cleaner = world.NewGateway();
  world.memory[homes[0]]->SetDown(true);
  world.Pass(std::chrono::minutes(3));
  (void)world.Run(CleanName(*cleaner.engine, TestWorld::Path("/b")));
  world.memory[homes[0]]->SetDown(false);
  Gateway& reader = world.NewGateway();
  EXPECT_FALSE(world.Lives(reader, "/a"));
  EXPECT_TRUE(world.Lives(reader, "/b"));
}

}  // namespace
}  // namespace xec
