// SPDX-License-Identifier: LGPL-3.0-or-later
// What readers tell of the damage they meet, and what they must not take for damage.
#include <gmock/gmock.h>

#include "object/repair/repair.hh"
#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::HasSubstr;

class DamageReportTest : public testing::Test {
 protected:
  DamageReportTest() : store_({.geometry = kSmall, .servers = 8}) {
    EXPECT_TRUE(store_.Put("/o", bytes_));
    store_.Settle();
    archives_ = store_.Archives("/o");
    EXPECT_EQ(archives_.size(), 6u);
  }

  // Reads the object with a new reader, and answers what was reported; "" = nothing.
  std::string ProblemMet() {
    Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
    EXPECT_TRUE(info);
    auto reader = SyncWait(ObjectReader::Open(store_.engine(), std::move(*info), queue_));
    EXPECT_TRUE(reader);
    EXPECT_TRUE(*TestStore::Read(**reader, 0, bytes_.size()) == bytes_);
    reader->reset();
    store_.Settle();
    const TimePoint now = store_.engine().executor().Now();
    const std::optional<DamagedObject> met = queue_->Take(now);
    EXPECT_FALSE(queue_->Take(now)) << "one entry for one object";
    if (!met) return "";
    EXPECT_EQ(met->path.text(), "/o");
    queue_->Finish(*met, RepairQueue::End::kRepaired, now);
    return met->problem;
  }

  // The server and archive of the first data chunk, which every reader asks.
  const std::pair<size_t, std::string>& First() {
    Result<std::shared_ptr<ObjectReader>> reader = store_.OpenReader("/o");
    EXPECT_TRUE(SyncWait((*reader)->Locate([&](const ChunkReport& chunk) {
      if (chunk.stripe == 0 && chunk.chunk == 0) first_ = {chunk.server, chunk.archive_path};
    })));
    return first_;
  }

  TestStore store_;
  const std::string bytes_ = TestBytes(200'000);
  std::vector<std::pair<size_t, std::string>> archives_;
  std::pair<size_t, std::string> first_;
  std::shared_ptr<RepairQueue> queue_ = std::make_shared<RepairQueue>();
};

TEST_F(DamageReportTest, NothingIsWrong) { EXPECT_EQ(ProblemMet(), ""); }

TEST_F(DamageReportTest, AWrongByteInAChunk) {
  const auto [server, path] = First();
  store_.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  EXPECT_THAT(ProblemMet(), HasSubstr("chunk 0 in " + path));
}

TEST_F(DamageReportTest, AnArchiveCutShort) {
  const auto [server, path] = First();
  store_.memory(server).Tamper(path, [](std::string& content) { content.resize(content.size() / 2); });
  EXPECT_THAT(ProblemMet(), HasSubstr(path));
}

TEST_F(DamageReportTest, AnArchiveOfAnotherObject) {
  ASSERT_TRUE(store_.Put("/other", bytes_));
  store_.Settle();
  const auto other = store_.Archives("/other").front();
  const std::string foreign = *store_.memory(other.first).Content(other.second);
  const auto [server, path] = First();
  store_.memory(server).Tamper(path, [&](std::string& content) { content = foreign; });
  EXPECT_THAT(ProblemMet(), HasSubstr("another object"));
}

TEST_F(DamageReportTest, AnArchiveThatIsNotThere) {
  const auto [server, path] = First();
  const DataServerPtr target = store_.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(), target, path)));
  EXPECT_THAT(ProblemMet(), HasSubstr("is not on"));
}

TEST_F(DamageReportTest, AChunkThatTheDiskCannotGive) {
  const auto [server, path] = First();
  ASSERT_TRUE(store_.memory(server).SpoilSector(path, {.offset = 5000}));
  EXPECT_THAT(ProblemMet(), HasSubstr("Input/output error"));
}

TEST_F(DamageReportTest, AnEndThatTheDiskCannotGive) {
  const auto [server, path] = First();
  const uint64_t size = store_.memory(server).Content(path)->size();
  ASSERT_TRUE(store_.memory(server).SpoilSector(path, {.offset = size - 10}));
  EXPECT_THAT(ProblemMet(), HasSubstr("Input/output error"));
}

TEST_F(DamageReportTest, AServerThatIsAwayIsNoDamage) {
  store_.memory(First().first).SetDown(true);
  EXPECT_EQ(ProblemMet(), "");
}

// The archive is not there, but servers that might have it are silent, so nobody can know.
TEST_F(DamageReportTest, NothingIsSaidToBeLostWhileASpareIsSilent) {
  const auto [server, path] = First();
  const DataServerPtr target = store_.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(), target, path)));
  for (size_t i = 0; i < store_.server_count(); ++i) {
    const bool spare = std::none_of(archives_.begin(), archives_.end(),
                                    [&](const auto& archive) { return archive.first == i; });
    if (spare) store_.memory(i).SetDown(true);
  }
  EXPECT_EQ(ProblemMet(), "");
}

TEST_F(DamageReportTest, AnArchiveThatWasWrittenAnewElsewhereIsNotMissing) {
  const auto [server, path] = First();
  const DataServerPtr target = store_.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store_.engine().MetadataCall(), target, path)));
  store_.faults(server).SetFull(true);
  Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  const auto repaired = SyncWait(RepairObject(store_.engine(), std::move(*info), {}));
  ASSERT_TRUE(repaired);
  ASSERT_EQ(repaired->archives_made, 1u);
  store_.faults(server).SetFull(false);
  EXPECT_EQ(ProblemMet(), "");
}

// A repair that comes later than its report must not touch what came after that.
TEST_F(DamageReportTest, AnotherVersionIsNotRepaired) {
  const auto [server, path] = First();
  store_.memory(server).Tamper(path, [](std::string& content) { content[5000] ^= 1; });
  Result<NameInfo> info = SyncWait(LookUpLive(store_.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  RepairOptions options;
  options.version = Version{info->accepted.version.clock - 1, info->accepted.version.writer, 0};
  const NameInfo same = *info;
  const auto other = SyncWait(RepairObject(store_.engine(), std::move(*info), options));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->archives_bad, 0u);
  options.version = same.accepted.version;
  NameInfo again = same;
  const auto meant = SyncWait(RepairObject(store_.engine(), std::move(again), options));
  ASSERT_TRUE(meant);
  EXPECT_EQ(meant->archives_made, 1u);
  EXPECT_THAT(meant->made.at(0), HasSubstr("is on"));
}

}  // namespace
}  // namespace xec
