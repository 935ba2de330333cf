// SPDX-License-Identifier: LGPL-3.0-or-later
// Objects whose archives have not followed a rename yet: the homes of the new name show witnesses only.
#include <gmock/gmock.h>

#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "commit/engine/access.hh"
#include "commit/rename/rename.hh"
#include "commit/steps/manifest_text.hh"
#include "object/test/test_object.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Archives stay where they are from now on, on these servers.
void HoldArchives(TestStore& store, const std::vector<size_t>& servers) {
  for (const size_t server : servers) {
    FaultRule rule;
    rule.operation = Operation::kRename;
    rule.path_contains = "/p.";
    store.faults(server).Add(rule);
  }
}

std::vector<size_t> All(const TestStore& store) {
  std::vector<size_t> all;
  for (size_t i = 0; i < store.server_count(); ++i) all.push_back(i);
  return all;
}

Status Rename(TestStore& store, const std::string& from, const std::string& to) {
  Status renamed = SyncWait(RenameObject(store.engine(), TestStore::Path(from), TestStore::Path(to)));
  store.Settle();
  return renamed;
}

// Any two servers but `up`.
void ExpectReadWithTwoDown(TestStore& store, const std::string& bytes, size_t up) {
  for (size_t one = 0; one < store.server_count(); ++one) {
    for (size_t other = 0; other < one; ++other) {
      if (one == up || other == up) continue;
      store.memory(one).SetDown(true);
      store.memory(other).SetDown(true);
      const Result<std::string> got = store.Get("/b");
      EXPECT_TRUE(got && *got == bytes)
          << one << " and " << other << " down: " << (got ? "" : got.error().message);
      store.memory(one).SetDown(false);
      store.memory(other).SetDown(false);
    }
  }
}

class MovedObjectTest : public testing::TestWithParam<size_t> {};

TEST_P(MovedObjectTest, IsReadWhereItsArchivesStillAre) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/a", bytes));
  HoldArchives(store, All(store));
  ASSERT_TRUE(Rename(store, "/a", "/b"));
  const Result<std::string> got = store.Get("/b");
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes);
}

TEST_P(MovedObjectTest, IsReadWithArchivesAtBothNames) {
  for (size_t held = 0; held < 8; ++held) {
    TestStore store({.geometry = kSmall});
    const std::string bytes = TestBytes(GetParam());
    ASSERT_TRUE(store.Put("/a", bytes));
    HoldArchives(store, {held, (held + 1) % 8, (held + 3) % 8});
    ASSERT_TRUE(Rename(store, "/a", "/b"));
    const Result<std::string> got = store.Get("/b");
    ASSERT_TRUE(got) << "held on " << held << ": " << got.error().ToString();
    EXPECT_TRUE(*got == bytes) << "held on " << held;
  }
}

TEST_P(MovedObjectTest, IsReadAfterTwoRenamesWithoutItsArchives) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/a", bytes));
  HoldArchives(store, All(store));
  ASSERT_TRUE(Rename(store, "/a", "/b"));
  ASSERT_TRUE(Rename(store, "/b", "/c"));
  const Result<std::string> got = store.Get("/c");
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes);
}

TEST_P(MovedObjectTest, IsReadByWhoOpenedItBeforeTheArchivesMoved) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/a", bytes));
  HoldArchives(store, All(store));
  ASSERT_TRUE(Rename(store, "/a", "/b"));
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/b");
  ASSERT_TRUE(reader);
  for (const size_t server : All(store)) store.faults(server).Clear();
  const Result<CleanOutcome> cleaned = SyncWait(CleanName(store.engine(), TestStore::Path("/a")));
  ASSERT_TRUE(cleaned);
  const Result<std::string> got = TestStore::Read(**reader, 0, bytes.size());
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes);
}

Task<void> Expect(Engine& engine, std::string bytes, std::optional<Status>* answer) {
  Result<NameInfo> info = co_await LookUpLive(engine, TestWorld::Path("/b"));
  EXPECT_TRUE(info);
  auto reader = co_await ObjectReader::Open(engine, std::move(*info));
  std::string got(bytes.size(), '?');
  Result<uint64_t> read = Fail(Code::kInternal, "not tried");
  if (reader) read = co_await (*reader)->Read(0, std::as_writable_bytes(std::span(got)));
  EXPECT_TRUE(!read || got == bytes);
  *answer = read ? OkStatus() : Status(reader ? read.error() : reader.error());
}

