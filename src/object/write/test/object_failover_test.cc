// SPDX-License-Identifier: LGPL-3.0-or-later
// Servers that die, hang, fill up or fail while an object is written: its lanes go on on spares.
#include <future>
#include <thread>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "commit/engine/access.hh"
#include "commit/engine/tidy_given_up.hh"
#include "object/test/test_object.hh"
#include "object/test/test_upload.hh"

namespace xec {
namespace {

using testing::HasSubstr;

enum class Ill { kDown, kFull, kReadOnly, kHung, kWritesLost };

void MakeIll(TestStore& store, size_t server, Ill ill) {
  switch (ill) {
    case Ill::kDown: store.memory(server).SetDown(true); break;
    case Ill::kFull: store.faults(server).SetFull(true); break;
    case Ill::kReadOnly: store.faults(server).SetReadOnly(true); break;
    case Ill::kHung: store.faults(server).Add({.kind = FaultKind::kHang}); break;
    case Ill::kWritesLost:
      store.faults(server).Add({.kind = FaultKind::kFailBefore, .operation = Operation::kWrite});
      break;
  }
}

void Cure(TestStore& store, size_t server) {
  store.memory(server).SetDown(false);
  store.faults(server).Clear();
  store.faults(server).DropHung();
}

class FailoverTest : public testing::TestWithParam<Ill> {};

TEST_P(FailoverTest, TwoServersInMidStream) {
  TestStore store(Impatient());
  Upload upload(store, 20 * kStripe + 11'111);
  upload.FirstHalf();
  const std::vector<size_t> servers = upload.Servers();
  ASSERT_EQ(servers.size(), 6u);
  const std::vector<size_t> bad = {servers[1], servers[4]};
  MakeIll(store, bad[0], GetParam());
  upload.Append(upload.bytes().size() / 2, upload.bytes().size() / 2 + 5 * kStripe);
  MakeIll(store, bad[1], GetParam());
  upload.Append(upload.bytes().size() / 2 + 5 * kStripe, upload.bytes().size());
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  ExpectWhole(store, bad, upload.bytes());
  for (const size_t server : bad) store.faults(server).DropHung();
  EXPECT_TRUE(store.BudgetReturned());
}

// Of two servers that were late together the second one was given up though it answered while the first one's
// lane went on on a spare.
TEST(FailoverTest, WhoAnswersWhileAnotherLaneMovesIsKept) {
  TestStore::Options options = Impatient();
  options.engine.failover_delay = std::chrono::milliseconds(300);
  TestStore store(options);
  WriteOptions one_may_be_missing;
  one_may_be_missing.archives_min = 5;
  Upload upload(store, 12 * kStripe, one_may_be_missing);
  upload.FirstHalf();
  std::vector<size_t> servers = upload.Servers();
  ASSERT_EQ(servers.size(), 6u);
  FaultRule hang{.kind = FaultKind::kHang, .operation = Operation::kWrite, .count = 1};
  store.faults(servers[0]).Add(hang);
  store.faults(servers[1]).Add(hang);
  hang.operation = Operation::kCreate;
  std::vector<size_t> spares;
  for (size_t i = 0; i < store.server_count(); ++i) {
    if (!Contains(servers, i)) spares.push_back(i);
  }
  for (const size_t spare : spares) store.faults(spare).Add(hang);
  auto rest = std::async(std::launch::async, [&] {
    upload.SecondHalf();
    return upload.Commit();
  });
  const auto asked = [&](size_t spare) { return store.faults(spare).hung() > 0; };
  while (std::none_of(spares.begin(), spares.end(), asked)) std::this_thread::yield();
  for (size_t i = 0; i < 2; ++i) store.faults(servers[i]).ReleaseHung();
  const Result<Committed> committed = rest.get();
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_EQ(committed->debts.size(), 1u);
  EXPECT_TRUE(*store.Get("/o") == upload.bytes());
  for (const size_t spare : spares) store.faults(spare).DropHung();
}

// Where it could not be removed at once, it goes when the server is well again.
TEST_P(FailoverTest, NothingStaysOnServersThatWereGivenUp) {
  TestStore store(Impatient());
  Upload upload(store, 20 * kStripe + 11'111);
  upload.FirstHalf();
  const std::vector<size_t> servers = upload.Servers();
  ASSERT_EQ(servers.size(), 6u);
  const std::vector<size_t> bad = {servers[1], servers[4]};
  for (const size_t server : bad) MakeIll(store, server, GetParam());
  upload.SecondHalf();
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  for (const size_t server : bad) Cure(store, server);
  store.Settle();
  Engine& engine = store.engine();
  const TimePoint give_up = engine.executor().Now() + std::chrono::seconds(30);
  while (engine.given_up_files().size() > 0 && engine.executor().Now() < give_up) {
    store.scope().Spawn(TidyGivenUpFiles(engine));
    store.Settle();
  }
  EXPECT_EQ(engine.given_up_files().size(), 0u);
  for (const auto& [server, path] : store.Archives("/o")) {
    for (const size_t given_up : bad) EXPECT_NE(server, given_up) << path;
  }
  ExpectWhole(store, bad, upload.bytes());
}

TEST_P(FailoverTest, ServersBadFromTheBeginning) {
  for (const size_t size : {size_t{20'000}, 4 * kStripe}) {
    TestStore store(Impatient());
    const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
    const std::vector<size_t> bad = {homes[0], homes[2]};
    Upload upload(store, size);
    for (const size_t server : bad) MakeIll(store, server, GetParam());
    upload.FirstHalf();
    upload.SecondHalf();
    const Result<Committed> committed = upload.Commit();
    ASSERT_TRUE(committed) << committed.error().ToString();
    ExpectWhole(store, bad, upload.bytes());
    for (const size_t server : bad) store.faults(server).DropHung();
  }
}

TEST_P(FailoverTest, AServerAsTheArchivesAreSealed) {
  for (const size_t size : {size_t{20'000}, 6 * kStripe + 1}) {
    TestStore store(Impatient());
    Upload upload(store, size);
    upload.FirstHalf();
    upload.SecondHalf();
    const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
    // The first sync: all but the end is written.
    const FaultKind kind = GetParam() == Ill::kHung ? FaultKind::kHang : FaultKind::kFailBefore;
    store.faults(homes[1]).Add({.kind = kind, .operation = Operation::kSync});
    const Result<Committed> committed = upload.Commit();
    ASSERT_TRUE(committed) << committed.error().ToString();
    store.memory(homes[1]).SetDown(true);
    ExpectWhole(store, {homes[1]}, upload.bytes());
    // All archives name the server that took the lane.
    Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
    ASSERT_TRUE(reader);
    const std::string bad = store.engine().server_id(homes[1]);
    for (const auto& [server, path] : store.Archives("/o")) {
      if (server == homes[1]) continue;
      EXPECT_THAT(*store.memory(server).Content(path), testing::Not(HasSubstr(bad))) << server;
    }
    store.faults(homes[1]).DropHung();
  }
}

// Its archive is synced, and counts.
TEST(FailoverTest, NobodyWaitsForAServerThatStopsBeforeItClosesAnArchive) {
  TestStore::Options options = Impatient();
  options.engine.metadata_timeout = std::chrono::hours(1);
  TestStore store(options);
  Upload upload(store, 6 * kStripe + 1);
  upload.FirstHalf();
  upload.SecondHalf();
  const MemberIndex stopped = store.engine().Homes(TestStore::Path("/o"))[1];
  store.faults(stopped).Add({.kind = FaultKind::kHang, .operation = Operation::kClose});
  auto commit = std::async(std::launch::async, [&] { return upload.Commit(); });
  XEC_CHECK(commit.wait_for(std::chrono::seconds(60)) == std::future_status::ready,
            "the upload waits for its deadline");
  const Result<Committed> committed = commit.get();
  ASSERT_TRUE(committed) << committed.error().ToString();
  ExpectWhole(store, {}, upload.bytes());
  store.faults(stopped).DropHung();
}

// It has acknowledged its archive, which becomes what the others are when the server is back. All are wanted.
void ExpectThatWhoDiesInClosingHasItsArchive(SyncPolicy sync) {
  TestStore::Options options = Impatient();
  options.sync = sync;
  TestStore store(options);
  Upload upload(store, 6 * kStripe + 1);
  upload.FirstHalf();
  upload.SecondHalf();
  const MemberIndex dead = store.engine().Homes(TestStore::Path("/o"))[1];
  store.faults(dead).Add({.operation = Operation::kClose});
  store.faults(dead).Add({.operation = Operation::kList});
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  store.faults(dead).Clear();
  while (store.engine().given_up_files().size() > 0) SyncWait(TidyGivenUpFiles(store.engine()));
  for (const auto& [server, path] : store.Archives("/o")) EXPECT_THAT(path, HasSubstr("/p."));
  ExpectWhole(store, {}, upload.bytes());
}

TEST(FailoverTest, AServerThatDiesAsItClosesASyncedArchiveHasIt) {
  ExpectThatWhoDiesInClosingHasItsArchive(SyncPolicy::kCommit);
}

TEST(FailoverTest, AServerThatDiesAsItClosesAnArchiveHasIt) {
  ExpectThatWhoDiesInClosingHasItsArchive(SyncPolicy::kNone);
}

// Its seal would look like another upload under way once the version that the others became has moved away.
TEST(FailoverTest, AnArchiveThatIsLostAsItIsClosedLeavesNoSeal) {
  TestStore::Options options = Impatient();
  options.sync = SyncPolicy::kNone;
  TestStore store(options);
  WriteOptions one_may_be_missing;
  one_may_be_missing.archives_min = 5;
  Upload upload(store, 6 * kStripe + 1, one_may_be_missing);
  upload.FirstHalf();
  upload.SecondHalf();
  const MemberIndex bad = store.engine().Homes(TestStore::Path("/o"))[1];
  const Error delayed = Fail(Code::kUnreadable, "what was written did not come to the disk");
  store.faults(bad).Add({.operation = Operation::kClose, .error = delayed});
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  store.faults(bad).Clear();
  while (store.engine().given_up_files().size() > 0) SyncWait(TidyGivenUpFiles(store.engine()));
  for (const auto& [server, path] : store.Archives("/o")) EXPECT_NE(server, bad) << path;
  const Result<std::string> read = store.Get("/o");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(*read == upload.bytes());
}

// What it leaves on the others would keep an exclusive creation waiting as long.
TEST(FailoverTest, AnUploadIsGivenUpWithoutWaitingForAServerThatHangs) {
  TestStore::Options options = Impatient();
  options.engine.metadata_timeout = std::chrono::hours(1);
  TestStore store(options);
  Upload upload(store, 6 * kStripe + 1);
  upload.FirstHalf();
  const MemberIndex hung = store.engine().Homes(TestStore::Path("/o"))[1];
  store.faults(hung).Add({.kind = FaultKind::kHang});
  auto abandon = std::async(std::launch::async, [&] { upload.Abandon(); });
  XEC_CHECK(abandon.wait_for(std::chrono::seconds(60)) == std::future_status::ready,
            "the end of the upload waits for its deadline");
  for (const auto& [server, path] : store.Archives("/o")) EXPECT_EQ(server, hung) << path;
  store.faults(hung).DropHung();
}

INSTANTIATE_TEST_SUITE_P(Kinds, FailoverTest,
                         testing::Values(Ill::kDown, Ill::kFull, Ill::kReadOnly, Ill::kHung,
                                         Ill::kWritesLost));

// What is missing is written beside what is new: after as many stripes more it is all there again.
TEST(FailoverTest, OneServerAfterAnotherAsLongAsThereAreSpares) {
  TestStore store(Impatient(12));
  constexpr size_t kStripes = 200;
  Upload upload(store, kStripes * kStripe);
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/o"));
  std::vector<size_t> bad;
  size_t at = 0;
  for (const size_t until : {5, 12, 26, 54, 110}) {
    upload.Append(at * kStripe, until * kStripe);
    at = until;
    for (const size_t server : upload.Servers()) {
      const bool home = Contains(homes, server);
      if (Contains(bad, server)) continue;
      // Two of five homes may be missing.
      if (home && bad.size() >= 2) continue;
      MakeIll(store, server, Ill::kWritesLost);
      bad.push_back(server);
      break;
    }
  }
  upload.Append(at * kStripe, kStripes * kStripe);
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  ExpectWhole(store, bad, upload.bytes());
}

TEST(FailoverTest, WithoutSparesTheLaneIsADebtIfTheOptionsAllowIt) {
  for (const size_t archives_min : {0, 5}) {
    TestStore store(Impatient(6));
    WriteOptions options;
    options.archives_min = archives_min;
    Upload upload(store, 10 * kStripe, options);
    upload.FirstHalf();
    const size_t bad = upload.Servers()[3];
    store.memory(bad).SetDown(true);
    upload.SecondHalf();
    const Result<Committed> committed = upload.Commit();
    ASSERT_EQ(committed.has_value(), archives_min == 5);
    if (!committed) {
      EXPECT_EQ(committed.code(), Code::kUnavailable);
      EXPECT_THAT(committed.error().message, HasSubstr(fmt::format("s{:02}: ", bad)));
      continue;
    }
    EXPECT_EQ(committed->debts.size(), 1u);
    EXPECT_TRUE(*store.Get("/o") == upload.bytes());
  }
}

TEST(FailoverTest, MoreBadServersThanParityAreAnError) {
  TestStore store(Impatient(9));
  Upload upload(store, 10 * kStripe);
  upload.FirstHalf();
  const std::vector<size_t> servers = upload.Servers();
  for (size_t i = 0; i < 3; ++i) store.memory(servers[i]).SetDown(true);
  upload.SecondHalf();
  const Result<Committed> committed = upload.Commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.code(), Code::kUnavailable) << committed.error().ToString();
  EXPECT_TRUE(store.BudgetReturned());
}

// Where an archive is re-created on a server that the others do not name, its stripes are asked for twice,
// with memory for one at a time.
TEST(FailoverTest, AnArchiveElsewhereIsVerifiedWithLittleMemory) {
  TestStore::Options options = Impatient();
  options.engine.memory_bytes = 140 * kKiB;
  TestStore store(options);
  const std::string bytes = TestBytes(3 * kStripe);
  ASSERT_TRUE(store.Put("/o", bytes));
  const std::vector<std::pair<size_t, std::string>> archives = store.Archives("/o");
  std::vector<bool> named(store.server_count());
  for (const auto& [server, path] : archives) named[server] = true;
  const auto spare = static_cast<MemberIndex>(std::find(named.begin(), named.end(), false) - named.begin());
  const auto& [lost, path] = archives[2];
  std::string content = *store.memory(lost).Content(path);
  store.memory(lost).Wipe();
  const CallContext call = store.engine().MetadataCall();
  ASSERT_TRUE(SyncWait(CreateFile(call, store.engine().server(spare), path, std::move(content), true)));
  ExpectWhole(store, {lost}, bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

TEST(FailoverTest, DamageDuringTheUploadIsNotDecodedIntoTheSpare) {
  TestStore store(Impatient(9));
  Upload upload(store, 10 * kStripe);
  upload.FirstHalf();
  const std::vector<size_t> servers = upload.Servers();
  for (const auto& [server, path] : store.Archives("/o")) {
    if (server != servers[0]) continue;
    store.memory(server).Tamper(path, [](std::string& content) { content[3000] ^= 1; });
  }
  store.memory(servers[3]).SetDown(true);
  upload.SecondHalf();
  const Result<Committed> committed = upload.Commit();
  ASSERT_TRUE(committed) << committed.error().ToString();
  // Whether the damaged chunk was among those read back or not: nothing wrong is in the new archive.
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader);
  size_t corrupt = 0;
  ASSERT_TRUE(SyncWait((*reader)->Verify([&](const ChunkReport& chunk) {
    if (chunk.health == ChunkHealth::kGood) return;
    ++corrupt;
    EXPECT_EQ(chunk.server, servers[0]) << chunk.problem;
  })));
  EXPECT_LE(corrupt, 1u);
  EXPECT_TRUE(*store.Get("/o") == upload.bytes());
}

// A home whose disk is full takes the file but not its end: another one takes its place, and counts for it.
TEST(FailoverTest, AnEmptyObjectIsWrittenPastAFullHome) {
  TestStore store({.geometry = Geometry{2, 1, 8 * kKiB}});
  const MemberIndex full = store.engine().Homes(TestStore::Path("/o")).front();
  store.faults(full).Add(
      {.operation = Operation::kWrite, .error = Fail(Code::kNoSpace, "no space left on device")});
  const Result<Committed> committed = store.Put("/o", "");
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_GE(store.faults(full).injected(), 1u);
  const Result<std::string> read = store.Get("/o");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(*read, "");
}

// Small objects are sealed on no more homes than they need.
TEST(FailoverTest, AHomeThatDiesOnceItHasSealedIsReplaced) {
  for (const bool exclusive : {false, true}) {
    TestStore probe({.geometry = kSmall});
    for (const MemberIndex home : probe.engine().Homes(TestStore::Path("/o"))) {
      TestStore store({.geometry = kSmall});
      store.faults(home).Add({.operation = Operation::kList, .path_contains = "/o."});
      WriteOptions options;
      options.only_if.absent = exclusive;
      Upload upload(store, 7, std::move(options));
      upload.Append(0, 7);
      const Result<Committed> committed = upload.Commit();
      EXPECT_TRUE(committed) << "s" << home << ": " << committed.error().ToString();
    }
  }
}

// The only other home was silent when the look after sealing began: nobody knew that it would be well again.
void ExpectReplacedByOneThatIsBack(FaultKind kind) {
  TestWorld world({});
  TestWorld::Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const ObjectPath path = TestWorld::Path("/o");
  const Homes homes = engine.Homes(path);
  FaultPlan& away = gateway.faults[homes[2]]->plan();
  away.Add({.kind = FaultKind::kHang});
  (void)world.Run(ListStates(engine, homes[2], path));
  world.Pass(std::chrono::seconds(2));
  ASSERT_GE(engine.Rank(homes[2]), ServerHealth::kRankSuspect);
  gateway.faults[homes[0]]->plan().Add({.kind = kind, .operation = Operation::kList});
  const TimePoint start = world.executor.Now();
  std::optional<TimePoint> written;
  const auto put = [&]() -> Task<void> {
    auto writer = co_await ObjectWriter::Start(engine, path, {});
    (void)co_await (*writer)->Append(AsBytes(std::string_view("content")));
    const Result<Committed> committed = co_await (*writer)->Commit();
    EXPECT_TRUE(committed) << committed.error().ToString();
    written = world.executor.Now();
  };
  gateway.scope.Spawn(put());
  world.Pass(std::chrono::milliseconds(1500));
  EXPECT_FALSE(written);
  away.Clear();
  away.ReleaseHung();
  world.Pass(std::chrono::seconds(20));
  ASSERT_TRUE(written);
  EXPECT_LE(*written - start, std::chrono::seconds(5));
}
TEST(FailoverTest, AHomeThatHangsOnceItHasSealedIsReplacedByOneThatIsBack) {
  ExpectReplacedByOneThatIsBack(FaultKind::kHang);
}
TEST(FailoverTest, AHomeThatDiesOnceItHasSealedIsReplacedByOneThatIsBack) {
  ExpectReplacedByOneThatIsBack(FaultKind::kFailBefore);
}

// A home is passed over because another one looks well, which is seen to hang before it is asked (seed
// 31292).
TEST(FailoverTest, AHomeThatIsSlowIsWaitedForWhenTheOtherOneTurnsOutToHang) {
  TestWorld world({});
  TestWorld::Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const Homes homes = engine.Homes(TestWorld::Path("/d/o"));
  const auto fits = [&](const Homes& above) {
    return Contains(above, homes[2]) && !Contains(above, homes[0]);
  };
  std::string directory = "/d";
  while (!fits(engine.Homes(TestWorld::Path(directory)))) directory += "d";
  ASSERT_TRUE(world.Run(MakeDirectoryName(engine, TestWorld::Path(directory), false)));
  world.Pass(std::chrono::minutes(2));

  auto writer = world.Run(ObjectWriter::Start(engine, TestWorld::Path(directory + "/o"), {},
                                              ParentNeed{.begun = engine.executor().Now()}));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(world.Run((*writer)->Append(AsBytes(std::string_view("content")))));
  gateway.faults[homes[0]]->plan().Add({.kind = FaultKind::kDelay,
                                        .operation = Operation::kList,
                                        .count = 1,
                                        .delay = std::chrono::milliseconds(300)});
  for (const MemberIndex above : engine.Homes(TestWorld::Path(directory))) {
    if (above == homes[2]) continue;
    gateway.faults[above]->plan().Add({.kind = FaultKind::kDelay,
                                       .operation = Operation::kList,
                                       .path_contains = directory + ".",
                                       .delay = std::chrono::milliseconds(400)});
  }
  gateway.faults[homes[2]]->plan().Add({.kind = FaultKind::kHang});
  const TimePoint start = world.executor.Now();
  const Result<Committed> committed = world.Run((*writer)->Commit());
  EXPECT_TRUE(committed) << committed.error().ToString();
  EXPECT_LE(world.executor.Now() - start, std::chrono::seconds(3));
  gateway.faults[homes[2]]->plan().DropHung();
}

}  // namespace
}  // namespace xec
