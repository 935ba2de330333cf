// SPDX-License-Identifier: LGPL-3.0-or-later
// User attributes that a reader cannot get hold of, and those that very many have set at once.
#include "commit/engine/pause.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_attributes.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

class ManyAttributesTest : public AttributesTest {
 protected:
  // So many set one each, "U.<number modulo names>"; none of them has seen the others.
  template <typename Value>
  static void SetAtOnce(TestWorld& world, Gateway& gateway, size_t count, size_t names, Value value) {
    const auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
    ASSERT_TRUE(info);
    for (size_t i = 0; i < count; ++i) {
      AttributeChange change{{{fmt::format("U.{}", i % names), value(i)}}, {}, {}};
      const Status set = world.Run(ChangeAttribute(*gateway.engine, *info, std::move(change)));
      ASSERT_TRUE(set) << i << ": " << set.error().message;
    }
  }
  // Its reader finds no revision that a listing has shown.
  static Gateway& NewBehind(TestWorld& world, const std::string& name) {
    Gateway& gateway = world.NewGateway();
    const FaultRule gone{.operation = Operation::kOpen,
                         .path_contains = "/" + name + ".~xo/a.",
                         .error = {Code::kNotFound, "it is not there"}};
    for (const auto& fault : gateway.faults) fault->plan().Add(gone);
    return gateway;
  }
};

INSTANTIATE_TEST_SUITE_P(Tolerance, ManyAttributesTest, ::testing::Values(1, 2));

Task<void> SetAgainAndAgain(Engine& engine, ObjectPath path, const bool* over) {
  while (!*over) {
    const Status set = co_await SetAttribute(engine, path, "U.k", "v");
    (void)set;
    co_await Pause(engine, 100ms);
  }
}

// The bug: each revision was superseded, and removed, before it was read, and "not found" was the answer for
// an object that is there.
TEST_P(ManyAttributesTest, AReaderBehindSettersDoesNotSayThatTheObjectIsMissing) {
  bool over = false;
  TestWorld world(OptionsOf(1));
  Gateway& setter = world.NewGateway();
  ASSERT_TRUE(world.Put(setter, "/a"));
  ASSERT_TRUE(world.Run(SetAttribute(*setter.engine, world.Path("/a"), "U.k", "v")));
  setter.scope.Spawn(SetAgainAndAgain(*setter.engine, world.Path("/a"), &over));
  Gateway& reader = world.NewGateway();
  const FaultRule slow{
      .kind = FaultKind::kDelay, .operation = Operation::kOpen, .path_contains = "/a.~xo/a.", .delay = 1s};
  for (const auto& fault : reader.faults) fault->plan().Add(slow);
  EXPECT_EQ(Read(world, reader, "/a").code(), Code::kConflict);
  for (const auto& fault : reader.faults) fault->plan().Clear();
  const auto read = Read(world, reader, "/a");
  EXPECT_TRUE(read && read->at("U.k") == "v");
  over = true;
  setter.Kill();
}

TEST_P(ManyAttributesTest, ARenameBehindSettersDoesNotSayThatTheObjectIsMissing) {
  TestWorld world(OptionsOf(2));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "v")));
  Gateway& renamer = NewBehind(world, "a");
  const Status renamed = world.Run(RenameObject(*renamer.engine, world.Path("/a"), world.Path("/b")));
  EXPECT_EQ(renamed.code(), Code::kConflict);
  world.Pass(1min);
  EXPECT_TRUE(world.Lives(gateway, "/a"));
  EXPECT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
}

// The bug: the log went as if the directory were gone, with everything still in it.
TEST_P(ManyAttributesTest, ADirectoryRenameBehindSettersIsGoneOnWith) {
  TestWorld world(OptionsOf(3));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d"), true)));
  ASSERT_TRUE(world.Put(gateway, "/d/x"));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/d"), "U.k", "v")));
  Gateway& renamer = NewBehind(world, "d");
  const Status renamed = world.Run(RenameDirectory(*renamer.engine, world.Path("/d"), world.Path("/e")));
  EXPECT_EQ(renamed.code(), Code::kUnknown);
  renamer.Kill();
  world.Pass(2h);
  EXPECT_TRUE(world.Run(ResumeDirectoryRenames(*gateway.engine)));
  EXPECT_FALSE(world.Lives(gateway, "/d"));
  EXPECT_TRUE(world.Lives(gateway, "/e/x"));
  const auto read = Read(world, gateway, "/e");
  EXPECT_TRUE(read && read->contains("U.k"));
}