// A reader that looks for the archives while they move meets each of them at one name or the other.
TEST(MovedObjectTest, IsReadWhileItsArchivesMove) {
  for (int start = 0; start < 40; ++start) {
    TestWorld world({});
    TestWorld::Gateway& renamer = world.NewGateway();
    TestWorld::Gateway& cleaner = world.NewGateway();
    TestWorld::Gateway& gateway = world.NewGateway();
    const std::string bytes = TestBytes(150'000);
    PutObject(world, *renamer.engine, TestWorld::Path("/a"), bytes);
    for (const auto& server : renamer.faults)
      server->plan().Add({.operation = Operation::kRename, .path_contains = "/p."});
    ASSERT_TRUE(world.Run(RenameObject(*renamer.engine, TestWorld::Path("/a"), TestWorld::Path("/b"))));
    FaultRule slow{.kind = FaultKind::kDelay, .operation = Operation::kList, .path_contains = "/a.~xo"};
    slow.delay = std::chrono::milliseconds(60);
    for (const auto& server : gateway.faults) server->plan().Add(slow);
    std::optional<Status> answer;
    gateway.scope.Spawn(Expect(*gateway.engine, bytes, &answer));
    world.Pass(start * std::chrono::milliseconds(10));
    ASSERT_TRUE(world.Run(CleanName(*cleaner.engine, TestWorld::Path("/a"))));
    world.executor.RunUntil([&] { return answer.has_value(); }, 100'000);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(*answer) << start << ": " << answer->error().message;
  }
}

// A home may have the beginning of a witness only; the archive on it is as good as any other.
TEST_P(MovedObjectTest, IsReadFromBehindADamagedWitness) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/a", bytes));
  HoldArchives(store, All(store));
  ASSERT_TRUE(Rename(store, "/a", "/b"));
  const Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/b")));
  ASSERT_TRUE(info);
  const auto [damaged, states] = *info->listings.begin();
  const std::string witness = TestStore::Path("/b").ObjectDirectory() + "/" + FormatState(states.front());
  ASSERT_TRUE(store.memory(damaged).Tamper(witness, [](std::string& content) { content.clear(); }));
  ExpectReadWithTwoDown(store, bytes, damaged);
}

// A witness as one is that was copied from an archive: it does not tell the origin.
std::string WithoutOrigin(const std::string& text) {
  Result<Manifest> manifest = Manifest::Parse(text);
  EXPECT_TRUE(manifest);
  manifest->from.reset();
  const Result<std::string> plain = manifest->Serialize();
  EXPECT_TRUE(plain);
  const Result<std::vector<std::byte>> bytes = ArchiveWriter().Finish(*plain);
  EXPECT_TRUE(bytes);
  return std::string(AsText(*bytes));
}

// Leaves the origin of a moved-in object to one home; that one.
std::optional<size_t> LetOneTellTheOrigin(TestStore& store, const std::string& name) {
  std::optional<size_t> tells;
  const ObjectPath path = TestStore::Path(name);
  const std::vector<MemberIndex> homes = store.engine().Homes(path);
  for (auto home = homes.rbegin(); home != homes.rend(); ++home) {
    const auto states = SyncWait(ListStates(store.engine(), *home, path));
    EXPECT_TRUE(states);
    if (!states) return std::nullopt;
    for (State state : *states) {
      if (state.kind != StateKind::kWitness) continue;
      const std::string witness = FormatState(state);
      state.origin.clear();
      if (!std::exchange(tells, tells.value_or(*home))) continue;
      EXPECT_TRUE(SyncWait(RenameState(store.engine(), *home, path, witness, FormatState(state))));
      const std::string file = StatePath(path, FormatState(state));
      const Result<std::string> text = SyncWait(ReadManifestText(store.engine(), *home, file));
      EXPECT_TRUE(text);
      if (!text) return std::nullopt;
      const auto forget = [&](std::string& content) { content = WithoutOrigin(*text); };
      EXPECT_TRUE(store.memory(*home).Tamper(file, forget));
    }
  }
  return tells;
}

// Of an object that was renamed from /a to /b while its archives stay: the one home that tells the origin.
std::optional<size_t> MoveWithoutArchives(TestStore& store, const std::string& bytes) {
  EXPECT_TRUE(store.Put("/a", bytes));
  HoldArchives(store, All(store));
  EXPECT_TRUE(Rename(store, "/a", "/b"));
  return LetOneTellTheOrigin(store, "/b");
}

// A home that was empty may have been given a copy of an archive's manifest, which does not tell the origin.
TEST_P(MovedObjectTest, IsReadWhenOnlyOneHomeTellsItsOrigin) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  const std::optional<size_t> tells = MoveWithoutArchives(store, bytes);
  ASSERT_TRUE(tells);
  ExpectReadWithTwoDown(store, bytes, *tells);
}

