// SPDX-License-Identifier: LGPL-3.0-or-later
// Readers and processes that live on while archives are repaired, or were written anew elsewhere.
#include <algorithm>

#include "object/repair/test/test_repair.hh"
#include "object/test/test_object.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The checksum of a page that was not asked for may be damaged; what was read of it stays in memory for as
// long as the process lives.
TEST(ReaderLivesOnTest, DamagedPageChecksumsAreForgottenOnceTheyAreRepaired) {
  for (const bool vector : {false, true}) {
    SCOPED_TRACE(vector);
    TestStore store({.geometry = kSmall});
    const std::string bytes = TestBytes(100'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto archives = store.Archives("/o");
    size_t damaged = store.server_count();
    for (const auto& [server, path] : archives) {
      const size_t data = store.memory(server).Content(path)->find(bytes.substr(0, 64));
      if (data == std::string::npos) continue;
      damaged = server;
      store.memory(server).Tamper(path, [&](std::string& content) { content[data - 1] ^= 1; });
    }
    ASSERT_LT(damaged, store.server_count());
    const auto read = [&](uint64_t at) -> Result<std::string> {
      Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
      if (!reader || !vector) return reader ? TestStore::Read(**reader, at, 100) : reader.error();
      std::string got(100, '?');
      std::vector<ObjectReader::Piece> pieces = {{at, std::as_writable_bytes(std::span(got))}};
      const Status status = SyncWait((*reader)->ReadVector(std::move(pieces)));
      if (!status) return status.error();
      return got;
    };
    ASSERT_TRUE(*read(0) == bytes.substr(0, 100)) << "a good page";
    ASSERT_EQ(Repair(store)->archives_made, 1u);
    size_t down = 0;
    for (const auto& [server, path] : archives) {
      if (server != damaged && down < 2) store.memory(server).SetDown(true), ++down;
    }
    const Result<std::string> got = read(5000);
    ASSERT_TRUE(got) << got.error().ToString();
    EXPECT_TRUE(*got == bytes.substr(5000, 100)) << "the other page of the chunk";
  }
}

// 3+2 on 8 servers.
class LongReaderTest : public testing::Test {
 protected:
  LongReaderTest() : world_({.servers = 8, .tolerance = 2}), gateway_(world_.NewGateway()) {
    PutObject(world_, engine(), path_, bytes_);
    holders_ = HoldersOf(world_, engine(), *Open());
  }

  Engine& engine() { return *gateway_.engine; }
  std::shared_ptr<ObjectReader> Open() { return OpenObject(world_, engine(), path_); }
  // Ok: all bytes are right.
  Status Read(ObjectReader& reader, size_t stripe) {
    std::string got(kStripe, '?');
    const Result<uint64_t> read =
        world_.Run(reader.Read(stripe * kStripe, std::as_writable_bytes(std::span(got))));
    if (!read) return read.error();
    EXPECT_TRUE(got == bytes_.substr(stripe * kStripe, kStripe));
    return OkStatus();
  }
  Status Read(ObjectReader& reader) {
    const Status first = Read(reader, 0);
    return first ? Read(reader, 1) : first;
  }
  std::string ArchiveOn(MemberIndex server) const {
    for (const auto& [path, size] : world_.memory[server]->Files())
      if (path.starts_with(path_.ObjectDirectory() + "/")) return path;
    return "";
  }
  void LoseArchiveOf(size_t lane) {
    const MemberIndex server = holders_[lane];
    const auto call = engine().MetadataCall();
    XEC_CHECK(world_.Run(Remove(call, engine().server(server), ArchiveOn(server))).has_value());
  }
  // In the first stripe.
  void Damage(size_t lane) {
    const MemberIndex server = holders_[lane];
    world_.memory[server]->Tamper(ArchiveOn(server), [](std::string& content) { content[5000] ^= 1; });
  }
  void DoRepair() {
    Result<NameInfo> info = world_.Run(LookUpLive(engine(), path_));
    XEC_CHECK(info.has_value());
    const Result<RepairReport> report = world_.Run(RepairObject(engine(), std::move(*info), {}));
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->archives_made, 1u);
  }

  // The lane goes to a spare.
  void CopyElsewhere(size_t lane = 0) {
    LoseArchiveOf(lane);
    gateway_.faults[holders_[lane]]->plan().SetFull(true);
    DoRepair();
    gateway_.faults[holders_[lane]]->plan().SetFull(false);
    world_.Pass(seconds(1));
  }
  // Lanes 1 and 2.
  void ExpectReadWithTwoDown(ObjectReader& reader) {
    for (const size_t lane : {size_t{1}, size_t{2}}) world_.memory[holders_[lane]]->SetDown(true);
    const Status read = Read(reader);
    EXPECT_TRUE(read) << read.error().ToString();
  }
  void Stop(TestWorld::Gateway& gateway, size_t lane) {
    gateway.faults[holders_[lane]]->plan().Add({.kind = FaultKind::kHang});
  }
  void ExpectReadWithin(ObjectReader& reader, Duration longest) {
    const TimePoint begun = world_.executor.Now();
    const Status read = Read(reader);
    EXPECT_TRUE(read) << read.error().ToString();
    EXPECT_LE(world_.executor.Now() - begun, longest);
  }
  // The same by a new reader, to which the server of lane 0 is slow, and within a time.
  void ExpectReadWithTwoStopped(Duration slow, Duration longest) {
    TestWorld::Gateway& fresh = world_.NewGateway();
    const auto reader = OpenObject(world_, *fresh.engine, path_);
    fresh.faults[holders_[0]]->plan().Add({.kind = FaultKind::kDelay, .delay = slow});
    for (const size_t lane : {size_t{1}, size_t{2}}) Stop(fresh, lane);
    ExpectReadWithin(*reader, longest);
  }

  const ObjectPath path_ = TestWorld::Path("/o");
  static constexpr size_t kStripe = 3 * 64 * kKiB;
  const std::string bytes_ = TestBytes(2 * kStripe);
  TestWorld world_;
  TestWorld::Gateway& gateway_;
  std::vector<MemberIndex> holders_;  // by lane
};

