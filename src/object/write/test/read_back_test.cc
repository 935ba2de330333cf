// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads whose bytes are read back before they are committed.
#include <algorithm>
#include <random>

#include "object/test/test_upload.hh"

namespace xec {
namespace {

class ReadBackTest : public testing::Test {
 protected:
  void Start(size_t bytes, WriteOptions options = {}) {
    bytes_ = TestBytes(bytes);
    writer_ = std::move(*store_.Start("/o", std::move(options)));
    ASSERT_TRUE(SyncWait(writer_->Append(AsBytes(bytes_))));
  }
  Result<std::string> Read(uint64_t offset, size_t size) {
    std::string bytes(size, '?');
    const auto got =
        SyncWait(writer_->ReadBack(offset, std::as_writable_bytes(std::span(bytes.data(), size))));
    if (!got) return got.error();
    bytes.resize(*got);
    return bytes;
  }
  void ExpectAll() {
    std::minstd_rand next(1);
    for (int i = 0; i < 100; ++i) {
      const size_t offset = next() % (bytes_.size() + 10), size = next() % (2 * kStripe);
      const Result<std::string> read = Read(offset, size);
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_TRUE(*read == (offset < bytes_.size() ? bytes_.substr(offset, size) : ""))
          << offset << " " << size;
    }
    const Result<std::string> read = Read(0, bytes_.size());
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(*read == bytes_);
  }
  std::vector<size_t> Servers() {
    std::vector<size_t> servers;
    for (const auto& [server, path] : store_.Archives("/o")) servers.push_back(server);
    return servers;
  }
  void Commit() {
    const Result<Committed> committed = SyncWait(writer_->Commit());
    ASSERT_TRUE(committed) << committed.error().message;
    writer_.reset();
    const Result<std::string> read = store_.Get("/o");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(*read == bytes_);
  }

  TestStore store_{Impatient()};
  std::string bytes_;
  std::unique_ptr<ObjectWriter> writer_;
};

TEST_F(ReadBackTest, WhatIsInMemoryIsReadFromThere) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{10'000}, kStripe}) {
    Start(size);
    EXPECT_TRUE(writer_->AllInMemory());
    ExpectAll();
    EXPECT_EQ(SyncWait(writer_->EndStream()).code(), Code::kInvalidArgument) << "nothing was sent";
    SyncWait(writer_->Abandon());
    writer_.reset();
  }
  EXPECT_TRUE(Servers().empty());
}

TEST_F(ReadBackTest, WhatWasSentIsReadFromTheArchivesAndCommitted) {
  for (const size_t size : {kStripe + 1, 3 * kStripe, 20 * kStripe + 11'111}) {
    Start(size);
    EXPECT_FALSE(writer_->AllInMemory());
    EXPECT_EQ(Read(0, 1).code(), Code::kInvalidArgument) << "not before the stream has ended";
    const Status ended = SyncWait(writer_->EndStream());
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(store_.engine().budget().claimed(), 0u);
    ExpectAll();
    Commit();
  }
}

TEST_F(ReadBackTest, NothingIsAppendedThen) {
  Start(3 * kStripe);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  EXPECT_EQ(SyncWait(writer_->Append(AsBytes("x"))).code(), Code::kInvalidArgument);
}

TEST_F(ReadBackTest, OrGivenUp) {
  Start(3 * kStripe);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  ExpectAll();
  SyncWait(writer_->Abandon());
  EXPECT_FALSE(Read(0, 1));
  writer_.reset();
  EXPECT_TRUE(Servers().empty());
  EXPECT_TRUE(store_.BudgetReturned());
}

TEST_F(ReadBackTest, WithServersThatDied) {
  Start(20 * kStripe + 11'111);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  const std::vector<size_t> servers = Servers();
  ASSERT_EQ(servers.size(), 6u);
  for (const size_t bad : {servers[0], servers[3]}) store_.memory(bad).SetDown(true);
  ExpectAll();
  Commit();
  EXPECT_TRUE(store_.BudgetReturned());
}

TEST_F(ReadBackTest, WithServersThatHang) {
  Start(20 * kStripe + 11'111);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  const std::vector<size_t> servers = Servers();
  ASSERT_EQ(servers.size(), 6u);
  for (const size_t bad : {servers[0], servers[3]}) store_.faults(bad).Add({.kind = FaultKind::kHang});
  ExpectAll();
  Commit();
  for (const size_t bad : {servers[0], servers[3]}) {
    store_.faults(bad).Clear();
    store_.faults(bad).DropHung();
  }
  EXPECT_TRUE(store_.BudgetReturned());
}

TEST_F(ReadBackTest, AfterALaneWentOnOnASpare) {
  bytes_ = TestBytes(20 * kStripe + 11'111);
  writer_ = std::move(*store_.Start("/o"));
  const ByteSpan all = AsBytes(bytes_);
  ASSERT_TRUE(SyncWait(writer_->Append(all.first(10 * kStripe))));
  std::vector<size_t> servers = Servers();
  store_.memory(servers[0]).SetDown(true);
  store_.memory(servers[1]).SetDown(true);
  ASSERT_TRUE(SyncWait(writer_->Append(all.subspan(10 * kStripe))));
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  ExpectAll();
  Commit();
}

TEST_F(ReadBackTest, TooManyServersThatDiedAreTold) {
  Start(20 * kStripe);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  const std::vector<size_t> servers = Servers();
  for (size_t i = 0; i < 3; ++i) store_.memory(servers[i]).SetDown(true);
  const Result<std::string> read = Read(0, bytes_.size());
  ASSERT_EQ(read.code(), Code::kUnavailable);
  EXPECT_NE(read.error().message.find("what was written of /o cannot be read back"), std::string::npos)
      << read.error().message;
}

// One server returns other bytes than it was sent.
TEST_F(ReadBackTest, WhatWasDamagedIsDecoded) {
  Start(20 * kStripe);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  store_.faults(Servers()[2]).Add({.kind = FaultKind::kCorrupt});
  ExpectAll();
}

// Small reads of one chunk after another ask a server once.
TEST_F(ReadBackTest, SmallReadsAreFewRequests) {
  Start(4 * kStripe);
  ASSERT_TRUE(SyncWait(writer_->EndStream()));
  const uint64_t before = store_.counts().Of(Operation::kRead);
  std::string read;
  while (read.size() < bytes_.size()) read += *Read(read.size(), 1000);
  EXPECT_TRUE(read == bytes_);
  EXPECT_EQ(store_.counts().Of(Operation::kRead) - before, 16u);
}

}  // namespace
}  // namespace xec
