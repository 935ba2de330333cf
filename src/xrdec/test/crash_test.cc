// SPDX-License-Identifier: LGPL-3.0-or-later
// A writer of layout xrdec that dies at any step: after cleaning there is a whole object, or nothing. And a
// remover that is held up.
#include "commit/test/test_world.hh"
#include "xrdec/clean.hh"
#include "xrdec/look.hh"
#include "xrdec/publish.hh"
#include "xrdec/writer.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

Task<void> WriteObject(Engine& engine, ObjectPath path, std::string bytes, bool& written) {
  WriteOptions options;
  Result<std::unique_ptr<ObjectWriter>> writer = co_await StartXrdecWriter(engine, path, std::move(options));
  if (!writer) co_return;
  const Status appended = co_await (*writer)->Append(AsBytes(bytes));
  if (!appended) co_return;
  const Result<Committed> committed = co_await (*writer)->Commit();
  written = committed.has_value();
}

// How many servers have an archive of the object at its name; 0: there is no object.
size_t ArchivesOf(TestWorld& world, Gateway& gateway, const ObjectPath& path) {
  const Result<XrdecName> name = world.Run(LookUpXrdec(*gateway.engine, path, XrdecWidth::kArchives));
  EXPECT_TRUE(name);
  if (!name) return 0;
  const auto archives =
      static_cast<size_t>(std::count_if(name->found.begin(), name->found.end(),
                                        [](const Found& found) { return found.kind == Found::kArchive; }));
  EXPECT_EQ(name->kind == XrdecName::kObject, archives > 0);
  return archives;
}

// Which homes are first differs with the seed.
constexpr uint64_t kSeeds = 5;

class XrdecCrash : public ::testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, XrdecCrash, ::testing::Values(0, 100));

TEST_P(XrdecCrash, OfAWriterLeavesAWholeObjectOrNothing) {
  bool without = false;
  bool with = false;
  bool written = false;
  TestWorldOptions options;
  options.tolerance = 2;
  options.servers = 7;
  for (size_t steps = 1; options.seed <= kSeeds; ++steps) {
    if (written) {
      ++options.seed;
      steps = 1;
      written = false;
    }
    SCOPED_TRACE(fmt::format("seed {}, {} steps", options.seed, steps));
    TestWorld world(options);
    const ObjectPath path = world.Path("/a");
    Gateway& gateway = world.NewGateway();
    std::string bytes(GetParam(), 'x');
    gateway.scope.Spawn(WriteObject(*gateway.engine, path, std::move(bytes), written));
    world.executor.RunUntilIdle(steps);
    gateway.Kill();
    // Of the requests on their way, only those to one home arrive.
    const Homes homes = HomeFinder(world.descriptor).Of("a");
    for (size_t i = 0; i < world.memory.size(); ++i)
      world.memory[i]->SetDown(i != homes[options.seed % homes.size()]);
    world.Pass(1s);
    for (const auto& server : world.memory) server->SetDown(false);
    world.Pass(3h);
    Gateway& fresh = world.NewGateway();
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(world.Run(CleanXrdec(*fresh.engine)));
      world.Pass(1h);
    }
    const size_t archives = ArchivesOf(world, fresh, path);
    EXPECT_TRUE(archives == 0 || archives == world.descriptor.geometry.Total()) << archives;
    EXPECT_TRUE(world.Run(ListStaged(*fresh.engine)).archives.empty());
    (archives == 0 ? without : with) = true;
  }
  EXPECT_TRUE(with && without);
}

// The archives may be of an older object that was renamed to the name meanwhile.
TEST(XrdecRemover, ThatIsTooSlowLeavesWhatItTookToTheCleaner) {
  TestWorldOptions options;
  options.engine.operation_limit = 5s;
  TestWorld world(options);
  const ObjectPath path = world.Path("/a");
  Gateway& gateway = world.NewGateway();
  bool written = false;
  gateway.scope.Spawn(WriteObject(*gateway.engine, path, std::string(100, 'x'), written));
  world.Pass(1min);
  ASSERT_TRUE(written);
  const Result<XrdecName> name = world.Run(LookUpXrdec(*gateway.engine, path, XrdecWidth::kArchives));
  ASSERT_TRUE(name);
  for (const auto& server : gateway.faults) {
    FaultRule slow;
    slow.kind = FaultKind::kDelay;
    slow.operation = Operation::kGetAttributes;
    slow.path_contains = "/.xec/staged/";
    slow.delay = 6s;
    server->plan().Add(slow);
  }
  EXPECT_EQ(world.Run(RemoveArchives(*gateway.engine, name->at_name, path, INT64_MAX)), 0u);
  world.Pass(1min);
  gateway.Kill();
  Gateway& fresh = world.NewGateway();
  EXPECT_EQ(world.Run(ListStaged(*fresh.engine)).archives.size(), world.descriptor.geometry.Total());
  ASSERT_TRUE(world.Run(CleanXrdec(*fresh.engine)));
  EXPECT_EQ(ArchivesOf(world, fresh, path), world.descriptor.geometry.Total());
  EXPECT_TRUE(world.Run(ListStaged(*fresh.engine)).archives.empty());
}

}  // namespace
}  // namespace xec