TEST_F(LongReaderTest, AnArchiveRepairedBesideItsWitnessIsRead) {
  LoseArchiveOf(0);
  // So its home has a witness.
  const auto reader = Open();
  ASSERT_TRUE(Read(*reader));
  world_.Pass(seconds(1));
  ASSERT_TRUE(Read(*reader));
  DoRepair();
  world_.Pass(seconds(20));
  ExpectReadWithTwoDown(*reader);
}

TEST_F(LongReaderTest, AnArchiveRepairedWhereADamagedOneIsOpenIsRead) {
  const auto reader = Open();
  Damage(0);
  ASSERT_TRUE(Read(*reader));
  DoRepair();
  world_.Pass(seconds(5));
  ExpectReadWithTwoDown(*reader);
}

// What is open is all there is of a version that was replaced.
TEST_F(LongReaderTest, DamagedArchivesThatAreGoneStayOpen) {
  const auto reader = Open();
  ASSERT_TRUE(Read(*reader));
  for (const size_t lane : {size_t{0}, size_t{1}, size_t{2}}) Damage(lane);
  PutObject(world_, engine(), path_, TestBytes(1000, 2));
  world_.Pass(std::chrono::hours(30));
  ASSERT_TRUE(world_.Run(CleanName(engine(), path_)));
  for (int i = 0; i < 2; ++i) {
    const Status lost = Read(*reader, 0);
    EXPECT_EQ(lost.code(), Code::kConflict);
    const Status read = Read(*reader, 1);
    EXPECT_TRUE(read) << read.error().ToString();
  }
}

// Its own server has lost it.
TEST_F(LongReaderTest, NobodyWaitsForStoppedServersWhileAnArchiveIsElsewhere) {
  CopyElsewhere();
  ExpectReadWithTwoStopped(Duration(0), milliseconds(500));
}

// It had searched in vain before the copy was made.
TEST_F(LongReaderTest, NobodyWaitsWhoHasSearchedForTheArchiveBefore) {
  const auto reader = Open();
  LoseArchiveOf(0);
  ASSERT_TRUE(Read(*reader));
  gateway_.faults[holders_[0]]->plan().SetFull(true);
  DoRepair();
  world_.Pass(seconds(20));
  for (const size_t lane : {size_t{1}, size_t{2}}) Stop(gateway_, lane);
  ExpectReadWithin(*reader, milliseconds(500));
}

// More are elsewhere than parity makes good, and not where the archive says that is opened first.
TEST_F(LongReaderTest, NobodyWaitsForAStoppedServerWhileManyArchivesAreElsewhere) {
  std::vector<size_t> lanes;
  for (size_t lane = 0; lane < holders_.size(); ++lane) {
    if (holders_[lane] != engine().Homes(path_).front()) lanes.push_back(lane);
  }
  ASSERT_EQ(lanes.size(), 4u);
  for (size_t i = 0; i < 3; ++i) CopyElsewhere(lanes[i]);
  TestWorld::Gateway& fresh = world_.NewGateway();
  const auto reader = OpenObject(world_, *fresh.engine, path_);
  Stop(fresh, lanes[3]);
  ExpectReadWithin(*reader, seconds(1));
}

TEST_F(LongReaderTest, NobodyWaitsThoughItIsLearntLateThatAnArchiveIsElsewhere) {
  CopyElsewhere();
  ExpectReadWithTwoStopped(milliseconds(300), seconds(4));
}

// As when it could not be removed from a full disk.
TEST_F(LongReaderTest, NobodyWaitsThoughADamagedArchiveIsBesideItsCopy) {
  const std::string archive = ArchiveOn(holders_[0]);
  const std::string content = *world_.memory[holders_[0]]->Content(archive);
  CopyElsewhere();
  const auto call = engine().MetadataCall();
  ASSERT_TRUE(world_.Run(CreateFile(call, engine().server(holders_[0]), archive, content, true)));
  world_.memory[holders_[0]]->Tamper(archive, [](std::string& bytes) { bytes[5000] ^= 1; });
  ExpectReadWithTwoStopped(milliseconds(300), seconds(4));
}

}  // namespace
}  // namespace xec
