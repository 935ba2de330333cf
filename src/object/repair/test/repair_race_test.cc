// SPDX-License-Identifier: LGPL-3.0-or-later
// Repairs that meet cleaners, other repairs, requests that fail at the worst moment, and servers that hang.
#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "commit/clean/clean_name.hh"
#include "commit/engine/access.hh"
#include "commit/steps/drafts.hh"
#include "commit/steps/place_copy.hh"
#include "object/repair/test/test_repair.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

// Drafts of the object, on any server.
std::vector<std::pair<size_t, std::string>> Drafts(const TestStore& store) {
  auto drafts = store.Archives("/o");
  std::erase_if(drafts, [](const auto& archive) { return archive.second.find("/y.") == std::string::npos; });
  return drafts;
}

Accepted VersionOf(TestStore& store) {
  const Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  EXPECT_TRUE(info);
  return info ? info->accepted : Accepted{};
}

std::optional<State> ArchiveOn(TestStore& store, MemberIndex server) {
  const Result<States> states = SyncWait(ListStates(store.engine(), server, TestStore::Path("/o")));
  EXPECT_TRUE(states);
  return states ? ArchiveInPlace(*states, VersionOf(store)) : std::nullopt;
}

// Places a complete draft; `with_draft`: else it is not there any more.
Placed PlaceOn(TestStore& store, MemberIndex server, bool with_draft, std::optional<State> replaces) {
  const ObjectPath path = TestStore::Path("/o");
  const Accepted version = VersionOf(store);
  const State draft = DraftOf(store.engine(), version);
  if (with_draft) {
    const Status made = SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(server),
                                            StatePath(path, FormatState(draft)), "the copy", true));
    EXPECT_TRUE(made);
  }
  return SyncWait(PlaceCopy(store.engine(), path, server, draft, version, std::move(replaces)));
}

