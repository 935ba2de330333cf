// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair.hh"

#include <thread>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "commit/clean/clean_name.hh"
#include "commit/clean/cleaner.hh"
#include "commit/engine/access.hh"
#include "object/repair/test/test_repair.hh"
#include "object/write/stripe_buffer.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

class RepairTest : public testing::TestWithParam<size_t> {};

// What was committed in this very millisecond is nobody's yet.
void OutliveVersion(Engine& engine) {
  const Result<NameInfo> info = SyncWait(LookUpLive(engine, TestStore::Path("/o")));
  ASSERT_TRUE(info);
  while (engine.executor().WallNow() <= info->accepted.version.WallMillis()) std::this_thread::yield();
}

// Any two archives of the object, one damaged, one lost; made again byte for byte where they were.
TEST_P(RepairTest, DamagedAndLostArchivesComeBackWhereTheyWere) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (size_t i = 0; i < archives.size(); ++i) {
    const auto& [damaged, damaged_path] = archives[i];
    const auto& [lost, lost_path] = archives[(i + 1) % archives.size()];
    const std::string before = *store.memory(lost).Content(lost_path);
    store.memory(damaged).Tamper(damaged_path, [](std::string& content) { content[100] ^= 1; });
    const DataServerPtr server = store.engine().server(static_cast<MemberIndex>(lost));
    ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), server, lost_path)));
    // Homes that lost their archive have a witness now.
    EXPECT_TRUE(*store.Get("/o") == bytes);
    store.Settle();
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->archives_bad, 2u);
    EXPECT_EQ(report->archives_made, 2u);
    EXPECT_EQ(report->problems, std::vector<std::string>{});
    ExpectWhole(store, bytes);
    ASSERT_TRUE(store.memory(lost).Content(lost_path));
    EXPECT_TRUE(*store.memory(lost).Content(lost_path) == before);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RepairTest, testing::Values(5000, 20'000, 5 * 4 * 8 * kKiB + 7));

TEST(RepairTest, NothingBadNothingWritten) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto before = store.Archives("/o");
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_bad + report->archives_made + report->archives_silent, 0u);
  EXPECT_EQ(store.Archives("/o"), before);
}

// Found by the simulator (seed 8413): it waited for memory to read with while it held the stripe it read for.
TEST(RepairTest, TheLeastMemoryThatAWriterAcceptsIsEnough) {
  StripeBuffer::Shape stripe{.geometry = kSmall, .data_bytes_max = kSmall.StripeSize()};
  EngineOptions engine = Patient();
  engine.memory_bytes = stripe.BufferBytes() + 64 * kKiB;
  TestStore store({.geometry = kSmall, .engine = engine});
  const std::string bytes = TestBytes(5 * kSmall.StripeSize() + 7);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  for (const size_t lane : {size_t{0}, size_t{3}}) {
    const auto [server, path] = store.Archives("/o")[lane];
    store.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  }
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 2u) << testing::PrintToString(report->problems);
  ExpectWhole(store, bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

TEST(RepairTest, WhatAServerThatIsAwayHasIsLeftAlone) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  store.memory(store.Archives("/o")[2].first).SetDown(true);
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_silent, 1u);
  EXPECT_EQ(report->archives_made, 0u);
}

TEST(RepairTest, AnArchiveWhoseServerIsFullGoesElsewhere) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto [server, path] = store.Archives("/o")[3];
  store.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() / 2); });
  store.faults(server).SetFull(true);
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  EXPECT_TRUE(*store.Get("/o") == bytes);
  // It is found where it is now, also with two more servers away.
  const auto archives = store.Archives("/o");
  EXPECT_EQ(archives.size(), 7u);
  store.memory(archives[0].first == server ? archives[1].first : archives[0].first).SetDown(true);
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

