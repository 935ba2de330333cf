// SPDX-License-Identifier: LGPL-3.0-or-later
// Names too long for a file name: whoever makes one and a cleaner that takes it for debris, one of them
// stopped at each of its steps. What lives must be listed.
#include "commit/clean/nameless.hh"
#include "commit/engine/folder.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;
using Make = std::function<Task<Status>(TestWorld&, Gateway&, const std::string&)>;

Task<Status> MakeIt(TestWorld& world, Gateway& gateway, const std::string& name) {
  co_return co_await MakeDirectoryName(*gateway.engine, world.Path(name), false);
}

Task<Status> RenameToIt(TestWorld& world, Gateway& gateway, const std::string& name) {
  co_return co_await RenameObject(*gateway.engine, world.Path("/a"), world.Path(name));
}

Task<Status> CleanIt(Gateway& gateway) {
  const Result<CleanOutcome> cleaned = co_await CleanTree(*gateway.engine, TestWorld::Path("/"));
  co_return cleaned ? OkStatus() : Status(cleaned.error());
}

Task<void> Keep(Task<Status> task, std::optional<Status>& into) {
  Status status = co_await task;
  into = std::move(status);
}

class LongNameTest : public ::testing::TestWithParam<Make> {
 protected:
  const std::string name_ = "/" + std::string(kComponentBytesMax, 'l');

  // A world in which the name was there once and is forgotten by the next cleaner.
  void Prepare(TestWorld& world, Gateway& gateway) {
    ASSERT_TRUE(world.Put(gateway, "/a"));
    ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path(name_), false)));
    ASSERT_TRUE(world.Run(RemoveDirectoryName(*gateway.engine, world.Path(name_))));
    ASSERT_TRUE(world.Run(CleanTree(*gateway.engine, world.Path("/"))));
    world.Pass(2h);
  }

  // Every server that has something of the name tells it.
  void ExpectTold(TestWorld& world, const std::string& when) {
    Gateway& fresh = world.NewGateway();
    const bool lives = world.Lives(fresh, name_);
    for (size_t i = 0; i < world.memory.size(); ++i) {
      const auto member = static_cast<MemberIndex>(i);
      const auto states = world.Run(ListStates(*fresh.engine, member, world.Path(name_)));
      const auto listed = world.Run(List(fresh.engine->MetadataCall(), fresh.engine->server(member),
                                         world.Path(name_).ObjectDirectory()));
      ASSERT_TRUE(states);
      if (states->empty()) continue;
      std::vector<std::string> entries;
      for (const Entry& entry : *listed) entries.push_back(entry.name);
      const Result<std::string> told = ReadLongName(entries);
      EXPECT_TRUE(told || !lives) << when << ": s" << i << " does not tell the name of "
                                  << FormatState(states->front());
    }
  }
};

// `stopped` is stopped after each number of steps, until `other` has ended.
TEST_P(LongNameTest, IsToldByAllWhoeverSleeps) {
  for (const bool maker_sleeps : {true, false}) {
    for (size_t steps = 1;; ++steps) {
      TestWorld world({.seed = steps % 5 + 1});
      Gateway& maker = world.NewGateway();
      Gateway& cleaner = world.NewGateway();
      Prepare(world, maker);
      std::optional<Status> made, cleaned;
      Gateway& stopped = maker_sleeps ? maker : cleaner;
      const auto start = [&](bool make) {
        if (make) maker.scope.Spawn(Keep(GetParam()(world, maker, name_), made));
        if (!make) cleaner.scope.Spawn(Keep(CleanIt(cleaner), cleaned));
      };
      start(maker_sleeps);
      size_t ran = 0;
      while (ran < steps && !made && !cleaned && world.executor.RunOne()) ++ran;
      const bool ended = made || cleaned;
      stopped.process.SleepUntil(world.executor.Now() + 8s);
      start(!maker_sleeps);
      ASSERT_TRUE(world.executor.RunUntil([&] { return made && cleaned; }, 1'000'000));
      world.Pass(1min);
      ExpectTold(world, fmt::format("{} sleeps after {} steps", maker_sleeps ? "maker" : "cleaner", steps));
      if (ended || HasFailure()) break;
    }
  }
}

