// SPDX-License-Identifier: LGPL-3.0-or-later
// User attributes: several clients set some at once, with renames meanwhile, homes that are down or stale,
// crashes.
#include "commit/programs/attributes.hh"

#include "commit/test/test_attributes.hh"
#include "runtime/status_of.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr size_t kStepsMax = 100'000;

INSTANTIATE_TEST_SUITE_P(Tolerance, AttributesTest, ::testing::Values(1, 2));

TEST_P(AttributesTest, OfSeveralSetAtOnceNoneIsLost) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestWorld world(OptionsOf(seed));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    ASSERT_TRUE(world.Run(SetAttribute(*world.NewGateway().engine, world.Path("/a"), "gone", "x")));
    std::vector<std::optional<Status>> answers(4);
    for (size_t i = 0; i < answers.size(); ++i) {
      Gateway& gateway = world.NewGateway();
      Task<Status> task = i == 0 ? SetAttribute(*gateway.engine, world.Path("/a"), "gone", std::nullopt)
                                 : SetAttribute(*gateway.engine, world.Path("/a"), fmt::format("U.{}", i),
                                                fmt::format("{}", seed));
      gateway.scope.Spawn(Keep(std::move(task), &answers[i]));
      if (seed % 2 == 0) world.executor.RunUntilIdle(seed);
    }
    const auto all = [&] {
      return std::all_of(answers.begin(), answers.end(),
                         [](const auto& answer) { return answer.has_value(); });
    };
    ASSERT_TRUE(world.executor.RunUntil(all, kStepsMax));
    const auto read = Read(world, world.NewGateway(), "/a");
    ASSERT_TRUE(read) << read.error().message;
    for (size_t i = 0; i < answers.size(); ++i) {
      ASSERT_TRUE(*answers[i]) << "seed " << seed << ": " << answers[i]->error().message;
      const bool set = read->contains(fmt::format("U.{}", i));
      EXPECT_EQ(set, i > 0) << "seed " << seed;
    }
    EXPECT_FALSE(read->contains("gone")) << "seed " << seed;
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    world.Clean(fresh);
    EXPECT_EQ(Revisions(world, fresh, "/a"), 1U) << "seed " << seed;
    const auto again = Read(world, fresh, "/a");
    EXPECT_TRUE(again && *again == *read) << "seed " << seed;
  }
}

// The clock of the process that wrote the object may be ahead of that of the process that sets an attribute.
TEST_P(AttributesTest, ASetIsLaterThanWhatTheObjectWasWrittenWith) {
  TestWorld world(OptionsOf(7));
  Gateway& ahead = world.NewGateway();
  ahead.process.SetWallSkew(10min);
  ASSERT_TRUE(world.Put(ahead, "/a"));
  Gateway& gateway = world.NewGateway();
  const auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
  ASSERT_TRUE(info);
  AttributeChange change{{{"U.k", "set"}}, {}, {{"U.k", "written"}}};
  ASSERT_TRUE(world.Run(ChangeAttribute(*gateway.engine, *info, std::move(change))));
  const auto found = world.Run(LookUpAttributes(*gateway.engine, world.Path("/a")));
  ASSERT_TRUE(found && found->set);
  EXPECT_GT(found->set->revision, info->accepted.version);
}

TEST_P(AttributesTest, ASetAfterAMergeHasTheMergedRevisionInIt) {
  TestWorld world(OptionsOf(6));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
  ASSERT_TRUE(info);
  // Neither has seen the other.
  for (const char* name : {"U.one", "U.two"})
    ASSERT_TRUE(world.Run(ChangeAttribute(*gateway.engine, *info, AttributeChange{{{name, "v"}}, {}, {}})));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.three", "v")));
  world.Pass(1min);
  EXPECT_EQ(Revisions(world, gateway, "/a"), 1U);
  const auto read = Read(world, gateway, "/a");
  EXPECT_TRUE(read && read->size() == 3);
}

