// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archive_opener.hh"

#include <gmock/gmock.h>

#include "object/test_upload.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::Not;

class ArchiveOpenerTest : public testing::Test {
 protected:
  // Servers are found out by their first request.
  static void SetDown(TestStore& store, const std::vector<MemberIndex>& servers) {
    for (const MemberIndex server : servers) {
      store.memory(server).SetDown(true);
      EXPECT_FALSE(SyncWait(List(store.engine().MetadataCall(), store.engine().server(server), "/")));
    }
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
  TestStore store(Impatient());
  const ArchivePlace place = Place(store);
  const std::vector<MemberIndex> bad = {place.homes[0], place.homes[3]};
  SetDown(store, bad);
  ArchiveOpener opener(store.engine(), place);
  EXPECT_EQ(OpenSix(opener).size(), 6u);
  for (const MemberIndex server : bad) EXPECT_THAT(opener.Tried(), Not(testing::Contains(server)));
  EXPECT_TRUE(opener.HasSpare());
}

TEST_F(ArchiveOpenerTest, ServersKnownToBeBadAreAskedWhenNoOthersAreLeft) {
  TestStore store(Impatient(7));
  const ArchivePlace place = Place(store);
  const std::vector<MemberIndex> bad = {place.homes[0], place.homes[1]};
  SetDown(store, bad);
  store.memory(bad[1]).SetDown(false);  // nobody knows yet
  ArchiveOpener opener(store.engine(), place);
  const std::vector<MemberIndex> opened = OpenSix(opener);
  EXPECT_EQ(opened.size(), 6u);
  EXPECT_EQ(opened.back(), bad[1]);
  EXPECT_FALSE(opener.HasSpare());
}

}  // namespace
}  // namespace xec