// A bad archive that still opens is read before a copy elsewhere: it does not stay beside it (simulator, seed
// 3905). On a home a witness stands in for it; a home that takes none keeps it, and that is told.
TEST(RepairTest, ABadArchiveGoesOnceItsCopyStandsElsewhere) {
  for (const uint64_t refused : {uint64_t{1}, UINT64_MAX}) {
    for (size_t lane = 0; lane < 6; ++lane) {
      TestStore store({.geometry = kSmall});
      const std::string bytes = TestBytes(100'000);
      ASSERT_TRUE(store.Put("/o", bytes));
      store.Settle();
      const auto [server, path] = store.Archives("/o")[lane];
      store.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
      store.faults(server).Add({.operation = Operation::kCreate,
                                .path_contains = "/y.",
                                .count = refused,
                                .error = {Code::kNoSpace, "no space"}});
      const Result<RepairReport> report = Repair(store);
      ASSERT_TRUE(report) << report.error().ToString();
      EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
      const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
      const bool home = Contains(homes, server);
      const bool stays = home && refused > 1;
      EXPECT_EQ(report->problems.size(), stays ? 1u : 0u) << testing::PrintToString(report->problems);
      EXPECT_EQ(store.memory(server).Content(path).has_value(), stays);
      if (home) {
        const Result<States> states =
            SyncWait(ListStates(store.engine(), static_cast<MemberIndex>(server), TestStore::Path("/o")));
        ASSERT_TRUE(states);
        EXPECT_NE(HighestAccepted(*states).kind, Accepted::kNothing);
      }
      ExpectWhole(store, bytes);
      const Result<RepairReport> again = Repair(store);
      ASSERT_TRUE(again) << again.error().ToString();
      EXPECT_EQ(again->archives_bad, 0u);
    }
  }
}

// A file without a byte may still fit on a full disk.
TEST(RepairTest, AServerThatIsFoundFullOnlyWhenWrittenToIsLeft) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (const size_t lane : {size_t{2}, size_t{4}}) {
    const auto [server, path] = archives[lane];
    store.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() / 2); });
  }
  store.faults(archives[4].first)
      .Add({.operation = Operation::kWrite, .error = {Code::kNoSpace, "no space"}});
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_bad, 2u);
  EXPECT_EQ(report->archives_made, 2u) << testing::PrintToString(report->problems);
  EXPECT_EQ(report->made.size(), 2u);
  ExpectWhole(store, bytes);
}

// It is read in place of its copy until the damage is met: in the first or in the second stripe.
TEST(RepairTest, ABadArchiveThatCannotBeRemovedIsTold) {
  for (const size_t at : {size_t{5000}, size_t{13'000}}) {
    TestStore store({.geometry = kSmall});
    const std::string bytes = TestBytes(100'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto [server, path] = store.Archives("/o")[3];
    store.memory(server).Tamper(path, [at](std::string& content) { content[at] ^= 1; });
    store.faults(server).SetReadOnly(true);
    for (const uint64_t bad : {1u, 0u}) {
      const Result<RepairReport> report = Repair(store);
      ASSERT_TRUE(report) << report.error().ToString();
      EXPECT_EQ(report->archives_bad, bad);
      EXPECT_EQ(report->archives_made, bad);
      ASSERT_EQ(report->problems.size(), 1u);
      EXPECT_THAT(report->problems[0], HasSubstr("stays damaged on"));
      // The copy is what is read, and no further one is made.
      ExpectWhole(store, bytes);
      EXPECT_EQ(store.Archives("/o").size(), 7u);
    }
    // The damaged page is not needed when two others are away.
    std::vector<size_t> away;
    for (const auto& [other, other_path] : store.Archives("/o")) {
      if (other != server && away.size() < 2) away.push_back(other);
    }
    for (const size_t other : away) store.memory(other).SetDown(true);
    EXPECT_TRUE(*store.Get("/o") == bytes);
    for (const size_t other : away) store.memory(other).SetDown(false);
    // It goes as soon as its server lets it.
    store.faults(server).SetReadOnly(false);
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->problems, std::vector<std::string>{});
    EXPECT_FALSE(store.memory(server).Content(path));
    ExpectWhole(store, bytes);
  }
}

// Of two archives of a lane each is damaged: neither is removed in favour of the other.
TEST(RepairTest, ABadArchiveStaysIfItsCopyIsNotWhole) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto before = store.Archives("/o");
  const auto [server, path] = before[3];
  store.memory(server).Tamper(path, [](std::string& content) { content[13'000] ^= 1; });
  store.faults(server).SetReadOnly(true);
  ASSERT_TRUE(Repair(store));
  store.faults(server).SetReadOnly(false);
  for (const auto& [other, copy] : store.Archives("/o")) {
    const bool known = Contains(before, std::pair(other, copy));
    if (!known) store.memory(other).Tamper(copy, [](std::string& content) { content[5000] ^= 1; });
  }
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  ExpectWhole(store, bytes);
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

// A reader that asked while the server of such an archive was away asks again.
TEST(RepairTest, AnArchiveElsewhereIsFoundOnceItsServerIsBack) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto before = store.Archives("/o");
  const auto [server, path] = before[3];
  store.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() / 2); });
  store.faults(server).SetFull(true);
  ASSERT_TRUE(Repair(store));
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  for (const auto& archive : store.Archives("/o")) {
    const bool spare = !Contains(before, archive);
    if (spare) store.memory(archive.first).SetDown(true);
  }
  EXPECT_TRUE(*TestStore::Read(**reader, 0, bytes.size()) == bytes);
  store.Settle();
  for (size_t i = 0; i < store.server_count(); ++i) store.memory(i).SetDown(false);
  for (const size_t lane : {size_t{0}, size_t{1}}) store.memory(before[lane].first).SetDown(true);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  Result<std::string> read = TestStore::Read(**reader, 0, bytes.size());
  while (!read && std::chrono::steady_clock::now() < give_up)
    read = TestStore::Read(**reader, 0, bytes.size());
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(*read == bytes);
}

// Found by the simulator (seed 852): a home with a stray archive can take no copy while another home is gone.
TEST(RepairTest, AServerWithoutAStrayTakesTheCopy) {
  TestStore store({.geometry = Geometry{2, 1, 8 * kKiB}});
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  const MemberIndex with_stray = homes[0];
  const MemberIndex gone = homes[1];
  const std::string bytes = TestBytes(50'000);
  store.faults(with_stray).SetFull(true);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  store.faults(with_stray).SetFull(false);
  const auto [server, path] = store.Archives("/o").back();
  const std::string stray = *store.memory(server).Content(path);
  ASSERT_TRUE(SyncWait(
      CreateFile(store.engine().MetadataCall(), store.engine().server(with_stray), path, stray, true)));
  store.memory(gone).SetDown(true);
  Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  RepairOptions options;
  options.gone = {gone};
  const Result<RepairReport> report =
      SyncWait(RepairObject(store.engine(), std::move(*info), std::move(options)));
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_bad, 1u);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  EXPECT_TRUE(store.memory(with_stray).Content(path) && *store.memory(with_stray).Content(path) == stray);
  EXPECT_TRUE(*store.Get("/o") == bytes);
}

// A reader that goes by the old manifests would meet the bad archive again (simulator, seed 458).
TEST(RepairTest, ADamagedArchiveIsNotLeftBesideACopyWhenItsServerFailsForAMoment) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto [server, path] = store.Archives("/o")[3];
  store.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  store.faults(server).Add({.path_contains = "/y."});
  Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 0u);
  EXPECT_EQ(report->problems.size(), 1u);
  store.faults(server).Clear();
  report = Repair(store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  // A home had a witness meanwhile.
  ASSERT_TRUE(SyncWait(CleanName(store.engine(), TestStore::Path("/o"))));
  EXPECT_EQ(store.Archives("/o").size(), 6u);
  ExpectWhole(store, bytes);
}

