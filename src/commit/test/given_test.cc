// SPDX-License-Identifier: LGPL-3.0-or-later
// What a version was given, an ETag and settings, lies in the names of its archives and witnesses, and stays
// with it whoever makes those. Nobody but this test gives an ETag yet.
#include "base/contains.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

const Given kGiven = {.etag = "9bb58f26192e4ba00f01e2e7b136bbd8-12",
                      .settings = {.mtime_ns = -1'500, .mode = 0751, .link = true}};
const std::string kWords = ".etag-" + kGiven.etag + ".set-m0751_t-1500_l";

class GivenTest : public ToleranceTest {
 protected:
  // Seals stay where they are on the servers in `silent`: those are down while the version is promoted.
  static Result<Version> Put(TestWorld& world, Gateway& gateway, const std::string& name,
                             const std::vector<MemberIndex>& without,
                             const std::vector<MemberIndex>& silent) {
    const ObjectPath path = TestWorld::Path(name);
    PutRequest request{path, SealedState(gateway.engine->NewObjectId()), 7, {}, 0, std::nullopt};
    request.given = kGiven;
    for (const MemberIndex server : world.Placement(path)) {
      if (Contains(without, server)) continue;
      if (world.Seal(gateway, path, server, request.seal)) request.archives.push_back(server);
    }
    for (const MemberIndex server : silent) world.memory[server]->SetDown(true);
    Result<Version> version = world.Run(CommitPut(*gateway.engine, std::move(request)));
    for (const MemberIndex server : silent) world.memory[server]->SetDown(false);
    return version;
  }

  // Once all is tidy: of what lives there each archive and each witness has it.
  static void ExpectGivenEverywhere(TestWorld& world, const std::string& name) {
    world.Pass(2h);
    Gateway& fresh = world.NewGateway();
    EXPECT_EQ(world.StateOf(fresh, name).given, kGiven);
    world.Clean(fresh);
    const std::vector<std::string> entries = world.EntriesOf(fresh, name);
    EXPECT_GE(entries.size(), world.descriptor.geometry.Total() - 1);
    for (const std::string& entry : entries) EXPECT_TRUE(entry.ends_with(kWords)) << entry;
    EXPECT_EQ(world.StateOf(fresh, name).given, kGiven);
  }

  TestWorld world_{OptionsOf(1)};
  Gateway& gateway_ = world_.NewGateway();
};

INSTANTIATE_TEST_SUITE_P(Tolerance, GivenTest, ::testing::Values(1, 2));

TEST_P(GivenTest, IsToldWithTheVersion) {
  ASSERT_TRUE(Put(world_, gateway_, "/a", {}, {}));
  EXPECT_EQ(world_.StateOf(gateway_, "/a").given, kGiven);
  EXPECT_EQ(world_.StateOf(world_.NewGateway(), "/a").given, kGiven);
  ExpectGivenEverywhere(world_, "/a");
}

TEST_P(GivenTest, StaysWhereHomesAreRolledForward) {
  const std::vector<MemberIndex> homes = gateway_.engine->Homes(TestWorld::Path("/a"));
  // One home has no archive, and gets a witness; another one keeps its seal, which others promote.
  ASSERT_TRUE(Put(world_, gateway_, "/a", {homes[0]},
                  GetParam() > 1 ? std::vector<MemberIndex>{homes[1]} : std::vector<MemberIndex>{}));
  ExpectGivenEverywhere(world_, "/a");
}

TEST_P(GivenTest, StaysWhereASealIsPromotedLater) {
  const std::vector<MemberIndex> homes = gateway_.engine->Homes(TestWorld::Path("/a"));
  ASSERT_TRUE(Put(world_, gateway_, "/a", {}, {homes[1]}));
  ExpectGivenEverywhere(world_, "/a");
}

TEST_P(GivenTest, GoesWithARename) {
  ASSERT_TRUE(Put(world_, gateway_, "/a", {}, {}));
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, TestWorld::Path("/a"), TestWorld::Path("/b"))));
  EXPECT_FALSE(world_.Lives(gateway_, "/a"));
  EXPECT_EQ(world_.StateOf(gateway_, "/b").given, kGiven);
  ASSERT_TRUE(world_.Run(RenameObject(*gateway_.engine, TestWorld::Path("/b"), TestWorld::Path("/c"))));
  ExpectGivenEverywhere(world_, "/c");
}

// The renaming gateway dies at some step, and whoever comes later finishes what was begun.
TEST_P(GivenTest, GoesWithARenameThatOthersFinish) {
  for (size_t steps = 1;; steps += 5) {
    TestWorld world(OptionsOf(steps));
    Gateway& gateway = world.NewGateway();
    ASSERT_TRUE(Put(world, gateway, "/a", {}, {}));
    const auto ended =
        world.executor.RunTask(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")), steps);
    gateway.Kill();
    world.Pass(2h);
    // Whoever asks for the old name finishes the rename if it was committed.
    ExpectGivenEverywhere(world, world.Lives(world.NewGateway(), "/a") ? "/a" : "/b");
    if (HasFailure() || ended) return;
  }
}

}  // namespace
}  // namespace xec