TEST_P(AttributesTest, ARenameMeanwhileTakesThemAlongOrTheSetIsNotSaidToBeDone) {
  size_t done = 0;
  size_t unknown = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    TestWorld world(OptionsOf(seed));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    std::optional<Status> renamed;
    std::optional<Status> set;
    Gateway& renamer = world.NewGateway();
    Gateway& setter = world.NewGateway();
    const auto rename = [&] {
      renamer.scope.Spawn(
          Keep(StatusOf(RenameObject(*renamer.engine, world.Path("/a"), world.Path("/b"))), &renamed));
    };
    if (seed % 2 == 0) rename();
    if (seed % 2 == 0) world.executor.RunUntilIdle(seed);
    setter.scope.Spawn(Keep(SetAttribute(*setter.engine, world.Path("/a"), "U.k", "v"), &set));
    if (seed % 2 == 1) world.executor.RunUntilIdle(seed);
    if (seed % 2 == 1) rename();
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed && set; }, kStepsMax));
    ASSERT_TRUE(*renamed) << "seed " << seed << ": " << renamed->error().message;
    const auto read = Read(world, world.NewGateway(), "/b");
    ASSERT_TRUE(read) << read.error().message;
    if (*set) {
      EXPECT_TRUE(read->contains("U.k")) << "seed " << seed;
    } else {
      EXPECT_NE(set->code(), Code::kCorruption) << set->error().message;
    }
    done += *set ? 1 : 0;
    unknown += !*set && set->code() == Code::kUnknown ? 1 : 0;
  }
  EXPECT_GT(done, 10U);
  EXPECT_GT(unknown, 0U);
}

// A rename may miss what is set after it has read what it takes along. The client that sets it is told
// "unknown", and no reader may see it before it is sure to stay.
TEST_P(AttributesTest, OneThatWasReadWhileItsNameWasRenamedIsNotLost) {
  size_t told = 0;
  size_t not_told = 0;
  for (size_t steps = 0; steps < 360; steps += 3) {
    TestWorld world(OptionsOf(steps + 1));
    Gateway& setter = world.NewGateway();
    ASSERT_TRUE(world.Put(setter, "/a"));
    ASSERT_TRUE(world.Run(SetAttribute(*setter.engine, world.Path("/a"), "U.old", "v")));
    auto found = world.Run(LookUpAttributes(*setter.engine, world.Path("/a")));
    ASSERT_TRUE(found);
    Gateway& renamer = world.NewGateway();
    std::optional<Status> renamed;
    renamer.scope.Spawn(
        Keep(StatusOf(RenameObject(*renamer.engine, world.Path("/a"), world.Path("/b"))), &renamed));
    world.executor.RunUntilIdle(steps);
    renamer.process.SleepUntil(world.executor.Now() + 8s);
    AttributeChange change{{{"U.k", "v"}}, found->set, {}};
    const Status set = world.Run(ChangeAttribute(*setter.engine, found->info, std::move(change)));
    const auto read = Read(world, world.NewGateway(), "/a");
    ASSERT_TRUE(world.executor.RunUntil([&] { return renamed.has_value(); }, kStepsMax));
    not_told += !read && read.code() == Code::kNoQuorum ? 1 : 0;
    if (!*renamed || !read || !read->contains("U.k")) continue;
    ++told;
    const auto there = Read(world, world.NewGateway(), "/b");
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_TRUE(there->contains("U.k")) << steps << (set ? "" : ": " + set.error().message);
  }
  EXPECT_GT(told, 10U);
  EXPECT_GT(not_told, 10U);
}

TEST_P(AttributesTest, ThoseOfANameWhoseRenameDiedAreRead) {
  for (const bool home_away : {false, true}) {
    TestWorld world(OptionsOf(8));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "v")));
    Gateway& dies = world.NewGateway();
    std::optional<Status> renamed;
    dies.scope.Spawn(
        Keep(StatusOf(RenameObject(*dies.engine, world.Path("/a"), world.Path("/b"))), &renamed));
    const auto sealed = [&] {
      const auto entries = world.EntriesOf(gateway, "/a");
      const auto is_seal = [](const std::string& entry) { return entry.starts_with("r."); };
      return std::count_if(entries.begin(), entries.end(), is_seal) > GetParam();
    };
    while (!renamed && !sealed()) world.executor.RunUntilIdle(1);
    dies.Kill();
    ASSERT_FALSE(renamed);
    EXPECT_EQ(Read(world, gateway, "/a").code(), Code::kNoQuorum);
    world.Pass(2min);
    if (home_away) world.memory[HomeFinder(world.descriptor).Of("a").back()]->SetDown(true);
    const auto read = Read(world, gateway, "/a");
    // Without one of the homes nobody can be sure that the rename is over.
    if (home_away) {
      EXPECT_EQ(read.code(), Code::kNoQuorum);
    } else {
      EXPECT_TRUE(read && read->at("U.k") == "v");
    }
  }
}