// What only a server shows that cannot be asked for the name might live: it is not left out in silence.
TEST(LongName, ThatCannotBeReadIsNotLeftOut) {
  const std::string component(kComponentBytesMax, 'l');
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  const Homes homes = HomeFinder(world.descriptor).Of(component);
  ASSERT_EQ(homes.size(), 3u);
  world.memory[homes[2]]->SetDown(true);
  ASSERT_TRUE(world.Run(MakeDirectoryName(*gateway.engine, world.Path("/d/" + component), true)));
  world.memory[homes[2]]->SetDown(false);
  const auto list = [&](Gateway& reader) {
    reader.faults[homes[1]]->plan().Add({.operation = Operation::kList, .path_contains = ".~xl"});
    return world.Run(ListDirectory(*reader.engine, world.Path("/d")));
  };
  world.memory[homes[0]]->SetDown(true);
  Gateway& reader = world.NewGateway();
  const Result<std::vector<ListedName>> alone = list(reader);
  EXPECT_TRUE(!alone && alone.code() == Code::kNoQuorum) << "it seems to be empty";
  EXPECT_EQ(world.Run(RemoveDirectoryName(*reader.engine, world.Path("/d"))).code(), Code::kNoQuorum);
  world.memory[homes[0]]->SetDown(false);
  const Result<std::vector<ListedName>> told = list(world.NewGateway());
  EXPECT_TRUE(told && told->size() == 1) << "another server tells it";
}

// A creation that was late, after the parts of the name were swept: no pass came to an end with it
// (simulator).
TEST(LongName, ASealThatCameLateGoesAfterTheUploadGrace) {
  const std::string oid(24, 'a');
  const State plain = SealedState(oid);
  const State exclusive = ExclusiveSealedState(Version{uint64_t{1} << 40, 1, 0}, oid);
  for (const State& seal : {plain, exclusive}) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    Engine& engine = *gateway.engine;
    const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
    ASSERT_TRUE(world.Run(CreateFile(engine.MetadataCall(), engine.server(0),
                                     folder + "/" + FormatState(seal), "archive", true)));
    const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
    world.Pass(30min);
    EXPECT_GT(clean()->left, 0u);
    EXPECT_EQ(world.memory[0]->Files().size(), 1u) << "its writer may only be slow";
    world.Pass(1h);
    EXPECT_GT(clean()->left, 0u);
    EXPECT_TRUE(world.memory[0]->Content(folder + "/" + FormatState(AbortedState(seal)))) << "first aborted";
    EXPECT_EQ(clean()->left, 0u);
    EXPECT_TRUE(world.memory[0]->Files().empty());
    const auto listed = world.Run(List(engine.MetadataCall(), engine.server(0), folder));
    EXPECT_TRUE(!listed && listed.code() == Code::kNotFound);
  }
}

// A process that fences below a directory that is forgotten makes its folders anew, for the marks. Nobody
// looked for marks in shortened folders (simulator).
TEST(LongName, MarksBelowAForgottenDirectoryGo) {
  const State mark = AbortMarkState(SealedState(std::string(24, 'a')));
  for (const std::string inner : {"/x", "/y/x"}) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    Engine& engine = *gateway.engine;
    const std::string directory = "/d" + std::string(200, ' ');  // each blank takes three bytes
    const std::string path = StatePath(world.Path(directory + inner), FormatState(mark));
    ASSERT_TRUE(world.Run(MakeDirectory(engine.MetadataCall(), engine.server(0), path)));
    const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
    EXPECT_GT(clean()->left, 0u) << "the mark is young";
    world.Pass(2h);
    for (int pass = 0; pass < 3; ++pass) ASSERT_TRUE(clean());
    EXPECT_EQ(clean()->left, 0u);
    const auto listed = world.Run(List(engine.MetadataCall(), engine.server(0), "/"));
    EXPECT_TRUE(listed && listed->empty()) << inner;
  }
}

// The process that set them slept until the object, its tombstone and its name were gone. Seed 82332 of the
// simulator.
TEST(LongName, AttributesThatCameLateGoAfterTheHorizon) {
  const std::string version = Version{uint64_t{1} << 40, 1, 0}.ToString();
  const std::string revision = version + "." + version;
  for (const std::string& entry : {"a." + revision, "b." + revision + ".01234567"}) {
    ASSERT_TRUE(ParseState(entry));
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    Engine& engine = *gateway.engine;
    const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
    ASSERT_TRUE(
        world.Run(CreateFile(engine.MetadataCall(), engine.server(0), folder + "/" + entry, "late", true)));
    const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
    EXPECT_GT(clean()->left, 0u) << "the name may come yet";
    world.Pass(30min);
    EXPECT_EQ(clean()->left, 0u);
    EXPECT_TRUE(world.memory[0]->Files().empty()) << entry;
  }
}