// The one home has the seal of the rename still, which may become the witness that tells it.
TEST_P(MovedObjectTest, IsNotLostWhileASealMayTellItsOrigin) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  const std::optional<size_t> tells = MoveWithoutArchives(store, bytes);
  ASSERT_TRUE(tells);
  const auto home = static_cast<MemberIndex>(*tells);
  const ObjectPath path = TestStore::Path("/b");
  const auto states = SyncWait(ListStates(store.engine(), home, path));
  ASSERT_TRUE(states);
  const auto witness = std::find_if(states->begin(), states->end(),
                                    [](const State& state) { return state.kind == StateKind::kWitness; });
  ASSERT_NE(witness, states->end());
  State seal;
  seal.kind = StateKind::kMoveIn;
  seal.oid = witness->origin;
  ASSERT_TRUE(SyncWait(RenameState(store.engine(), home, path, FormatState(*witness), FormatState(seal))));
  const Result<std::string> got = store.Get("/b");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kUnavailable) << got.error().message;
}

// The one home does not answer at first. A reader that has the object open must not take the bytes for lost
// then, nor later.
TEST_P(MovedObjectTest, IsNotLostWhileTheHomeThatTellsItsOriginIsAway) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  const std::optional<size_t> tells = MoveWithoutArchives(store, bytes);
  ASSERT_TRUE(tells);
  FaultRule silent;
  silent.path_contains = "/b.";
  store.faults(*tells).Add(silent);
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/b");
  Result<std::string> got = Fail(Code::kUnavailable, "not opened");
  if (reader) got = TestStore::Read(**reader, 0, bytes.size());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kUnavailable) << got.error().message;
  const auto is_not_called_missing = [](const ChunkReport& line) {
    EXPECT_NE(line.health, ChunkHealth::kMissing) << line.problem;
  };
  if (reader) {
    EXPECT_TRUE(SyncWait((*reader)->Verify(is_not_called_missing)));
  }
  store.faults(*tells).Clear();
  HoldArchives(store, {*tells});
  if (!reader) reader = store.OpenReader("/b");
  ASSERT_TRUE(reader) << reader.error().ToString();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!got && got.code() == Code::kUnavailable && std::chrono::steady_clock::now() < give_up)
    got = TestStore::Read(**reader, 0, bytes.size());
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(*got == bytes);
}

// None of the servers that are searched for a stray archive has one. From where the object could have been
// moved is asked once for all of them.
TEST(DegradedObjectTest, AsksForItsOriginOnce) {
  TestStore store({.geometry = kSmall, .servers = 12});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/a", bytes));
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/a");
  ASSERT_TRUE(reader);
  const std::vector<MemberIndex> homes = store.engine().Homes(TestStore::Path("/a"));
  store.memory(homes[0]).SetDown(true);
  for (const size_t server : All(store))
    store.faults(server).Add(
        {.kind = FaultKind::kDelay, .operation = Operation::kList, .delay = std::chrono::milliseconds(20)});
  store.counts().Reset();
  const Status status = SyncWait((*reader)->Verify([](const ChunkReport&) {}));
  EXPECT_TRUE(status) << status.error().ToString();
  // Each of them is listed, and the homes are asked, at the worst once for each: has the object been moved
  // since?
  const size_t searched = store.server_count() - kSmall.Total();
  EXPECT_LE(store.counts().Of(Operation::kList), searched * (1 + homes.size()) + homes.size());
}