// A home that failed at the commit of a rename keeps its seal until a cleaner comes.
TEST_P(AttributesTest, ASealLeftByARenameThatHasCommittedIsNoRival) {
  TestWorld world(OptionsOf(9));
  Gateway& gateway = world.NewGateway();
  const auto rename = [&](const char* from, const char* to) {
    return world.Run(RenameObject(*gateway.engine, world.Path(from), world.Path(to)));
  };
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(rename("/a", "/b"));
  const auto entries = world.EntriesOf(gateway, "/a");
  const auto moved = std::find_if(entries.begin(), entries.end(),
                                  [](const std::string& entry) { return ParseState(entry)->IsMoved(); });
  ASSERT_NE(moved, entries.end());
  const std::string seal = FormatState(MoveOutState(ParseState(*moved)->oid));
  const MemberIndex home = HomeFinder(world.descriptor).Of("a").front();
  const auto call = gateway.engine->MetadataCall();
  const std::string at = StatePath(world.Path("/a"), *moved);
  const std::string record = *world.memory[home]->Content(at);
  ASSERT_TRUE(world.Run(Remove(call, gateway.engine->server(home), at)));
  ASSERT_TRUE(world.Run(
      CreateFile(call, gateway.engine->server(home), StatePath(world.Path("/a"), seal), record, true)));
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const Status set = world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "v"));
  EXPECT_TRUE(set) << set.error().message;
  const auto read = Read(world, gateway, "/a");
  EXPECT_TRUE(read && read->at("U.k") == "v");
  const TimePoint begun = world.executor.Now();
  const Status renamed = rename("/a", "/c");
  EXPECT_TRUE(renamed) << renamed.error().message;
  EXPECT_LE(world.executor.Now() - begun, 1s);
  const auto kept = Read(world, gateway, "/c");
  EXPECT_TRUE(kept && kept->at("U.k") == "v");
}

// The homes of a look answer at different times: one before a revision was there, another one long after it
// was set and the cleaner has been.
TEST_P(AttributesTest, ALookThatTakesLongMeetsOneRevisionOrTheOther) {
  for (const bool cleaned : {false, true}) {
    TestWorld world(OptionsOf(9));
    ASSERT_TRUE(world.Put(world.NewGateway(), "/a"));
    const Homes homes = HomeFinder(world.descriptor).Of("a");
    const auto set_without = [&](size_t begin, size_t end, const char* value) {
      Gateway& gateway = world.NewGateway();
      FaultRule refuse{.operation = Operation::kCreate};
      for (size_t i = begin; i < end; ++i) gateway.faults[homes[i]]->plan().Add(refuse);
      return world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", value));
    };
    const uint32_t t = GetParam();
    ASSERT_TRUE(set_without(0, t, "old"));
    world.Pass(1min);
    // Hears the first t homes, without "old", at once, and of the others one, later.
    Gateway& reader = world.NewGateway();
    FaultRule late{.kind = FaultKind::kDelay, .operation = Operation::kList, .delay = 5s};
    FaultRule fail{.operation = Operation::kList};
    reader.faults[homes[t]]->plan().Add(late);
    for (size_t i = t + 1; i < homes.size(); ++i) reader.faults[homes[i]]->plan().Add(fail);
    std::optional<Result<NameAttributes>> read;
    const auto keep = [&](Task<Result<NameAttributes>> task) -> Task<void> { read = co_await task; };
    reader.scope.Spawn(keep(LookUpAttributes(*reader.engine, world.Path("/a"))));
    world.Pass(1s);
    ASSERT_FALSE(read);
    ASSERT_TRUE(set_without(t, t + 1, "new"));
    if (cleaned) {
      ASSERT_TRUE(world.Run(CleanTree(*world.NewGateway().engine, world.Path("/"))));
    }
    ASSERT_TRUE(world.executor.RunUntil([&] { return read.has_value(); }, kStepsMax));
    ASSERT_TRUE(*read) << read->error().message;
    EXPECT_TRUE((*read)->set) << "cleaned: " << cleaned;
    world.Clean(world.NewGateway());
    EXPECT_EQ(Revisions(world, world.NewGateway(), "/a"), 1U);
  }
}

TEST_P(AttributesTest, AHomeThatWasAwayDoesNotBringOldOnesBack) {
  TestWorld world(OptionsOf(3));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "old")));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.gone", "old")));
  world.Pass(1min);
  for (uint32_t i = 0; i < GetParam(); ++i)
    world.memory[HomeFinder(world.descriptor).Of("a")[i]]->SetDown(true);
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "new")));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.gone", std::nullopt)));
  world.Pass(1min);
  for (const auto& server : world.memory) server->SetDown(false);
  Gateway& fresh = world.NewGateway();
  const UserAttributes expected = {{"U.k", "new"}};
  for (int i = 0; i < 3; ++i) {
    const auto read = Read(world, fresh, "/a");
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, expected);
    world.Clean(fresh);
    world.Pass(2h);
  }
  EXPECT_EQ(Revisions(world, fresh, "/a"), 1U);
}