// Its renamer had found a directory in the way, and the object was renamed and forgotten by others. Seed 5858
// of the simulator.
TEST(LongName, ASealOfARenameThatCameLateGoesAfterTheHorizon) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
  const std::string seal = folder + "/" + FormatState(MoveOutState(engine.NewObjectId()));
  ASSERT_TRUE(world.Run(CreateFile(engine.MetadataCall(), engine.server(0), seal, "late", true)));
  const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
  EXPECT_GT(clean()->left, 0u) << "the name may come yet";
  world.Pass(30min);
  EXPECT_GT(clean()->left, 0u) << "its renamer may only have slept";
  EXPECT_EQ(clean()->left, 0u);
  EXPECT_TRUE(world.memory[0]->Files().empty());
}

// The process that rolled a removal forward slept until the object, its tombstone and its name were gone, and
// died. Seed 213090 of the simulator.
TEST(LongName, ATombstoneThatCameLateGoesAfterTheHorizon) {
  const Version version{uint64_t{1} << 40, 1, 0};
  const std::string archive = FormatState(PromotedState(version, std::string(24, 'a'), 7));
  for (const bool removed_there : {true, false}) {
    TestWorld world({});
    Gateway& gateway = world.NewGateway();
    Engine& engine = *gateway.engine;
    const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
    const std::string tombstone = folder + "/" + FormatState(TombstoneState(version));
    ASSERT_TRUE(world.Run(MakeDirectory(engine.MetadataCall(), engine.server(0), tombstone)));
    if (!removed_there) {
      ASSERT_TRUE(world.Run(
          CreateFile(engine.MetadataCall(), engine.server(1), folder + "/" + archive, "archive", true)));
    }
    const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
    EXPECT_GT(clean()->left, 0u) << "the name may come yet";
    world.Pass(30min);
    EXPECT_EQ(clean()->left, removed_there ? 0u : 1u);
    const auto listed = world.Run(List(engine.MetadataCall(), engine.server(0), folder));
    EXPECT_EQ(!listed && listed.code() == Code::kNotFound, removed_there) << "it hides what is elsewhere";
  }
}

// A process that has seen an aborted seal accepted elsewhere may promote it.
TEST(LongName, ATombstoneThatCameLateGoesLast) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
  const std::string tombstone = folder + "/" + FormatState(TombstoneState({uint64_t{1} << 40, 1, 0}));
  const std::string seal = folder + "/" + FormatState(AbortedState(SealedState(std::string(24, 'a'))));
  ASSERT_TRUE(world.Run(MakeDirectory(engine.MetadataCall(), engine.server(0), tombstone)));
  ASSERT_TRUE(world.Run(CreateFile(engine.MetadataCall(), engine.server(1), seal, "archive", true)));
  const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
  world.Pass(2h);
  EXPECT_GT(clean()->left, 0u);
  EXPECT_TRUE(world.memory[1]->Files().empty());
  EXPECT_TRUE(world.Run(List(engine.MetadataCall(), engine.server(0), tombstone)));
  EXPECT_EQ(clean()->left, 0u);
  EXPECT_FALSE(world.Run(List(engine.MetadataCall(), engine.server(0), folder)));
}

// Its maker never wrote it, so nobody counted it, and it tells nothing to a process that finishes the rename.
TEST(LongName, AnEmptySealOfARenameThatCameLateGoesAndAWrittenOneStays) {
  for (const std::string content : {"", "witness"}) {
    TestWorld world({});
    Engine& engine = *world.NewGateway().engine;
    const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
    const std::string seal = folder + "/" + FormatState(MoveInState(std::string(24, 'a')));
    ASSERT_TRUE(world.Run(CreateFile(engine.MetadataCall(), engine.server(1), seal, content, true)));
    const auto clean = [&] { return world.Run(CleanTree(engine, world.Path("/"))); };
    EXPECT_GT(clean()->left, 0u) << "not before the horizon";
    world.Pass(2h);
    EXPECT_EQ(clean()->left, content.empty() ? 0u : 1u);
    EXPECT_EQ(world.memory[1]->Files().empty(), content.empty());
  }
}