// The bug: a revision that its setter had written on one home before it died, damaged there, kept everybody
// from all attributes of the object.
TEST_P(ManyAttributesTest, OneThatNobodyCanReadAndNoQuorumHasIsPassedOver) {
  TestWorld world(OptionsOf(4));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.old", "v")));
  world.Pass(1min);
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  Gateway& dies = world.NewGateway();
  const FaultRule hang{.kind = FaultKind::kHang, .operation = Operation::kRename};
  for (size_t i = 1; i < homes.size(); ++i) dies.faults[homes[i]]->plan().Add(hang);
  std::optional<Status> set;
  dies.scope.Spawn(Keep(SetAttribute(*dies.engine, world.Path("/a"), "U.new", "v"), &set));
  world.Pass(1s);
  dies.Kill();
  ASSERT_FALSE(set);
  MemoryServer& bad = *world.memory[homes[0]];
  std::string last;
  for (const auto& [file, size] : bad.Files()) {
    if (file.starts_with("/a.~xo/a.")) last = file;
  }
  ASSERT_TRUE(bad.Content(last)->find("U.new") != std::string::npos);
  ASSERT_TRUE(bad.Tamper(last, [](std::string& bytes) { bytes = "damaged"; }));
  const auto read = Read(world, gateway, "/a");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (UserAttributes{{"U.old", "v"}}));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.more", "v")));
  const auto again = Read(world, world.NewGateway(), "/a");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, (UserAttributes{{"U.old", "v"}, {"U.more", "v"}}));
  // It was never read, so nothing has it in it.
  EXPECT_TRUE(bad.Content(last));
}

// Each home was listed when another revision was the latest: without any one of them there is a look, but not
// without all.
TEST_P(ManyAttributesTest, ThoseThatHomesShowInTurnAreNotAllPassedOver) {
  TestWorld world(OptionsOf(5));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "v")));
  auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
  ASSERT_TRUE(info);
  const Look look = world.Run(LookAt(*gateway.engine, world.Path("/a"), LookWidth::kAll));
  info->listings = look.listings();
  ASSERT_EQ(info->listings.size(), look.homes().size());
  for (auto& [home, states] : info->listings) {
    for (State& state : states) {
      if (state.kind == StateKind::kAttributes) state.target->writer = home + 1;
    }
  }
  const auto read = world.Run(ReadAttributes(*NewBehind(world, "a").engine, *info));
  EXPECT_EQ(read.code(), Code::kConflict);
}

// The bug: one revision names 256 others as those that it has in it. With more than that each reader read
// some again, wrote them all anew, and the cleaner did the same and removed nothing.
TEST_P(ManyAttributesTest, AreMergedOnceAndCleanedAway) {
  constexpr size_t kCount = 300;
  constexpr size_t kNames = 50;
  TestWorld world(OptionsOf(6));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  SetAtOnce(world, gateway, kCount, kNames, [](size_t i) { return fmt::format("{}", i); });
  ASSERT_EQ(Revisions(world, gateway, "/a"), kCount);
  UserAttributes expected;
  for (size_t i = kCount - kNames; i < kCount; ++i)
    expected[fmt::format("U.{}", i % kNames)] = fmt::format("{}", i);
  for (int i = 0; i < 3; ++i) {
    const auto read = Read(world, world.NewGateway(), "/a");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, expected);
    EXPECT_EQ(Revisions(world, gateway, "/a"), kCount + 1) << i;
  }
  size_t left = kCount + 1;
  for (int pass = 0; pass < 3; ++pass) {
    world.Pass(2h);
    ASSERT_TRUE(world.Run(CleanName(*gateway.engine, world.Path("/a"))));
    const size_t now = Revisions(world, gateway, "/a");
    EXPECT_TRUE(now < left || now == 1) << pass << ": " << now;
    left = now;
  }
  EXPECT_EQ(left, 1U);
  const auto read = Read(world, gateway, "/a");
  EXPECT_TRUE(read && *read == expected);
}

// The bug: all together were written into a file that was larger than what anybody reads.
TEST_P(ManyAttributesTest, ThatAreLargeTogetherAreReadAgain) {
  constexpr size_t kCount = 12;
  TestWorld world(OptionsOf(7));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const std::string large(15 * kKiB, 'v');
  SetAtOnce(world, gateway, kCount, kCount, [&](size_t) { return large; });
  for (int i = 0; i < 2; ++i) {
    const auto read = Read(world, world.NewGateway(), "/a");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->size(), kCount);
  }
  const Status more = world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.more", "v"));
  EXPECT_EQ(more.code(), Code::kInvalidArgument);
  world.Clean(gateway);
  EXPECT_EQ(Revisions(world, gateway, "/a"), 1U);
  const auto read = Read(world, gateway, "/a");
  EXPECT_TRUE(read && read->size() == kCount);
}

