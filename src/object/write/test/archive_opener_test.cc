// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/archive_opener.hh"

#include <gmock/gmock.h>

#include "object/test/test_upload.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::Not;

class ArchiveOpenerTest : public testing::Test {
 protected:
  static TestStore::Options WithServers(size_t servers, size_t servers_of_host = 1) {
    return {.geometry = kSmall, .servers = servers, .servers_of_host = servers_of_host};
  }
  // The server creates archives, but is known to answer no listing.
  static void LookDown(TestStore& store, MemberIndex server) {
    store.faults(server).Add({.kind = FaultKind::kFailBefore, .operation = Operation::kList});
    EXPECT_FALSE(SyncWait(List(store.engine().MetadataCall(), store.engine().server(server), "/")));
  }
  static std::vector<MemberIndex> OpenSix(ArchiveOpener& opener) {
    std::vector<MemberIndex> servers;
    for (const OpenedArchive& archive : SyncWait(opener.OpenBest(6, 2))) servers.push_back(archive.server);
    return servers;
  }
  static ArchivePlace Place(TestStore& store) {
    return SealPlace(store.engine(), TestStore::Path("/o"), SealedState(store.engine().NewObjectId()));
  }
};

TEST_F(ArchiveOpenerTest, ServersKnownToBeBadAreNotAskedWhileOthersAreLeft) {
  TestStore store(WithServers(8));
  const ArchivePlace place = Place(store);
  const std::vector<MemberIndex> bad = {place.homes[0], place.homes[3]};
  for (const MemberIndex server : bad) LookDown(store, server);
  ArchiveOpener opener(store.engine(), place);
  EXPECT_EQ(OpenSix(opener).size(), 6u);
  for (const MemberIndex server : bad) EXPECT_THAT(opener.Tried(), Not(testing::Contains(server)));
  EXPECT_FALSE(opener.HasSpare()) << "with these two nobody is better off";
}

TEST_F(ArchiveOpenerTest, ServersKnownToBeBadAreAskedWhenNoOthersAreLeft) {
  TestStore store(WithServers(6));
  const ArchivePlace place = Place(store);
  LookDown(store, place.homes[0]);
  ArchiveOpener opener(store.engine(), place);
  const std::vector<MemberIndex> opened = OpenSix(opener);
  ASSERT_EQ(opened.size(), 6u);
  EXPECT_EQ(opened.back(), place.homes[0]);
}

// A store whose server is suspect for a moment would lose more than it can with a host.
TEST_F(ArchiveOpenerTest, ServersKnownToBeBadAreAskedBeforeTooManyOfOneHost) {
  TestStore store(WithServers(9, 3));
  for (const MemberIndex server : {MemberIndex{0}, MemberIndex{1}}) LookDown(store, server);
  ArchiveOpener opener(store.engine(), Place(store));
  std::map<size_t, int> on_host;
  for (const MemberIndex server : OpenSix(opener)) ++on_host[server / 3];
  EXPECT_EQ(on_host, (std::map<size_t, int>{{0, 2}, {1, 2}, {2, 2}}));
}

}  // namespace
}  // namespace xec