// A server is listed before the archive that the tombstone hides comes to it (it was away), another one
// later.
TEST(LongName, ATombstoneStaysWhereAnArchiveComesMeanwhile) {
  const Version version{uint64_t{1} << 40, 1, 0};
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  Gateway& other = world.NewGateway();
  Engine& engine = *gateway.engine;
  const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
  const std::string archive = folder + "/" + FormatState(PromotedState(version, std::string(24, 'a'), 7));
  const std::string tombstone = folder + "/" + FormatState(TombstoneState(version));
  ASSERT_TRUE(world.Run(MakeDirectory(engine.MetadataCall(), engine.server(1), tombstone)));
  world.Pass(30min);
  const FaultRule slowly{
      .kind = FaultKind::kDelay, .operation = Operation::kList, .path_contains = ".~xl", .delay = 500ms};
  gateway.faults[1]->plan().Add(slowly);
  std::optional<CleanOutcome> outcome;
  const auto clean = [&]() -> Task<void> { outcome = co_await CleanNameless(engine, folder); };
  gateway.scope.Spawn(clean());
  world.Pass(100ms);
  ASSERT_TRUE(
      world.Run(CreateFile(other.engine->MetadataCall(), other.engine->server(0), archive, "archive", true)));
  world.Pass(1min);
  ASSERT_TRUE(outcome);
  EXPECT_GT(outcome->left, 0u);
  EXPECT_TRUE(world.Run(List(other.engine->MetadataCall(), other.engine->server(1), tombstone)));
}

TEST(LongName, AnObjectDirectoryWhoseNameIsToldByNowIsLeftAlone) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const ObjectPath path = world.Path("/" + std::string(kComponentBytesMax, 'l'));
  ASSERT_TRUE(world.Run(MakeDirectoryName(engine, path, false)));
  ASSERT_TRUE(world.Run(RemoveDirectoryName(engine, path)));
  (void)world.Run(CleanName(engine, path));
  world.Pass(2h);
  EXPECT_GT(world.Run(CleanNameless(engine, path.ObjectDirectory())).left, 0u);
  EXPECT_FALSE(world.EntriesOf(gateway, path.text()).empty()) << "its tombstone";
}

// While a cleaner forgets the removal of an object, slowly, a directory is made there (on its homes only).
TEST(LongName, IsToldWhileItsTombstoneIsForgotten) {
  TestWorld world({});
  Gateway& cleaner = world.NewGateway();
  Gateway& other = world.NewGateway();
  const std::string name = "/" + std::string(kComponentBytesMax, 'l');
  ASSERT_TRUE(world.Put(other, name));
  ASSERT_TRUE(world.Run(RemoveObject(*other.engine, world.Path(name))));
  (void)world.Run(CleanName(*cleaner.engine, world.Path(name)));
  world.Pass(world.options.engine.superseded_grace + 5s);
  (void)world.Run(CleanName(*cleaner.engine, world.Path(name)));
  world.Pass(world.options.engine.tombstone_horizon + 5s);
  const FaultRule slowly{.kind = FaultKind::kDelay,
                         .operation = Operation::kRemoveDirectory,
                         .path_contains = ".~xl",
                         .delay = 500ms};
  for (const auto& server : cleaner.faults) server->plan().Add(slowly);
  bool ended = false;
  const auto clean = [&]() -> Task<void> {
    (void)co_await CleanName(*cleaner.engine, world.Path(name));
    ended = true;
  };
  cleaner.scope.Spawn(clean());
  world.Pass(100ms);
  ASSERT_FALSE(ended);
  ASSERT_TRUE(world.Run(MakeDirectoryName(*other.engine, world.Path(name), false)));
  for (int i = 0; i < 600; ++i) {
    const auto listed = world.Run(ListDirectory(*other.engine, world.Path("/")));
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 1u) << "after " << i * 50 << " ms";
    world.Pass(50ms);
  }
  EXPECT_TRUE(ended);
}

// Its version's clock was ahead: a process that chooses a version without having seen it may come below it
// until then.
TEST(LongName, ATombstoneIsAsYoungAsItsVersion) {
  TestWorld world({});
  Gateway& gateway = world.NewGateway();
  Gateway& ahead = world.NewGateway();
  ahead.process.SetWallSkew(50min);
  Engine& engine = *gateway.engine;
  const Result<Version> version = ahead.engine->NextVersion(std::nullopt);
  ASSERT_TRUE(version);
  const std::string folder = world.Path("/" + std::string(kComponentBytesMax, 'l')).ObjectDirectory();
  const std::string tombstone = folder + "/" + FormatState(TombstoneState(*version));
  ASSERT_TRUE(world.Run(MakeDirectory(engine.MetadataCall(), engine.server(0), tombstone)));
  world.Pass(30min);
  EXPECT_GT(world.Run(CleanTree(engine, world.Path("/")))->left, 0u);
  world.Pass(1h);
  EXPECT_EQ(world.Run(CleanTree(engine, world.Path("/")))->left, 0u);
}

INSTANTIATE_TEST_SUITE_P(Makers, LongNameTest, ::testing::Values(MakeIt, RenameToIt));

}  // namespace
}  // namespace xec
