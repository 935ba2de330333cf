// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads while servers are silent or slow (promise P8): how long they take, in virtual time, and how many
// requests they cost.
#include <gtest/gtest.h>

#include "object/test/test_object.hh"

namespace xec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kStripes = 60;
// Of the reads of one stripe from healthy servers: a leg takes 5 ms at most.
constexpr Duration kHealthy = milliseconds(12);
constexpr Duration kPatience = milliseconds(80);

class HedgingTest : public ::testing::Test {
 protected:
  HedgingTest() : world_(Options()), gateway_(world_.NewGateway()) {
    bytes_.resize(kStripes * StripeSize());
    Random random(3);
    for (char& byte : bytes_) byte = static_cast<char>(random.Next());
    PutObject(world_, engine(), Path(), bytes_);
    reader_ = Open();
    holders_ = HoldersOf(world_, engine(), *reader_);
  }

  // 3+2 on 8 servers.
  static TestWorldOptions Options() {
    TestWorldOptions options;
    options.servers = 8;
    options.tolerance = 2;
    return options;
  }
  static ObjectPath Path() { return TestWorld::Path("/o"); }
  Engine& engine() { return *gateway_.engine; }
  uint64_t StripeSize() const { return world_.descriptor.geometry.StripeSize(); }

  std::shared_ptr<ObjectReader> Open() { return OpenObject(world_, engine(), Path()); }

  Task<void> Expect(std::shared_ptr<ObjectReader> reader, uint64_t offset, uint64_t size) {
    std::string got(size, '?');
    const Result<uint64_t> read = co_await reader->Read(offset, std::as_writable_bytes(std::span(got)));
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(got == bytes_.substr(offset, size)) << "at " << offset;
    ++ended_;
  }
  // How long it takes to read these bytes.
  Duration Read(ObjectReader& reader, uint64_t offset, uint64_t size) {
    const TimePoint begun = world_.executor.Now();
    std::string got(size, '?');
    const Result<uint64_t> read = world_.Run(reader.Read(offset, std::as_writable_bytes(std::span(got))));
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(got == bytes_.substr(offset, size)) << "at " << offset;
    return world_.executor.Now() - begun;
  }
  Duration ReadStripe(uint64_t stripe) { return Read(*reader_, stripe * StripeSize(), StripeSize()); }
  // An order that read-ahead does not take for a stream.
  static uint64_t NthStripe(uint64_t i) { return i * 7 % kStripes; }
  Duration ReadAll() {
    Duration longest{0};
    for (uint64_t i = 0; i < kStripes; ++i) longest = std::max(longest, ReadStripe(NthStripe(i)));
    return longest;
  }

  uint64_t AddFault(MemberIndex server, FaultKind kind, Duration delay = {}, uint64_t one_in = 1) {
    FaultRule rule;
    rule.kind = kind;
    rule.delay = delay;
    rule.one_in = one_in;
    return gateway_.faults[server]->plan().Add(rule);
  }
  void Stop(MemberIndex server) { AddFault(server, FaultKind::kHang); }
  void Continue(MemberIndex server) {
    gateway_.faults[server]->plan().Clear();
    gateway_.faults[server]->plan().ReleaseHung();
  }
  void Down(MemberIndex server, bool down) { gateway_.faults[server]->plan().SetDown(down); }
  uint64_t Reads() const { return gateway_.counts->Of(Operation::kRead); }

  TestWorld world_;
  TestWorld::Gateway& gateway_;
  std::string bytes_;
  std::shared_ptr<ObjectReader> reader_;
  std::vector<MemberIndex> holders_;  // by lane
  size_t ended_ = 0;
};

TEST_F(HedgingTest, StoppedServersCostOnePatienceOnce) {
  EXPECT_LE(ReadAll(), kHealthy + milliseconds(40)) << "archives are opened";
  Stop(holders_[0]);
  Stop(holders_[3]);
  EXPECT_LE(ReadStripe(1), kPatience + 2 * kHealthy);
  EXPECT_LE(ReadAll(), kPatience + 2 * kHealthy) << "the other one, unless it was met already";
  EXPECT_LE(ReadAll(), kHealthy);
}

TEST_F(HedgingTest, WhatIsInFlightLearnsFromTheFirstThatIsLate) {
  ReadAll();
  Stop(holders_[1]);
  Stop(holders_[2]);
  const TimePoint begun = world_.executor.Now();
  for (uint64_t i = 0; i < 40; ++i) {
    gateway_.scope.Spawn(Expect(reader_, i * StripeSize(), StripeSize()));
    world_.Pass(milliseconds(1));
  }
  world_.executor.RunUntil([&] { return ended_ == 40; }, 1'000'000);
  EXPECT_LE(world_.executor.Now() - begun, kPatience + milliseconds(20) + 2 * kHealthy);
  EXPECT_EQ(engine().hedges().taken(), 0u) << "nobody's budget";
}