// Found by the simulator: its listing was not waited for, so its archive seemed to have come after it was
// read.
TEST(RepairTest, AServerThatNobodyAskedSinceItIsBackIsListedFirst) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  const auto archives = store.Archives("/o");
  const auto no_home = std::find_if(archives.begin(), archives.end(),
                                    [&](const auto& archive) { return !Contains(homes, archive.first); });
  ASSERT_NE(no_home, archives.end());
  const auto [server, path] = *no_home;
  // No probe has found it well yet.
  store.faults(server).Add({.operation = Operation::kList, .path_contains = "/.xec"});
  store.memory(server).SetDown(true);
  const auto member = static_cast<MemberIndex>(server);
  EXPECT_FALSE(SyncWait(List(store.engine().MetadataCall(), store.engine().server(member), "/")));
  store.memory(server).SetDown(false);
  store.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ExpectWhole(store, bytes);
}

TEST(RepairTest, ADebtIsPaidWhenTheServerIsBack) {
  TestStore store({.geometry = kSmall, .servers = 6});
  WriteOptions options;
  options.archives_min = 5;
  store.memory(4).SetDown(true);
  const std::string bytes = TestBytes(200'000);
  const Result<Committed> committed = store.Put("/o", bytes, options);
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->debts.size(), 1u);
  store.Settle();
  Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_made, 0u);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_THAT(report->problems[0], HasSubstr("s04"));
  store.memory(4).SetDown(false);
  report = Repair(store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ExpectWhole(store, bytes);
}

// The cleaner tells that the object lacks an archive, as soon as it trusts the server that is back.
void ExpectThin(TestStore& store) {
  const TimePoint give_up = store.engine().executor().Now() + std::chrono::seconds(30);
  size_t thin = 0;
  while (thin == 0 && store.engine().executor().Now() < give_up) {
    const Result<CleanOutcome> cleaned = SyncWait(CleanName(store.engine(), TestStore::Path("/o")));
    if (cleaned) thin = cleaned->thin.size();
  }
  EXPECT_EQ(thin, 1u);
}