TEST_P(AttributesTest, ACrashAtAnyStepLeavesTheOldOrTheNew) {
  for (size_t steps = 0; steps < 400; steps += 3) {
    TestWorld world(OptionsOf(steps + 1));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(world.Put(gateway, "/a"));
    ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "old")));
    Gateway& dies = world.NewGateway();
    std::optional<Status> set;
    dies.scope.Spawn(Keep(SetAttribute(*dies.engine, world.Path("/a"), "U.k", "new"), &set));
    world.executor.RunUntilIdle(steps);
    const bool answered = set.has_value();
    dies.Kill();
    const auto read = Read(world, world.NewGateway(), "/a");
    ASSERT_TRUE(read);
    if (answered) {
      EXPECT_TRUE(*set && read->at("U.k") == "new") << steps;
    }
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    world.Clean(fresh);
    const auto again = Read(world, fresh, "/a");
    ASSERT_TRUE(again) << steps;
    // The first client that meets a revision on fewer homes than a quorum decides it, and it never goes back.
    if (read->at("U.k") == "new") {
      EXPECT_EQ(again->at("U.k"), "new") << steps;
    }
    EXPECT_EQ(Revisions(world, fresh, "/a"), 1U) << steps;
    const size_t homes = HomesHavingAttributes(world, "a");
    EXPECT_GE(homes, GetParam() + 1) << steps;
  }
}

TEST_P(AttributesTest, TheCleanerDecidesWhatADeadSetterLeftOnOneHome) {
  TestWorld world(OptionsOf(7));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const Homes homes = HomeFinder(world.descriptor).Of("a");
  FaultRule hang{.kind = FaultKind::kHang, .operation = Operation::kRename};
  for (size_t i = 1; i < homes.size(); ++i) gateway.faults[homes[i]]->plan().Add(hang);
  std::optional<Status> set;
  gateway.scope.Spawn(Keep(SetAttribute(*gateway.engine, world.Path("/a"), "U.k", "v"), &set));
  world.Pass(std::chrono::seconds(1));
  gateway.Kill();
  ASSERT_FALSE(set);
  ASSERT_EQ(HomesHavingAttributes(world, "a"), 1U);
  world.Clean(world.NewGateway());
  EXPECT_GE(HomesHavingAttributes(world, "a"), GetParam() + 1);
}

TEST_P(AttributesTest, RemovedOnesCountAgainstTheLimit) {
  TestWorld world(OptionsOf(4));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  Status set;
  size_t count = 0;
  for (; set && count < 1000; ++count) {
    set = world.Run(SetAttribute(*gateway.engine, world.Path("/a"), fmt::format("U.{}", count / 2),
                                 count % 2 == 0 ? std::optional<std::string>("v") : std::nullopt));
  }
  EXPECT_EQ(set.code(), Code::kInvalidArgument);
  EXPECT_EQ(count, 2 * 256 + 1U);
  const auto read = Read(world, gateway, "/a");
  EXPECT_TRUE(read && read->empty());
}

TEST_P(AttributesTest, ThoseOfADirectoryGoAlongWithIt) {
  TestWorld world(OptionsOf(5));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/e"), true)));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/d"), "U.outer", "1")));
  ASSERT_TRUE(world.Run(SetAttribute(*gateway.engine, world.Path("/d/e"), "U.inner", "2")));
  ASSERT_TRUE(world.Run(RenameDirectory(*gateway.engine, world.Path("/d"), world.Path("/f"))));
  const auto outer = Read(world, gateway, "/f");
  const auto inner = Read(world, gateway, "/f/e");
  EXPECT_TRUE(outer && outer->contains("U.outer"));
  EXPECT_TRUE(inner && inner->contains("U.inner"));
}

// Found by the simulator (seed 3469): a reader that slept between two listings took homes that it had listed
// before the rename for homes without attributes.
TEST_P(AttributesTest, ListingsFromBeforeSayNothingOfTheAttributesItBrought) {
  TestWorld world(OptionsOf(5));
  Gateway& gateway = world.NewGateway();
  ASSERT_TRUE(world.Put(gateway, "/a"));
  const auto info = world.Run(LookUpLive(*gateway.engine, world.Path("/a")));
  ASSERT_TRUE(world.Run(ChangeAttribute(*gateway.engine, *info, AttributeChange{{{"U.k", "v"}}, {}, {}})));
  ASSERT_TRUE(world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b"))));
  auto moved = world.Run(LookUpLive(*gateway.engine, world.Path("/b")));
  ASSERT_TRUE(moved);
  // The one home that was listed after it has no attributes.
  bool first = true;
  for (auto& [home, states] : moved->listings) {
    if (!std::exchange(first, false)) states.clear();
    std::erase_if(states, [](const State& state) { return state.kind == StateKind::kAttributes; });
  }
  const auto read = world.Run(ReadAttributes(*gateway.engine, *moved));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->set.Values(), (UserAttributes{{"U.k", "v"}}));
}

}  // namespace
}  // namespace xec
