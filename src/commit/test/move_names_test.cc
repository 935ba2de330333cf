// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads of writers that died, while the members change.
#include "commit/members/move_names.hh"

#include "commit/test/test_world.hh"
#include "placement/list_changes.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

// A quorum of the homes of before has the seal. Of the homes after the change it would be one alone, which a
// look could do without; a promotion that its writer has sent may still be on its way.
TEST(MoveNames, ASealThatALaterLookCouldMissIsGivenUp) {
  TestWorld world(TestWorld::Options{.servers = 8});
  const ObjectPath path = TestWorld::Path("/a");
  Gateway& writer = world.NewGateway();
  const Homes homes = writer.engine->Homes(path);
  const State seal = SealedState(writer.engine->NewObjectId());
  for (size_t i = 0; i < writer.engine->HomeQuorum(path); ++i)
    ASSERT_TRUE(world.Seal(writer, path, homes[i], seal));
  Gateway& mover = world.NewGateway();
  std::vector<DataServerPtr> servers(mover.faults.begin(), mover.faults.end());
  const Result<StoreDescriptor> next = Leaving(world.descriptor, world.descriptor.members[homes[1]].id, 0, 0);
  ASSERT_TRUE(next) << next.error().message;
  Engine engine(*mover.engine, *next, std::move(servers));
  const Status moved = world.Run(MoveNames(engine, nullptr));
  ASSERT_TRUE(moved) << moved.error().message;
  for (size_t i = 0; i < 2; ++i) {
    const Status promoted = world.Run(RenameState(*writer.engine, homes[i], path, FormatState(seal),
                                                  FormatState(PromotedState(Version{}, seal.oid, 7))));
    EXPECT_EQ(promoted.code(), Code::kNotFound)
        << "home " << i << " takes it when nobody looks there any more";
  }
  mover.scope.Abandon();
}

}  // namespace
}  // namespace xec
