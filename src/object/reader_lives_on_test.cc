// SPDX-License-Identifier: LGPL-3.0-or-later
// Readers and processes that live on while archives are repaired, or were written anew elsewhere.
#include <algorithm>

#include "commit/test_world.hh"
#include "object/object_writer.hh"
#include "object/test_repair.hh"

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
    Put(bytes_);
    const auto manifest = world_.Run(Open()->GetManifest());
    for (const std::string& id : manifest->servers) holders_.push_back(*engine().FindMember(id));
  }

  void Put(const std::string& bytes) {
    auto writer = world_.Run(ObjectWriter::Start(engine(), path_, {}));
    XEC_CHECK(writer.has_value());
    XEC_CHECK(world_.Run((*writer)->Append(AsBytes(std::string_view(bytes)))).has_value());
    XEC_CHECK(world_.Run((*writer)->Commit()).has_value());
    writer->reset();
    world_.Pass(seconds(1));
  }
  Engine& engine() { return *gateway_.engine; }
  std::shared_ptr<ObjectReader> Open() { return Open(engine()); }
  std::shared_ptr<ObjectReader> Open(Engine& engine) {
    Result<NameInfo> info = world_.Run(LookUpLive(engine, path_));
    XEC_CHECK(info.has_value());
    auto reader = world_.Run(ObjectReader::Open(engine, std::move(*info)));
    XEC_CHECK(reader.has_value());
    return *reader;
  }
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
  for (const size_t lane : {size_t{1}, size_t{2}}) world_.memory[holders_[lane]]->SetDown(true);
  const Status read = Read(*reader);
  EXPECT_TRUE(read) << read.error().ToString();
}

TEST_F(LongReaderTest, AnArchiveRepairedWhereADamagedOneIsOpenIsRead) {
  const auto reader = Open();
  Damage(0);
  ASSERT_TRUE(Read(*reader));
  DoRepair();
  world_.Pass(seconds(5));
  for (const size_t lane : {size_t{1}, size_t{2}}) world_.memory[holders_[lane]]->SetDown(true);
  const Status read = Read(*reader);
  EXPECT_TRUE(read) << read.error().ToString();
}

// The same when it takes long to learn that it has lost it, and when what it has is damaged.
TEST_F(LongReaderTest, NobodyWaitsThoughItIsLearntLateThatAnArchiveIsElsewhere) {
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    gateway_.faults[holders_[0]]->plan().SetFull(true);
    const std::string archive = ArchiveOn(holders_[0]);
    const std::string content = *world_.memory[holders_[0]]->Content(archive);
    if (!damaged) {
      LoseArchiveOf(0);
      DoRepair();
    } else {
      // It was copied, and has gone bad since it was removed in vain.
      Damage(0);
    }
    gateway_.faults[holders_[0]]->plan().SetFull(false);
    world_.Pass(seconds(1));
    TestWorld::Gateway& fresh = world_.NewGateway();
    const auto reader = Open(*fresh.engine);
    fresh.faults[holders_[0]]->plan().Add({.kind = FaultKind::kDelay, .delay = milliseconds(300)});
    for (const size_t lane : {size_t{1}, size_t{2}})
      fresh.faults[holders_[lane]]->plan().Add({.kind = FaultKind::kHang});
    const TimePoint begun = world_.executor.Now();
    const Status read = Read(*reader);
    EXPECT_TRUE(read) << read.error().ToString();
    EXPECT_LE(world_.executor.Now() - begun, seconds(4));
    if (!damaged) {
      // Back where it was as well.
      const auto call = engine().MetadataCall();
      ASSERT_TRUE(world_.Run(CreateFile(call, engine().server(holders_[0]), archive, content, true)));
    }
  }
}

// What is open is all there is of a version that was replaced.
TEST_F(LongReaderTest, DamagedArchivesThatAreGoneStayOpen) {
  const auto reader = Open();
  ASSERT_TRUE(Read(*reader));
  for (const size_t lane : {size_t{0}, size_t{1}, size_t{2}}) Damage(lane);
  Put(TestBytes(1000, 2));
  world_.Pass(std::chrono::hours(30));
  ASSERT_TRUE(world_.Run(CleanName(engine(), path_)));
  for (int i = 0; i < 2; ++i) {
    const Status lost = Read(*reader, 0);
    EXPECT_EQ(lost.code(), Code::kConflict);
    const Status read = Read(*reader, 1);
    EXPECT_TRUE(read) << read.error().ToString();
  }
}

// Its own server has lost it, and two more than the read could do without stop.
TEST_F(LongReaderTest, NobodyWaitsForStoppedServersWhileAnArchiveIsElsewhere) {
  LoseArchiveOf(0);
  gateway_.faults[holders_[0]]->plan().SetFull(true);
  DoRepair();
  gateway_.faults[holders_[0]]->plan().SetFull(false);
  world_.Pass(seconds(1));
  TestWorld::Gateway& fresh = world_.NewGateway();
  const auto reader = Open(*fresh.engine);
  for (const size_t lane : {size_t{1}, size_t{2}})
    fresh.faults[holders_[lane]]->plan().Add({.kind = FaultKind::kHang});
  const TimePoint begun = world_.executor.Now();
  const Status read = Read(*reader);
  EXPECT_TRUE(read) << read.error().ToString();
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(500));
}

}  // namespace
}  // namespace xec
