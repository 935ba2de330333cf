// SPDX-License-Identifier: LGPL-3.0-or-later
// While no more servers are bad than the store tolerates nobody notices: here the last of these dies at any
// request of an operation, executed or not, and the others were away before.
#include "commit/engine/names.hh"
#include "commit/programs/attributes.hh"
#include "commit/rename/rename.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using Gateway = TestWorld::Gateway;

class DyingServerTest : public ToleranceTest {
 protected:
  using Operation = std::function<Status(TestWorld& world, Gateway& gateway)>;
  using Holds = std::function<bool(TestWorld& world, Gateway& gateway)>;

  // `operation` on a store with the object /a and the empty directory /d.
  static void Try(const Operation& operation, const Holds& holds) {
    for (MemberIndex server = 0; server < OptionsOf(1).servers; ++server) {
      for (const FaultKind last : {FaultKind::kFailAfter, FaultKind::kFailBefore}) {
        for (uint64_t first = 1;; ++first) {
          TestWorld world(OptionsOf(first % 5 + 1));
          Gateway& before = world.NewGateway();
          ASSERT_TRUE(world.Put(before, "/a"));
          ASSERT_TRUE(world.Run(MakeDirectoryName(*before.engine, world.Path("/d"), false)));
          Gateway& gateway = world.NewGateway();
          for (uint32_t i = 1; i < GetParam(); ++i)
            gateway.faults[(server + 2 * i) % gateway.faults.size()]->plan().SetDown(true);
          FaultPlan& plan = gateway.faults[server]->plan();
          plan.Add({.kind = last, .first = first, .count = 1});
          plan.Add({.first = first});
          const Status done = operation(world, gateway);
          const std::string when = fmt::format("server {} dies at request {}, {}", server, first,
                                               last == FaultKind::kFailAfter ? "executed" : "not executed");
          ASSERT_TRUE(done) << when << ": " << done.error().message;
          ASSERT_TRUE(holds(world, gateway)) << when;
          ASSERT_TRUE(holds(world, world.NewGateway())) << when << ", another gateway";
          if (plan.injected() == 0) break;
        }
      }
    }
  }

  static Status StatusOf(const Result<Version>& version) {
    return version ? OkStatus() : Status(version.error());
  }
};

INSTANTIATE_TEST_SUITE_P(Tolerance, DyingServerTest, ::testing::Values(1, 2));

TEST_P(DyingServerTest, PutsReplace) {
  Try([](TestWorld& world, Gateway& gateway) { return StatusOf(world.Put(gateway, "/a")); },
      [](TestWorld& world, Gateway& gateway) { return world.Lives(gateway, "/a"); });
}

TEST_P(DyingServerTest, ObjectsAreRemoved) {
  Try([](TestWorld& world,
         Gateway& gateway) { return world.Run(RemoveObject(*gateway.engine, world.Path("/a"))); },
      [](TestWorld& world, Gateway& gateway) { return !world.Lives(gateway, "/a"); });
}

TEST_P(DyingServerTest, ObjectsAreRenamed) {
  Try(
      [](TestWorld& world, Gateway& gateway) {
        return world.Run(RenameObject(*gateway.engine, world.Path("/a"), world.Path("/b")));
      },
      [](TestWorld& world, Gateway& gateway) {
        return !world.Lives(gateway, "/a") && world.Lives(gateway, "/b");
      });
}

TEST_P(DyingServerTest, DirectoriesAreMade) {
  Try([](TestWorld& world,
         Gateway& gateway) { return world.Run(MakeDirectoryName(*gateway.engine, world.Path("/e"), false)); },
      [](TestWorld& world, Gateway& gateway) { return world.Lives(gateway, "/e"); });
}

TEST_P(DyingServerTest, DirectoriesAreRemoved) {
  Try([](TestWorld& world,
         Gateway& gateway) { return world.Run(RemoveDirectoryName(*gateway.engine, world.Path("/d"))); },
      [](TestWorld& world, Gateway& gateway) { return !world.Lives(gateway, "/d"); });
}

TEST_P(DyingServerTest, DirectoriesAreRenamed) {
  Try(
      [](TestWorld& world, Gateway& gateway) {
        return world.Run(RenameDirectory(*gateway.engine, world.Path("/d"), world.Path("/e")));
      },
      [](TestWorld& world, Gateway& gateway) {
        return !world.Lives(gateway, "/d") && world.Lives(gateway, "/e");
      });
}

Task<Status> SetAttribute(Engine& engine, ObjectPath path) {
  Result<NameAttributes> found = co_await LookUpAttributes(engine, path);
  if (!found) co_return found.error();
  AttributeChange change{{{"color", "red"}}, std::move(found->set), {}};
  co_return co_await ChangeAttribute(engine, std::move(found->info), std::move(change));
}

TEST_P(DyingServerTest, AttributesAreSet) {
  Try([](TestWorld& world,
         Gateway& gateway) { return world.Run(SetAttribute(*gateway.engine, world.Path("/a"))); },
      [](TestWorld& world, Gateway& gateway) {
        const auto found = world.Run(LookUpAttributes(*gateway.engine, world.Path("/a")));
        return found && found->set;
      });
}

}  // namespace
}  // namespace xec
