// SPDX-License-Identifier: LGPL-3.0-or-later
// A rename of which one archive is still to follow, while every home that knows of it leaves, one after the
// other: without CarryRenames it would be forgotten, and the archive lost or in the way.
#include "base/contains.hh"
#include "commit/members/move_names.hh"
#include "commit/test/test_world.hh"
#include "placement/list_changes.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr int kPasses = 6;

class CarryRenamesTest : public testing::Test {
 protected:
  // The names have one home in common, which is late, and the other homes of the target had no archive.
  CarryRenamesTest() : world_(TestWorld::Options{.servers = 8}), gateway_(world_.NewGateway()) {
    std::vector<MemberIndex> common;
    for (int i = 0; common.size() != 1 || !Contains(HomesOf(kFrom), common[0]); ++i) {
      to_ = fmt::format("/b{}", i);
      common = world_.Placement(TestWorld::Path(kFrom));
      std::erase_if(common, [&](MemberIndex server) { return !Contains(HomesOf(to_), server); });
    }
    late_ = common[0];
  }
  ~CarryRenamesTest() override { gateway_.scope.Abandon(); }

  Homes HomesOf(const std::string& name) const {
    return HomeFinder(world_.descriptor).Of(TestWorld::Path(name).Last());
  }

  // The late one keeps its archive, and learns of nothing.
  void RenameWithoutLateOne() {
    ASSERT_TRUE(world_.Put(gateway_, kFrom));
    world_.memory[late_]->SetDown(true);
    const auto renamed =
        world_.Run(RenameObject(*gateway_.engine, TestWorld::Path(kFrom), TestWorld::Path(to_)));
    ASSERT_TRUE(renamed) << renamed.error().message;
    world_.Pass(1min);
    world_.memory[late_]->SetDown(false);
    world_.Pass(1min);
    ASSERT_EQ(ArchivesAt(to_), world_.descriptor.geometry.Total() - 1);
  }

  // A renamer dies when one home has its moved tombstone. Answers which.
  MemberIndex RenameOnOneHome() {
    for (size_t steps = 1;; ++steps) {
      Gateway& dying = world_.NewGateway();
      const Homes homes = HomesOf(kFrom);
      for (size_t i = 1; i < homes.size(); ++i)
        dying.faults[homes[i]]->plan().Add(
            {.kind = FaultKind::kFailBefore, .operation = Operation::kRename, .path_contains = "/r."});
      world_.executor.RunTask(RenameObject(*dying.engine, TestWorld::Path(kFrom), TestWorld::Path(to_)),
                              steps);
      dying.Kill();
      const std::vector<MemberIndex> shown = HomesWith(kFrom, &State::IsMoved);
      if (!shown.empty()) {
        EXPECT_EQ(shown.size(), 1u);
        return shown[0];
      }
      world_.Pass(1h);
      world_.Clean(gateway_);
    }
  }
  std::vector<MemberIndex> HomesWith(const std::string& name, bool (State::*holds)() const) {
    std::vector<MemberIndex> with;
    for (const MemberIndex home : HomesOf(name)) {
      const Result<States> states = world_.Run(ListStates(*gateway_.engine, home, TestWorld::Path(name)));
      if (states &&
          std::any_of(states->begin(), states->end(), [&](const State& state) { return (state.*holds)(); }))
        with.push_back(home);
    }
    return with;
  }

  // An empty disk takes the place of the server's.
  void LoseDisk(MemberIndex member, const std::string& name) {
    const Result<States> states = world_.Run(ListStates(*gateway_.engine, member, TestWorld::Path(name)));
    ASSERT_TRUE(states);
    for (const State& state : *states) {
      const std::string entry = FormatState(state);
      const ObjectPath path = TestWorld::Path(name);
      const Status removed = world_.Run(state.IsMark() ? RemoveMark(*gateway_.engine, member, path, entry)
                                                       : RemoveState(*gateway_.engine, member, path, entry));
      ASSERT_TRUE(removed) << removed.error().message;
    }
  }