TEST_P(MovedObjectTest, HasNothingBadToReport) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/a", TestBytes(GetParam())));
  HoldArchives(store, All(store));
  ASSERT_TRUE(Rename(store, "/a", "/b"));
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/b");
  ASSERT_TRUE(reader);
  std::vector<std::string> problems;
  const Status status = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
    if (report.health != ChunkHealth::kGood) problems.push_back(report.problem);
  }));
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_THAT(problems, testing::IsEmpty());
}

// Has the same homes as /a.
constexpr char kSameHomes[] = "/d/a";

// Witnesses there that name the rename that brought them: (server, path).
std::vector<std::pair<size_t, std::string>> MovedInWitnesses(const TestStore& store) {
  std::vector<std::pair<size_t, std::string>> witnesses;
  for (const auto& [server, path] : store.Archives(kSameHomes)) {
    const std::optional<State> state = ParseState(path.substr(path.rfind('/') + 1));
    if (state && state->kind == StateKind::kWitness && !state->origin.empty())
      witnesses.emplace_back(server, path);
  }
  return witnesses;
}

void Empty(TestStore& store, const std::vector<std::pair<size_t, std::string>>& files) {
  for (const auto& [server, path] : files)
    ASSERT_TRUE(store.memory(server).Tamper(path, [](std::string& content) { content.clear(); }));
}

// How a lane looks whose archive is nowhere.
ChunkHealth HealthOfLost(TestStore& store) {
  for (const auto& [server, path] : store.Archives(kSameHomes)) {
    if (path.find("/p.") == std::string::npos) continue;
    const auto member = static_cast<MemberIndex>(server);
    EXPECT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), store.engine().server(member), path)));
    break;
  }
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader(kSameHomes);
  if (!reader) return ChunkHealth::kGood;
  ChunkHealth health = ChunkHealth::kGood;
  const Status status = SyncWait((*reader)->Verify([&](const ChunkReport& report) {
    if (report.health != ChunkHealth::kGood) health = report.health;
  }));
  EXPECT_TRUE(status) << status.error().ToString();
  return health;
}

// A home that accepted the rename with an empty witness keeps it; where all others show that the rename is
// complete, it does not hide for ever that an archive is lost.
TEST(DamagedWitnessTest, IsKnownToBeLostBehindADamagedWitness) {
  TestStore::Options options{.geometry = kSmall};
  options.engine.superseded_grace = {};
  TestStore store(options);
  ASSERT_TRUE(store.Put("/a", TestBytes(1000)));
  ASSERT_TRUE(Rename(store, "/a", kSameHomes));
  // On the homes without an archive they stay. What was chosen within this very millisecond is not swept yet.
  for (int pass = 0; pass < 100 && MovedInWitnesses(store).size() > 2; ++pass) {
    ASSERT_TRUE(SyncWait(CleanName(store.engine(), TestStore::Path("/a"))));
    ASSERT_TRUE(SyncWait(CleanName(store.engine(), TestStore::Path(kSameHomes))));
  }
  const auto witnesses = MovedInWitnesses(store);
  ASSERT_THAT(witnesses, testing::SizeIs(2));
  Empty(store, witnesses);
  EXPECT_EQ(HealthOfLost(store), ChunkHealth::kMissing);
}

TEST(DamagedWitnessTest, IsNotTakenForLostWhileItsRenameMayGoOn) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/a", TestBytes(1000)));
  ASSERT_TRUE(Rename(store, "/a", kSameHomes));
  Empty(store, MovedInWitnesses(store));
  EXPECT_EQ(HealthOfLost(store), ChunkHealth::kUnavailable);
}

// One chunk (three archives, all on homes), one stripe, several.
INSTANTIATE_TEST_SUITE_P(Sizes, MovedObjectTest, testing::Values(1000, 32 * kKiB, 100'000));

}  // namespace
}  // namespace xec
