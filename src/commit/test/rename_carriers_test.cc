// SPDX-License-Identifier: LGPL-3.0-or-later
// A cleaner whose clock is ahead carries on with the rename of a directory while the renamer is still at it.
#include "commit/test/test_attributes.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;
// Of the beginnings that are tried: sanitizers take long.
constexpr size_t kStride = 3;

Task<void> Resume(Engine& engine) {
  const Result<bool> resumed = co_await ResumeDirectoryRenames(engine);
  (void)resumed;
}

Task<void> Rename(Engine& engine, std::string to, std::optional<Status>* answer) {
  *answer = co_await RenameDirectory(engine, TestWorld::Path("/d"), TestWorld::Path(to));
}

Task<void> RemoveBeneath(Engine& engine, std::string to) {
  for (const std::string& path : {to + "/s", to}) {
    const Status removed = co_await RemoveDirectoryName(engine, TestWorld::Path(path));
    (void)removed;
  }
}

void OnPromotions(Gateway& gateway, FaultKind kind, Duration delay = 500ms) {
  const FaultRule rule{.kind = kind, .operation = Operation::kRename, .path_contains = "/f.", .delay = delay};
  for (const auto& server : gateway.faults) server->plan().Add(rule);
}

// Whoever cannot remove the directory itself leaves that to the renamer.
void HoldMarksOfTheSource(Gateway& gateway) {
  for (const Operation operation : {Operation::kCreate, Operation::kMakeDirectory}) {
    const FaultRule rule{.kind = FaultKind::kHang, .operation = operation, .path_contains = "/d.~xo/"};
    for (const auto& server : gateway.faults) server->plan().Add(rule);
  }
}

struct Course {
  std::string to = {};
  size_t cleaner_after = 0;            // events
  std::optional<size_t> remover_after = {};  // events more: somebody removes what is there of the target
  std::optional<size_t> carrier_after = {};  // events more: another cleaner moves what is in the source
};

// `late`: the cleaner's promotions of directories come to the servers once the rename is over, and the
// directories are removed again. `over`: the rename is, before the cleaner begins.
void ExpectThatTheLateOnesMakeNothing(const Course& course, bool* late, bool* over) {
  TestWorld world({.seed = course.cleaner_after % 5 + 1});
  Gateway& renamer = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*renamer.engine, world.Path("/d/s"), true)));
  const ObjectPath parent = world.Path(course.to).Parent();
  if (!parent.IsRoot()) {
    ASSERT_TRUE(world.Run(MakeDirectoryName(*renamer.engine, parent, true)));
  }
  OnPromotions(renamer, FaultKind::kDelay);
  Gateway& cleaner = world.NewGateway();
  cleaner.process.SetWallSkew(1h);
  OnPromotions(cleaner, FaultKind::kHang);
  Gateway& other = world.NewGateway();
  std::optional<Status> renamed;
  renamer.scope.Spawn(Rename(*renamer.engine, course.to, &renamed));
  for (size_t i = 0; i < course.cleaner_after && !renamed; ++i) ASSERT_TRUE(world.executor.RunOne());
  *over = renamed.has_value();
  cleaner.scope.Spawn(Resume(*cleaner.engine));
  Gateway& carrier = world.NewGateway();
  carrier.process.SetWallSkew(1h);
  if (course.carrier_after) {
    HoldMarksOfTheSource(carrier);
    for (size_t i = 0; i < *course.carrier_after && !renamed; ++i) ASSERT_TRUE(world.executor.RunOne());
    carrier.scope.Spawn(Resume(*carrier.engine));
  }
  if (course.remover_after) {
    for (size_t i = 0; i < *course.remover_after && !renamed; ++i) ASSERT_TRUE(world.executor.RunOne());
    other.scope.Spawn(RemoveBeneath(*other.engine, course.to));
  }
  ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
  if (!*renamed) return;
  world.Pass(5s);  // what the other one does is over, too
  std::vector<ObjectPath> gone = {world.Path(course.to + "/s")};
  for (ObjectPath path = world.Path(course.to); !path.IsRoot(); path = path.Parent()) gone.push_back(path);
  for (const ObjectPath& path : gone) {
    const Status removed = world.Run(RemoveDirectoryName(*other.engine, path));
    ASSERT_TRUE(removed || removed.code() == Code::kNotFound) << path.text() << removed.error().message;
  }
  for (const auto& server : cleaner.faults) {
    *late = *late || server->plan().hung() > 0;
    server->plan().ReleaseHung();
  }
  world.Pass(1min);
  for (const ObjectPath& path : gone)
    EXPECT_FALSE(world.Lives(other, path.text())) << path.text() << " is back";
}