struct OneObject {
  OneObject() {
    EXPECT_TRUE(store.Put("/o", bytes));
    store.Settle();
    server = static_cast<MemberIndex>(store.Archives("/o")[3].first);
    path = store.Archives("/o")[3].second;
  }
  void Damage() {
    store.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  }
  // A home makes a witness before.
  uint64_t FirstRenameOfACopy() {
    const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
    return Contains(homes, server) ? 2 : 1;
  }
  TestStore store{{.geometry = kSmall}};
  const std::string bytes = TestBytes(100'000);
  MemberIndex server = 0;
  std::string path;
};

// The cleaner of another gateway may take the draft of a repair that was held up.
TEST(RepairRaceTest, NoArchiveIsRemovedForADraftThatIsGone) {
  OneObject one;
  const Placed placed = PlaceOn(one.store, one.server, false, ArchiveOn(one.store, one.server));
  ASSERT_FALSE(placed.status);
  EXPECT_EQ(placed.status.code(), Code::kConflict);
  EXPECT_TRUE(one.store.memory(one.server).Content(one.path));
  ExpectWhole(one.store, one.bytes);
}

// Another repair has placed a good one since.
TEST(RepairRaceTest, OnlyTheArchiveThatWasFoundBadIsReplaced) {
  OneObject one;
  const std::optional<State> there = ArchiveOn(one.store, one.server);
  ASSERT_TRUE(there);
  std::optional<State> earlier = there, shorter = there;
  --earlier->mtime_s;
  --shorter->entry_bytes;
  for (const std::optional<State>& replaces : {std::optional<State>(), earlier, shorter}) {
    const Placed placed = PlaceOn(one.store, one.server, true, replaces);
    ASSERT_FALSE(placed.status);
    EXPECT_EQ(placed.status.code(), Code::kConflict);
    EXPECT_FALSE(placed.keep_draft);
    ExpectWhole(one.store, one.bytes);
  }
  const Placed placed = PlaceOn(one.store, one.server, true, there);
  EXPECT_TRUE(placed.status);
  EXPECT_EQ(one.store.memory(one.server).Content(one.path), "the copy");
}

TEST(RepairRaceTest, OfTwoRepairsTheLaterOneLeavesTheCopyOfTheOther) {
  OneObject one;
  one.Damage();
  // Times of entries are in seconds.
  const int64_t written = ArchiveOn(one.store, one.server)->mtime_s;
  while (one.store.engine().executor().WallNow() / 1000 <= written) std::this_thread::yield();
  Result<RepairReport> other = Fail(Code::kInternal, "not tried");
  std::atomic<bool> tried = false;
  RepairOptions options;
  options.progress = [&](uint64_t) {
    if (Drafts(one.store).empty() || tried.exchange(true)) return;
    // No thread of the engine may wait for the engine.
    other = std::async(std::launch::async, [&] { return Repair(one.store); }).get();
  };
  Result<NameInfo> info = SyncWait(LookUpLive(one.store.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  const Result<RepairReport> report =
      SyncWait(RepairObject(one.store.engine(), std::move(*info), std::move(options)));
  ASSERT_TRUE(other) << other.error().ToString();
  EXPECT_EQ(other->archives_made, 1u) << testing::PrintToString(other->problems);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 0u);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_THAT(report->problems[0], HasSubstr("another archive came to its place"));
  ExpectWhole(one.store, one.bytes);
  one.store.Settle();
  EXPECT_TRUE(Drafts(one.store).empty());
}

TEST(RepairRaceTest, ARenameThatFailsOnceTheBadArchiveIsGoneIsTriedAgain) {
  OneObject one;
  one.Damage();
  FaultRule fails{
      .operation = Operation::kRename, .path_contains = "/y.", .first = one.FirstRenameOfACopy(), .count = 2};
  one.store.faults(one.server).Add(fails);
  // Executed, but the reply is lost.
  fails.kind = FaultKind::kFailAfter;
  fails.count = 1;
  one.store.faults(one.server).Add(fails);
  const Result<RepairReport> report = Repair(one.store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ExpectWhole(one.store, one.bytes);
  EXPECT_EQ(one.store.faults(one.server).injected(), 3u);
}

TEST(RepairRaceTest, TheDraftIsKeptOnceTheBadArchiveIsGone) {
  OneObject one;
  one.Damage();
  one.store.faults(one.server)
      .Add({.operation = Operation::kRename, .path_contains = "/y.", .first = one.FirstRenameOfACopy()});
  Result<RepairReport> report = Repair(one.store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_made, 0u);
  one.store.Settle();
  EXPECT_EQ(Drafts(one.store).size(), 1u);
  one.store.faults(one.server).Clear();
  report = Repair(one.store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ExpectWhole(one.store, one.bytes);
}

// Repairs of several homes at a time would otherwise count on each other.
TEST(RepairRaceTest, AHomeHasAWitnessWhileItsBadArchiveIsReplaced) {
  OneObject one;
  const ObjectPath path = TestStore::Path("/o");
  for (const MemberIndex home : one.store.engine().Homes(path)) {
    const std::optional<State> there = ArchiveOn(one.store, home);
    if (!there) continue;
    // The first rename is that of the witness.
    one.store.faults(home).Add({.operation = Operation::kRename, .path_contains = "/y.", .first = 2});
    const Placed placed = PlaceOn(one.store, home, true, there);
    EXPECT_FALSE(placed.status);
    EXPECT_TRUE(placed.keep_draft);
    const Result<States> states = SyncWait(ListStates(one.store.engine(), home, path));
    ASSERT_TRUE(states);
    EXPECT_FALSE(ArchiveInPlace(*states, VersionOf(one.store)));
    EXPECT_EQ(HighestAccepted(*states).version, VersionOf(one.store).version);
    return;
  }
  FAIL() << "no home has an archive";
}

// A server that hangs, or a process that is stopped, writes to no draft meanwhile.
TEST(RepairRaceTest, TheCleanerLeavesADraftOfTheVersionForAsLongAsAnUpload) {
  for (const bool given_up : {false, true}) {
    TestStore::Options of_store{.geometry = kSmall};
    of_store.engine.operation_limit = Duration(0);
    if (given_up) of_store.engine.upload_grace = Duration(0);
    TestStore store(of_store);
    ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
    store.Settle();
    State draft = DraftOf(store.engine(), VersionOf(store));
    State older = draft;
    --older.version->clock;
    for (const State& state : {draft, older}) {
      ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(), store.engine().server(0),
                                      StatePath(TestStore::Path("/o"), FormatState(state)), "", true)));
    }
    const int64_t written = store.engine().executor().WallNow() / 1000;
    while (store.engine().executor().WallNow() / 1000 <= written) std::this_thread::yield();
    ASSERT_TRUE(SyncWait(CleanName(store.engine(), TestStore::Path("/o"))));
    const auto drafts = Drafts(store);
    EXPECT_EQ(drafts.size(), given_up ? 0u : 1u);
    for (const auto& [server, path] : drafts) EXPECT_THAT(path, HasSubstr(FormatState(draft)));
  }
}

class HungCopyTest : public testing::TestWithParam<Operation> {};

// It held the repair, and all others behind it, for as long as a write may take.
TEST_P(HungCopyTest, AServerThatHangsIsGivenUp) {
  TestStore::Options of_store{.geometry = kSmall};
  of_store.engine.metadata_timeout = std::chrono::milliseconds(400);
  of_store.engine.operation_limit = std::chrono::milliseconds(400);
  of_store.engine.write_timeout = std::chrono::seconds(60);
  TestStore store(of_store);
  const std::string bytes = TestBytes(200'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (const size_t lane : {size_t{1}, size_t{3}}) {
    store.memory(archives[lane].first).Tamper(archives[lane].second, [](std::string& content) {
      content[5000] ^= 1;
    });
  }
  const size_t hung = archives[1].first;
  store.faults(hung).Add({.kind = FaultKind::kHang, .operation = GetParam(), .path_contains = "/y."});
  const auto started = std::chrono::steady_clock::now();
  Result<RepairReport> report = Repair(store);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_bad, 2u);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_THAT(report->problems[0], HasSubstr("late"));
  EXPECT_EQ(store.faults(hung).injected(), 1u) << "asked for something more";
  EXPECT_TRUE(store.memory(hung).Content(archives[1].second)) << "the bad one may go only for a copy";
  store.faults(hung).Clear();
  store.faults(hung).DropHung();
  store.Settle();
  EXPECT_TRUE(Drafts(store).empty());
  report = Repair(store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  ExpectWhole(store, bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

INSTANTIATE_TEST_SUITE_P(Requests, HungCopyTest, testing::Values(Operation::kWrite, Operation::kSync));

// More is missing than parity makes good, and a home that may know where it is is away. A report that called
// the servers silent that answer, but do not have their archives, made operators call them gone.
TEST(RepairTest, ServersThatAnswerAreNotCalledSilent) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  std::optional<MemberIndex> away;
  size_t removed = 0;
  for (const auto& [server, path] : store.Archives("/o")) {
    const auto member = static_cast<MemberIndex>(server);
    if (!away && Contains(homes, member)) {
      away = member;
    } else if (removed < 2) {
      ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), store.engine().server(member), path)));
      ++removed;
    }
  }
  ASSERT_TRUE(away);
  store.memory(*away).SetDown(true);
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_THAT(report->silent, testing::ElementsAre(*away));
  EXPECT_EQ(report->archives_bad, 2u);
  EXPECT_THAT(report->problems, testing::Not(testing::IsEmpty()));
}