// One name that cannot be cleaned now hides nothing of the others. The servers themselves tell the error:
// those that seem to be away would be asked for no other name either.
TEST(RepairTest, WhatIsThinIsToldThoughThePassCannotEndWell) {
  EngineOptions options = Patient();
  options.operation_limit = Duration(0);
  TestStore store({.geometry = kSmall, .engine = options});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  ASSERT_TRUE(store.Put("/p", TestBytes(100'000)));
  store.Settle();
  OutliveVersion(store.engine());
  const auto [server, path] = store.Archives("/o").front();
  const DataServerPtr holder = store.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), holder, path)));
  const Error bad_sector{Code::kUnreadable, "injected fault"};
  for (size_t i = 0; i < store.server_count(); ++i)
    store.faults(i).Add({.operation = Operation::kList, .path_contains = "/p.~xo", .error = bad_sector});
  std::vector<std::string> thin;
  OnThin on_thin = [&thin](const ThinObject& object) { thin.push_back(object.path.text()); };
  const Result<CleanOutcome> cleaned = SyncWait(CleanTree(store.engine(), TestStore::Path("/"), on_thin));
  EXPECT_EQ(cleaned.code(), Code::kNoQuorum);
  EXPECT_EQ(thin, std::vector<std::string>{"/o"});
}

// Written with another geometry than its path has today: its manifest says how many archives it should have.
TEST(RepairTest, ThinIsWhatLacksArchivesOfItsOwnGeometry) {
  TestStore store({.geometry = kSmall, .servers = 8});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  StoreDescriptor wider = store.engine().descriptor();
  wider.geometry.data_chunks = 5;
  EngineOptions options = Patient();
  options.operation_limit = Duration(0);
  std::vector<DataServerPtr> servers;
  for (size_t i = 0; i < store.server_count(); ++i)
    servers.push_back(store.engine().server(static_cast<MemberIndex>(i)));
  Engine other(wider, servers, store.engine().executor(), store.scope(), 8, options);
  const auto count_thin = [&] {
    const Result<CleanOutcome> cleaned = SyncWait(CleanName(other, TestStore::Path("/o")));
    EXPECT_TRUE(cleaned) << cleaned.error().ToString();
    return cleaned->thin.size();
  };
  OutliveVersion(other);
  EXPECT_EQ(count_thin(), 0u);
  const auto [server, path] = store.Archives("/o").front();
  ASSERT_TRUE(SyncWait(Remove(other.MetadataCall(), servers[server], path)));
  EXPECT_EQ(count_thin(), 1u);
  store.Settle();
}

// A server that dies in mid-upload comes back with a seal that has no end: it must not be taken for an
// archive.
TEST(RepairTest, WhatAServerHeldWhenItDiedIsNoArchive) {
  TestStore::Options of_store{.geometry = kSmall, .servers = 6};
  of_store.engine.operation_limit = std::chrono::milliseconds(0);
  TestStore store(of_store);
  WriteOptions options;
  options.archives_min = 5;
  const std::string bytes = TestBytes(400'000);
  for (const size_t dies : {size_t{0}, size_t{5}}) {
    Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o", options);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(0, 200'000)))));
    store.memory(dies).SetDown(true);
    ASSERT_TRUE(SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(200'000)))));
    const Result<Committed> committed = SyncWait((*writer)->Commit());
    ASSERT_TRUE(committed) << committed.error().ToString();
    EXPECT_EQ(committed->debts.size(), 1u);
    store.Settle();
    store.memory(dies).SetDown(false);
    ExpectThin(store);
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
    ExpectWhole(store, bytes);
    // The others name no server for it; damaged, it is repaired where it is.
    for (const auto& [server, path] : store.Archives("/o")) {
      if (server != dies) continue;
      // A witness may lie beside it.
      const auto flip = [](std::string& content) { content.size() > 50'000 ? content[50'000] ^= 1 : 0; };
      store.memory(server).Tamper(path, flip);
    }
    const Result<RepairReport> second = Repair(store);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->archives_made, 1u) << testing::PrintToString(second->problems);
    ExpectWhole(store, bytes);
  }
}

// Two homes of five hold nothing else; the bad archive on a third may go only if two others stand in.
TEST(RepairTest, ABadArchiveStaysAsLongAsItsHomeIsNeeded) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(5000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  ASSERT_EQ(archives.size(), 3u);
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  for (const MemberIndex home : homes) {
    const bool holds = std::any_of(archives.begin(), archives.end(),
                                   [&](const auto& archive) { return archive.first == home; });
    if (!holds) store.memory(home).SetDown(true);
  }
  const auto& [server, path] = archives[0];
  store.memory(server).Tamper(path, [](std::string& content) { content[100] ^= 1; });
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 0u);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_THAT(report->problems[0], HasSubstr("too few homes"));
  EXPECT_TRUE(store.memory(server).Content(path)) << "still accepted there";
}

}  // namespace
}  // namespace xec
