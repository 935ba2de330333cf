// SPDX-License-Identifier: LGPL-3.0-or-later
// A cleaner whose clock is ahead carries on with the rename of a directory while the renamer is still at it.
#include "commit/attributes.hh"
#include "commit/rename.hh"
#include "commit/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

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

void OnPromotions(Gateway& gateway, FaultKind kind) {
  const FaultRule rule{.kind = kind, .operation = Operation::kRename, .path_contains = "/f.", .delay = 500ms};
  for (const auto& server : gateway.faults) server->plan().Add(rule);
}

struct Course {
  std::string to;
  size_t cleaner_after = 0;            // events
  std::optional<size_t> remover_after;  // events more: somebody removes what is there of the target
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

void TryAll(const std::string& to, std::optional<size_t> remover_after) {
  bool late = false;
  bool over = false;
  for (size_t steps = 1; !over; ++steps) {
    SCOPED_TRACE(fmt::format("to {}, the cleaner begins after {} steps, the remover {} later", to, steps,
                             remover_after.value_or(0)));
    ExpectThatTheLateOnesMakeNothing({to, steps, remover_after}, &late, &over);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(late) << to;
}

TEST(RenameCarriersTest, WhoIsLateMakesNoDirectoryThatIsGone) {
  TryAll("/e", std::nullopt);
  TryAll("/p/q/e", std::nullopt);
}

TEST(RenameCarriersTest, NorWhereTheTargetIsRemovedMeanwhile) {
  for (size_t remover = 10; remover < 600; remover += 45) TryAll("/e", remover);
}

}  // namespace
}  // namespace xec