TEST_F(HedgingTest, ServersThatStopOneAfterTheOtherEachCostOnce) {
  ReadAll();
  for (size_t lane = 0; lane < 5; ++lane) {
    if (lane >= 2) Continue(holders_[lane - 2]);
    world_.Pass(seconds(40));
    Stop(holders_[lane]);
    size_t late = 0;
    for (uint64_t i = 0; i < kStripes; ++i) late += ReadStripe(NthStripe(i)) > kHealthy ? 1 : 0;
    EXPECT_LE(late, 1u) << lane;
  }
}

// A failure is remembered for a while; with the server back it keeps nobody waiting, nor does it make reads
// fail.
TEST_F(HedgingTest, ServersThatWereAwayForAMomentAreAskedWhenOthersAreNot) {
  for (const bool hang : {true, false}) {
    for (const size_t lane : {size_t{0}, size_t{1}}) Down(holders_[lane], true);
    ReadAll();
    for (const size_t lane : {size_t{0}, size_t{1}}) Down(holders_[lane], false);
    world_.Pass(milliseconds(500));
    for (const size_t lane : {size_t{2}, size_t{3}}) {
      if (hang) Stop(holders_[lane]);
      if (!hang) Down(holders_[lane], true);
    }
    EXPECT_LE(ReadStripe(1), kPatience + milliseconds(60) + 2 * kHealthy) << hang;
    for (const size_t lane : {size_t{2}, size_t{3}}) Continue(holders_[lane]);
    world_.Pass(seconds(60));
    ReadAll();
  }
}

// Its server answers everything else, so it seems to be back all the time: reads began again for ever.
TEST_F(HedgingTest, AChunkThatIsRefusedAgainAndAgainKeepsNobodyBesideSlowServers) {
  ReadAll();
  FaultRule refuses{.kind = FaultKind::kFailBefore, .operation = Operation::kRead};
  gateway_.faults[holders_[0]]->plan().Add(refuses);
  for (const size_t lane : {size_t{1}, size_t{2}}) AddFault(holders_[lane], FaultKind::kDelay, seconds(3));
  for (const uint64_t stripe : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_LE(ReadStripe(stripe), milliseconds(3500));
    world_.Pass(seconds(3));
  }
}

TEST_F(HedgingTest, AStreamReadAheadStopsForNoMoreThanOnePatience) {
  const uint64_t piece = StripeSize() / 8;
  Duration longest{0};
  for (uint64_t at = 0; at < bytes_.size(); at += piece) {
    if (at == bytes_.size() / 2) {
      Stop(holders_[0]);
      Stop(holders_[1]);
    }
    const Duration took = Read(*reader_, at, piece);
    if (at > bytes_.size() / 4) longest = std::max(longest, took);
    world_.Pass(std::max(Duration(0), milliseconds(5) - took));
  }
  // One or two stripes of 40 ms each are ahead.
  EXPECT_LE(longest, kPatience);
}

TEST_F(HedgingTest, SlowServersDoNotAddUp) {
  reader_.reset();
  for (const size_t lane : {size_t{0}, size_t{1}}) AddFault(holders_[lane], FaultKind::kDelay, seconds(3));
  const TimePoint begun = world_.executor.Now();
  reader_ = Open();
  ReadAll();
  // One patience with an archive that is not open yet, then sixty stripes.
  EXPECT_LE(world_.executor.Now() - begun, milliseconds(600) + kStripes * kHealthy);
}

TEST_F(HedgingTest, ASlowServerCostsNothingOnceItIsKnown) {
  ReadAll();
  AddFault(holders_[2], FaultKind::kDelay, milliseconds(500));
  for (int i = 0; i < 600; ++i) {
    ReadStripe(NthStripe(static_cast<uint64_t>(i)));
    world_.Pass(milliseconds(100));
  }
  const uint64_t before = Reads();
  size_t late = 0;
  constexpr int kMore = 1000;
  for (int i = 0; i < kMore; ++i) {
    late += ReadStripe(NthStripe(static_cast<uint64_t>(i))) > kHealthy ? 1 : 0;
    world_.Pass(milliseconds(100));
  }
  EXPECT_LE(late, 8u) << "it is tried again now and then";
  EXPECT_LE(Reads() - before, 3 * kMore * 105 / 100);
}

// Small ranges: k chunks in place of the one that is wanted.
TEST_F(HedgingTest, ASlowServerIsSparedBySmallReadsToo) {
  ReadAll();
  AddFault(holders_[2], FaultKind::kDelay, milliseconds(500));
  size_t late = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t offset = i * 7919 * 4096 % (bytes_.size() - 4096);
    late += Read(*reader_, offset, 4096) > kHealthy ? 1 : 0;
    world_.Pass(milliseconds(20));
  }
  EXPECT_LE(late, 20u);
}