TEST_P(ManyAttributesTest, ThatAreTooLargeForAFileAreNotWritten) {
  constexpr size_t kCount = 80;
  TestWorld world(OptionsOf(8));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const std::string large(15 * kKiB, 'v');
  SetAtOnce(world, gateway, kCount, kCount, [&](size_t) { return large; });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Read(world, gateway, "/a").code(), Code::kUnsupported);
    EXPECT_EQ(Revisions(world, gateway, "/a"), kCount);
  }
  ASSERT_TRUE(world.Put(gateway, "/a"));
  EXPECT_TRUE(Read(world, gateway, "/a"));
}

// Somebody makes a directory, and somebody else the same as a later version, that comes late.
class MadeTwice {
 public:
  explicit MadeTwice(size_t slow_after, Duration late = 500ms) : world({.seed = slow_after % 5 + 1}) {
    Gateway& slow = world.NewGateway();
    slow.process.SetWallSkew(1min);
    const FaultRule rule{
        .kind = FaultKind::kDelay, .operation = Operation::kRename, .path_contains = "/f.", .delay = late};
    for (const auto& server : slow.faults) server->plan().Add(rule);
    std::optional<Status> made;
    first.scope.Spawn(Keep(MakeDirectoryName(*first.engine, world.Path("/d"), false), &made));
    for (size_t i = 0; i < slow_after && !made; ++i) EXPECT_TRUE(world.executor.RunOne());
    over = made.has_value();
    slow.scope.Spawn(Keep(MakeDirectoryName(*slow.engine, world.Path("/d"), false), &slow_made));
    EXPECT_TRUE(world.executor.RunUntil([&] { return made.has_value(); }, 100'000) && *made);
  }
  Result<UserAttributes> Read() {
    const auto found = world.Run(LookUpAttributes(*reader.engine, world.Path("/d")));
    if (!found) return found.error();
    return found->set ? found->set->set.Values() : UserAttributes{};
  }

  TestWorld world;
  Gateway& first = world.NewGateway();
  Gateway& reader = world.NewGateway();
  bool over = false;  // before the other one began
  std::optional<Status> slow_made;
};

const UserAttributes kOneAttribute = {{"U.a", "b"}};

TEST(DirectoryAttributesTest, WhatIsSetWhileOthersStillMakeItStays) {
  size_t beside = 0;
  bool over = false;
  for (size_t steps = 1; !over && !testing::Test::HasFailure(); ++steps) {
    SCOPED_TRACE(fmt::format("the other one begins after {} steps", steps));
    MadeTwice twice(steps);
    over = twice.over;
    EXPECT_TRUE(twice.world.Run(SetAttribute(*twice.first.engine, twice.world.Path("/d"), "U.a", "b")));
    beside += twice.slow_made ? 0 : 1;
    twice.world.Pass(1min);
    const Result<UserAttributes> read = twice.Read();
    EXPECT_TRUE(read && *read == kOneAttribute);
  }
  EXPECT_GT(beside, 5u);
}

Task<void> MakeAbove(Engine& engine, ObjectPath path) {
  Result<NameInfo> info = co_await LookUp(engine, path);
  if (!info) co_return;
  const Status made = co_await MakeDirectoryAbove(engine, std::move(*info), true);
  (void)made;
}

// The late one comes, and a third one makes the directory above it, while somebody sets the attribute; slowly
// for the late one, after all was well with the first.
TEST(DirectoryAttributesTest, WhatIsSetStaysWhoeverComesInBetween) {
  size_t well = 0;
  for (Duration late = 4ms; late < 60ms; late += 2ms) {
    std::optional<Status> set;
    for (size_t steps = 1; !set && !testing::Test::HasFailure(); ++steps) {
      SCOPED_TRACE(fmt::format("late by {} us, the third begins after {} steps",
                               std::chrono::duration_cast<std::chrono::microseconds>(late).count(), steps));
      MadeTwice twice(1, late);
      Gateway& third = twice.world.NewGateway();
      third.process.SetWallSkew(2min);
      const FaultRule slowly{.kind = FaultKind::kDelay,
                             .operation = Operation::kCreate,
                             .path_contains = "/b.",
                             .first = 2,
                             .delay = 60ms};
      for (const auto& server : twice.first.faults) server->plan().Add(slowly);
      Task<Status> setting = SetAttribute(*twice.first.engine, twice.world.Path("/d"), "U.a", "b");
      twice.first.scope.Spawn(Keep(std::move(setting), &set));
      for (size_t i = 0; i < steps && !set; ++i) ASSERT_TRUE(twice.world.executor.RunOne());
      const bool over = set.has_value();
      third.scope.Spawn(MakeAbove(*third.engine, twice.world.Path("/d")));
      twice.world.Pass(1min);
      ASSERT_TRUE(set);
      const auto answered_well = static_cast<bool>(*set);
      if (!over) set.reset();
      if (!answered_well) continue;
      ++well;
      const Result<UserAttributes> read = twice.Read();
      EXPECT_TRUE(read && *read == kOneAttribute);
    }
  }
  EXPECT_GT(well, 100u);
}

TEST(DirectoryAttributesTest, WhatWasToldOfOneWhoDiedSettingItStays) {
  size_t told = 0;
  std::optional<Status> set;
  for (size_t steps = 1; !set && !testing::Test::HasFailure(); ++steps) {
    SCOPED_TRACE(fmt::format("who sets it dies after {} steps", steps));
    MadeTwice twice(1);
    Task<Status> setting = SetAttribute(*twice.first.engine, twice.world.Path("/d"), "U.a", "b");
    twice.first.scope.Spawn(Keep(std::move(setting), &set));
    for (size_t i = 0; i < steps && !set; ++i) ASSERT_TRUE(twice.world.executor.RunOne());
    twice.first.Kill();
    const Result<UserAttributes> read = twice.Read();
    if (!read || *read != kOneAttribute) continue;
    told += twice.slow_made ? 0 : 1;
    twice.world.Pass(1min);
    const Result<UserAttributes> later = twice.Read();
    EXPECT_TRUE(later && *later == kOneAttribute);
  }
  EXPECT_GT(told, 5u);
}

Task<void> RemoveAndMake(Engine& engine, ObjectPath path, Status* removed, std::optional<Status>* made) {
  *removed = co_await RemoveDirectoryName(engine, path);
  *made = co_await MakeDirectoryName(engine, path, false);
}

// The setter hears of one home before the removal, and of another one, which has missed it, after a later
// directory was begun there.
TEST(DirectoryAttributesTest, WhatARemovedDirectoryHadIsNotWrittenForALaterOne) {
  size_t both = 0;
  for (Duration late = 4ms; late < 80ms; late += 4ms) {
    bool over = false;
    for (size_t steps = 1; !over && !testing::Test::HasFailure(); ++steps) {
      SCOPED_TRACE(fmt::format("late by {} us, removed after {} steps",
                               std::chrono::duration_cast<std::chrono::microseconds>(late).count(), steps));
      TestWorld world({.seed = steps % 5 + 1});
      Gateway& setter = world.NewGateway();
      Gateway& other = world.NewGateway();
      const ObjectPath path = world.Path("/d");
      ASSERT_TRUE(world.Run(MakeDirectoryName(*setter.engine, path, false)));
      ASSERT_TRUE(world.Run(SetAttribute(*setter.engine, path, "U.old", "x")));
      const Homes homes = HomeFinder(world.descriptor).Of("d");
      const FaultRule slowly{
          .kind = FaultKind::kDelay, .operation = Operation::kList, .path_contains = "/d.", .delay = late};
      const FaultRule silent{.operation = Operation::kList, .path_contains = "/d."};
      const FaultRule misses{.operation = Operation::kMakeDirectory, .path_contains = "/t."};
      const FaultRule begun_elsewhere{.operation = Operation::kMakeDirectory, .path_contains = "/f."};
      const FaultRule promotes_late{
          .kind = FaultKind::kDelay, .operation = Operation::kRename, .path_contains = "/f.", .delay = 500ms};
      setter.faults[homes[1]]->plan().Add(slowly);
      setter.faults[homes[2]]->plan().Add(silent);
      other.faults[homes[1]]->plan().Add(misses);
      other.faults[homes[2]]->plan().Add(begun_elsewhere);
      for (const auto& server : other.faults) server->plan().Add(promotes_late);
      std::optional<Status> set;
      setter.scope.Spawn(Keep(SetAttribute(*setter.engine, path, "U.a", "b"), &set));
      for (size_t i = 0; i < steps && !set; ++i) ASSERT_TRUE(world.executor.RunOne());
      over = set.has_value();
      Status removed;
      std::optional<Status> made;
      other.scope.Spawn(RemoveAndMake(*other.engine, path, &removed, &made));
      world.Pass(1min);
      ASSERT_TRUE(set && made);
      if (!removed || !*made) continue;
      ++both;
      const auto found = world.Run(LookUpAttributes(*world.NewGateway().engine, path));
      ASSERT_TRUE(found);
      const UserAttributes values = found->set ? found->set->set.Values() : UserAttributes{};
      EXPECT_TRUE(values.empty() || values == UserAttributes({{"U.a", "b"}}));
    }
  }
  EXPECT_GT(both, 100u);
}

}  // namespace
}  // namespace xec
