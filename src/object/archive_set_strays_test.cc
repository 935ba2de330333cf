// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archive_set.hh"
#include "object/test_store.hh"

namespace xec {
namespace {

// Asks no spare in its first search: what it learns of them would stand for a while, and the second one would
// ask nobody.
class LateCandidates : public ArchiveSet {
 public:
  using ArchiveSet::ArchiveSet;
  bool ask = false;

 protected:
  std::vector<MemberIndex> StrayCandidates(const Manifest& manifest) const override {
    return ask ? ArchiveSet::StrayCandidates(manifest) : std::vector<MemberIndex>{};
  }
};

void HangAll(TestStore& store) {
  FaultRule rule;
  rule.kind = FaultKind::kHang;
  for (size_t server = 0; server < store.server_count(); ++server) store.faults(server).Add(rule);
}

void ReleaseAll(TestStore& store) {
  for (size_t server = 0; server < store.server_count(); ++server) {
    store.faults(server).Clear();
    store.faults(server).ReleaseHung();
  }
}

// Who could not go on without a chunk did not wait for a search that had begun for another one a moment ago,
// and called lost what that was about to find.
TEST(FindStrays, WaitsForASearchThatIsUnderWay) {
  TestStore store({.geometry = {4, 2, 8 * kKiB}, .servers = 8});
  ASSERT_TRUE(store.Put("/o", TestBytes(200'000)));
  store.Settle();
  Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  const auto archives = std::make_shared<LateCandidates>(store.engine(), std::move(*info));
  ASSERT_TRUE(SyncWait(archives->Describe()));
  SyncWait(ArchiveSet::FindStrays(archives));  // the next one is due in 2 s, but for what is damaged

  archives->NoteCorrupt(archives->Open().front(), "a chunk is damaged");
  archives->ask = true;
  HangAll(store);
  archives->StartFindStrays();
  ASSERT_TRUE(archives->StraysSearching());
  std::atomic<bool> waited = false;
  store.scope().Spawn([](std::shared_ptr<ArchiveSet> set, std::atomic<bool>& end) -> Task<void> {
    co_await ArchiveSet::FindStrays(std::move(set));
    end = true;
  }(archives, waited));
  EXPECT_FALSE(waited);
  ReleaseAll(store);
  store.Settle();
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace xec