TEST_F(HedgingTest, WhenAllAreSlowAtRandomOnlyAShareIsAdded) {
  constexpr uint64_t kReaders = 64;
  constexpr uint64_t kEach = 50;
  std::vector<std::shared_ptr<ObjectReader>> readers;
  for (uint64_t i = 0; i < kReaders; ++i) {
    readers.push_back(Open());
    for (const uint64_t stripe : {uint64_t{0}, uint64_t{2}})
      Read(*readers.back(), stripe * StripeSize(), StripeSize());
  }
  for (MemberIndex server = 0; server < 8; ++server)
    AddFault(server, FaultKind::kDelay, milliseconds(300), 3);
  const uint64_t before = Reads();
  const TimePoint begun = world_.executor.Now();
  const auto read_many = [&](uint64_t reader) -> Task<void> {
    for (uint64_t i = 0; i < kEach; ++i)
      co_await Expect(readers[reader], NthStripe(reader + i) * StripeSize(), StripeSize());
  };
  for (uint64_t i = 0; i < kReaders; ++i) gateway_.scope.Spawn(read_many(i));
  world_.executor.RunUntil([&] { return ended_ == kReaders * kEach; }, 100'000'000);
  EXPECT_EQ(ended_, kReaders * kEach);
  const auto lasted = std::chrono::duration_cast<seconds>(world_.executor.Now() - begun).count() + 1;
  const uint64_t needed = kReaders * kEach * 3;
  const uint64_t allowed =
      needed * 5 / 100 + HedgeBudget::kBurst + HedgeBudget::kFloorPerSecond * static_cast<uint64_t>(lasted);
  EXPECT_LE(engine().hedges().taken(), allowed);
  // What was in flight when a server that was well fell silent.
  EXPECT_LE(Reads() - before, needed + allowed + 2 * kReaders);
  EXPECT_GT(engine().hedges().taken(), HedgeBudget::kBurst);
}

TEST_F(HedgingTest, AServerThatGoesOnIsReadAgain) {
  ReadAll();
  Stop(holders_[0]);
  ReadAll();
  Continue(holders_[0]);
  world_.Pass(seconds(4));
  AddFault(holders_[0], FaultKind::kDelay, milliseconds(0));
  ReadAll();
  EXPECT_GE(gateway_.faults[holders_[0]]->plan().injected(), kStripes * 3 / 5);
}

TEST_F(HedgingTest, ALoneStuckRequestIsHedgedFromTheBudget) {
  ReadAll();
  FaultRule rule;
  rule.kind = FaultKind::kHang;
  rule.operation = Operation::kRead;
  rule.count = 1;
  gateway_.faults[holders_[0]]->plan().Add(rule);
  // The server goes on to answer others, so it is not suspect.
  gateway_.scope.Spawn(Expect(reader_, 0, StripeSize()));
  const TimePoint begun = world_.executor.Now();
  while (ended_ == 0) {
    ReadStripe(4);  // has a data chunk on that server
    world_.Pass(milliseconds(1));
  }
  EXPECT_LE(world_.executor.Now() - begun, kPatience + 4 * kHealthy);
  EXPECT_EQ(engine().hedges().taken(), 1u);
}

// It is looked at again until there is something to hedge with, however often there was not.
TEST_F(HedgingTest, AStuckRequestWithoutABudgetIsHedgedWhenThereIsOne) {
  ReadAll();
  gateway_.faults[holders_[0]]->plan().Add(
      {.kind = FaultKind::kHang, .operation = Operation::kRead, .count = 1});
  std::optional<TimePoint> read;
  const auto stuck = [&]() -> Task<void> {
    co_await Expect(reader_, 0, StripeSize());
    read = world_.executor.Now();
  };
  gateway_.scope.Spawn(stuck());
  const TimePoint begun = world_.executor.Now();
  while (!read && world_.executor.Now() < begun + seconds(5)) {
    const bool budget = world_.executor.Now() > begun + 3 * kPatience;
    while (!budget && engine().hedges().Take(1, world_.executor.Now())) {
    }
    // The server answers others, so it is not suspect.
    gateway_.scope.Spawn(Expect(reader_, 4 * StripeSize(), StripeSize()));
    world_.Pass(milliseconds(1));
  }
  ASSERT_TRUE(read);
  EXPECT_GT(*read - begun, 3 * kPatience);
  EXPECT_LE(*read - begun, 3 * kPatience + milliseconds(200));
}

}  // namespace
}  // namespace xec