// Two repairs made a copy of the lane, on servers that the manifest does not name, and one of them went bad
// since (simulator, seed 61809).
TEST(RepairTest, ABadCopyBesideAnotherOneGoes) {
  for (const bool first : {false, true}) {
    OneObject object;
    TestStore& store = object.store;
    std::vector<size_t> spares;
    for (size_t server = 0; server < store.engine().server_count(); ++server) {
      if (!ArchiveOn(store, static_cast<MemberIndex>(server))) spares.push_back(server);
    }
    ASSERT_EQ(spares.size(), 2u);
    const std::string archive = *store.memory(object.server).Content(object.path);
    for (const size_t spare : spares)
      ASSERT_TRUE(SyncWait(CreateFile(store.engine().MetadataCall(),
                                      store.engine().server(static_cast<MemberIndex>(spare)), object.path,
                                      archive, true)));
    ASSERT_TRUE(
        SyncWait(Remove(store.engine().MetadataCall(), store.engine().server(object.server), object.path)));
    const size_t bad = first ? spares[0] : spares[1];
    store.memory(bad).Tamper(object.path, [](std::string& content) { content[5000] ^= 1; });
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->problems.size(), 0u) << testing::PrintToString(report->problems);
    ExpectWhole(store, object.bytes);
  }
}

}  // namespace
}  // namespace xec