// `course`: without the cleaner's beginning. `late`: some of its promotions were.
void TryAll(Course course, bool* late) {
  bool over = false;
  for (course.cleaner_after = 1; !over; course.cleaner_after += kStride) {
    SCOPED_TRACE(fmt::format("to {}, the cleaner begins after {} steps, the remover {} later, the carrier {}",
                             course.to, course.cleaner_after, course.remover_after.value_or(0),
                             course.carrier_after.value_or(0)));
    ExpectThatTheLateOnesMakeNothing(course, late, &over);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RenameCarriersTest, WhoIsLateMakesNoDirectoryThatIsGone) {
  for (const std::string to : {"/e", "/p/q/e"}) {
    bool late = false;
    TryAll({.to = to}, &late);
    EXPECT_TRUE(late) << to;
  }
}

TEST(RenameCarriersTest, NorWhereTheTargetIsRemovedMeanwhile) {
  for (size_t remover = 10; remover < 600; remover += 45) {
    bool late = false;
    TryAll({.to = "/e", .remover_after = remover}, &late);
    EXPECT_TRUE(late) << remover;
  }
}

TEST(RenameCarriersTest, NorWhereAThirdOneHasMovedItBefore) {
  bool late = false;
  for (size_t carrier = 0; carrier < 400; carrier += 50)
    TryAll({.to = "/e", .carrier_after = carrier}, &late);
  EXPECT_TRUE(late);
}

// Both are slow with their promotions. True: the rename was answered well, after the cleaner began.
bool AttributesComeAlong(size_t cleaner_after, Duration cleaner_delay, bool* over) {
  TestWorld world({.seed = cleaner_after % 5 + 1});
  Gateway& renamer = world.NewGateway();
  EXPECT_TRUE(world.Run(MakeDirectoryName(*renamer.engine, world.Path("/d/s"), true)));
  for (const std::string name : {"/d", "/d/s"})
    EXPECT_TRUE(world.Run(SetAttribute(*renamer.engine, world.Path(name), "user.of", name)));
  OnPromotions(renamer, FaultKind::kDelay);
  Gateway& cleaner = world.NewGateway();
  cleaner.process.SetWallSkew(1h);
  OnPromotions(cleaner, FaultKind::kDelay, cleaner_delay);
  std::optional<Status> renamed;
  renamer.scope.Spawn(Rename(*renamer.engine, "/e", &renamed));
  for (size_t i = 0; i < cleaner_after && !renamed; ++i) EXPECT_TRUE(world.executor.RunOne());
  *over = renamed.has_value();
  cleaner.scope.Spawn(Resume(*cleaner.engine));
  EXPECT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
  if (*over || !*renamed) return false;
  for (const bool later : {false, true}) {
    if (later) world.Pass(1min);
    for (const std::string name : {"/d", "/d/s"}) {
      const std::string target = "/e" + name.substr(2);
      const auto found = world.Run(LookUpAttributes(*renamer.engine, world.Path(target)));
      EXPECT_TRUE(found && found->set && found->set->set.Values() == UserAttributes({{"user.of", name}}))
          << target << " has lost them" << (later ? ", later" : "");
    }
  }
  return true;
}

TEST(RenameCarriersTest, AttributesComeAlongWhoeverIsLate) {
  size_t well = 0;
  for (const Duration delay : {1ms, 250ms, 490ms, 510ms, 900ms, 1500ms}) {
    bool over = false;
    for (size_t steps = 1; !over && !testing::Test::HasFailure(); steps += kStride) {
      SCOPED_TRACE(fmt::format("the cleaner begins after {} steps, late by {} ms", steps,
                               std::chrono::duration_cast<std::chrono::milliseconds>(delay).count()));
      well += AttributesComeAlong(steps, delay, &over) ? 1 : 0;
    }
  }
  EXPECT_GT(well, 100u);
}

// All that is left of it is on a server that was away.
TEST(RenameCarriersTest, WhatOthersFailedToMakeIsNotMade) {
  TestWorld world({.seed = 3});
  Gateway& renamer = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*renamer.engine, world.Path("/d/s"), true)));
  ASSERT_TRUE(world.Run(MakeDirectoryName(*renamer.engine, world.Path("/e"), true)));
  const MemberIndex home = renamer.engine->Homes(world.Path("/e/x")).front();
  Gateway& other = world.NewGateway();
  const Result<Version> version = other.engine->NextVersion(std::nullopt);
  ASSERT_TRUE(version);
  const State seal = DirectorySealState(*version, other.engine->NewObjectId());
  ASSERT_TRUE(world.Run(RemoveDirectoryName(*renamer.engine, world.Path("/e"))));
  ASSERT_TRUE(world.Run(MakeNamedMark(*other.engine, home, world.Path("/e/x"), FormatState(seal))));
  ASSERT_TRUE(world.Run(RenameDirectory(*renamer.engine, world.Path("/d"), world.Path("/e"))));
  EXPECT_FALSE(world.Lives(other, "/e/x"));
}

}  // namespace
}  // namespace xec