  void GoBy(StoreDescriptor list) {
    std::vector<DataServerPtr> servers(gateway_.faults.begin(), gateway_.faults.end());
    auto engine = std::make_unique<Engine>(*gateway_.engine, list, std::move(servers));
    before_.push_back(std::exchange(gateway_.engine, std::move(engine)));
    world_.descriptor = std::move(list);
  }
  // From the settled list to the next settled one.
  void Leave(MemberIndex member) {
    const Result<StoreDescriptor> next =
        Leaving(world_.descriptor, world_.descriptor.members[member].id, 0, 0);
    ASSERT_TRUE(next) << next.error().message;
    GoBy(*next);
    const Status moved = world_.Run(MoveNames(*gateway_.engine, nullptr));
    ASSERT_TRUE(moved) << moved.error().message;
    GoBy(AfterChange(world_.descriptor));
    const Status swept = world_.Run(SweepNames(*gateway_.engine, nullptr));
    ASSERT_TRUE(swept) << swept.error().message;
    GoBy(AfterSweep(world_.descriptor, 0));
  }
  void LeaveAllThatKnow(const std::string& name) {
    const Homes homes = HomesOf(name);
    for (const MemberIndex home : homes) {
      if (home != late_) Leave(home);
    }
  }

  size_t ArchivesAt(const std::string& name) {
    const std::vector<std::string> entries = world_.EntriesOf(gateway_, name);
    return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](const std::string& entry) {
      return ParseState(entry)->kind == StateKind::kPromoted;
    }));
  }

  static constexpr const char* kFrom = "/a";
  std::string to_ = kFrom;
  TestWorld world_;
  Gateway& gateway_;
  std::vector<std::unique_ptr<Engine>> before_;
  MemberIndex late_ = 0;
};

TEST_F(CarryRenamesTest, AnArchiveFollowsThoughSomethingNewIsAtTheSource) {
  RenameWithoutLateOne();
  ASSERT_TRUE(world_.Put(gateway_, kFrom));
  LeaveAllThatKnow(kFrom);
  world_.Pass(1h);
  world_.Clean(gateway_);
  EXPECT_TRUE(world_.Lives(gateway_, kFrom));
  EXPECT_TRUE(world_.Lives(gateway_, to_));
  EXPECT_EQ(ArchivesAt(to_), world_.descriptor.geometry.Total());
}

TEST_F(CarryRenamesTest, AnArchiveThatComesBringsNothingBack) {
  RenameWithoutLateOne();
  ASSERT_TRUE(world_.Run(RemoveObject(*gateway_.engine, TestWorld::Path(to_))));
  LeaveAllThatKnow(to_);
  for (int pass = 0; pass < kPasses; ++pass) {
    world_.Pass(2h);
    (void)world_.Run(CleanName(*gateway_.engine, TestWorld::Path(to_)));
  }
  world_.Clean(gateway_);
  EXPECT_FALSE(world_.Lives(gateway_, kFrom));
  EXPECT_FALSE(world_.Lives(gateway_, to_)) << "it was removed";
  EXPECT_EQ(ArchivesAt(kFrom) + ArchivesAt(to_), 0u);
}

// A removal that does not see how far the rename has come stands above it, on all homes but one. This one is
// lost, and what was removed must not take along what was renamed.
TEST_F(CarryRenamesTest, ARemovalHidesNothingOfARenameThatGoesOn) {
  ASSERT_TRUE(world_.Put(gateway_, kFrom));
  const MemberIndex one = RenameOnOneHome();
  Gateway& remover = world_.NewGateway();
  remover.faults[one]->plan().SetDown(true);
  ASSERT_TRUE(world_.Run(RemoveObject(*remover.engine, TestWorld::Path(kFrom))));
  EXPECT_FALSE(world_.Lives(gateway_, kFrom));
  const bool renamed = world_.Lives(gateway_, to_);
  LoseDisk(one, kFrom);
  world_.Pass(2h);
  world_.Clean(gateway_);
  EXPECT_EQ(world_.Lives(gateway_, to_), renamed);
  EXPECT_EQ(ArchivesAt(to_), renamed ? world_.descriptor.geometry.Total() - 1 : 0);
}

// Of the homes that do not have it one is full, and the other one knows of nothing above.
TEST_F(CarryRenamesTest, AnyHomeThatTakesItMayKeepTheMovedTombstone) {
  ASSERT_TRUE(world_.Put(gateway_, kFrom));
  const MemberIndex one = RenameOnOneHome();
  std::vector<MemberIndex> others = HomesOf(kFrom);
  std::erase(others, one);
  ASSERT_EQ(others.size(), 2u);
  ASSERT_TRUE(world_.Put(gateway_, kFrom, {others[1]}));
  gateway_.faults[others[0]]->plan().SetFull(true);
  const Result<NameInfo> info = world_.Run(LookUp(*gateway_.engine, TestWorld::Path(kFrom)));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->accepted.Live());
  EXPECT_EQ(HomesWith(kFrom, &State::IsMoved).size(), 2u);
  EXPECT_TRUE(world_.Lives(gateway_, to_));
}

}  // namespace
}  // namespace xec
