// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "object/archive_set.hh"
#include "object/test_repair.hh"

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

// Found by the simulator (seed 1419): a server was away, its archive was made again on a spare, the server
// came back, and the spare's copy went bad. Who looked for the lane elsewhere found that one first, and
// called the lane damaged with a good copy beside it.
TEST(FindStrays, ABadCopyIsPassedOverForAGoodOne) {
  for (const bool first_is_bad : {true, false}) {
    TestStore store({.geometry = kSmall, .servers = 9});
    const std::string bytes = TestBytes(200'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto archives = store.Archives("/o");
    std::vector<MemberIndex> spares;
    for (MemberIndex server = 0; server < store.server_count(); ++server) {
      const auto has = [&](const auto& archive) { return archive.first == server; };
      if (std::none_of(archives.begin(), archives.end(), has)) spares.push_back(server);
    }
    ASSERT_GE(spares.size(), 2u);
    const auto [named, path] = archives.back();
    const std::string good = *store.memory(named).Content(path);
    std::string bad = good;
    bad[100] ^= 1;
    for (const size_t i : {0, 1}) {
      const bool is_bad = (i == 0) == first_is_bad;
      ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(spares[i]), path,
                                      is_bad ? bad : good, true)));
    }
    ASSERT_TRUE(SyncWait(
        Remove(store.engine().MetadataCall(), store.engine().server(static_cast<MemberIndex>(named)), path)));
    ExpectWhole(store, bytes);
  }
}

}  // namespace
}  // namespace xec
