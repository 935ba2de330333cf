// SPDX-License-Identifier: LGPL-3.0-or-later
// Repairs that are not deep: they go by the directories of the archives.
#include <atomic>
#include <future>

#include <gmock/gmock.h>

#include "base/contains.hh"
#include "object/repair/test/test_repair.hh"
#include "object/write/stripe_buffer.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Outcome {
  Result<RepairReport> report = Fail(Code::kInternal, "not tried");
  std::atomic<uint64_t> read = 0, written = 0;
};

void RepairLost(TestStore& store, Outcome& outcome, RepairOptions options = {}) {
  Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  ASSERT_TRUE(info);
  options.deep = false;
  options.progress = [&](uint64_t bytes) { outcome.read += bytes; };
  options.wrote = [&](uint64_t bytes) { outcome.written += bytes; };
  outcome.report = SyncWait(RepairObject(store.engine(), std::move(*info), std::move(options)));
}

void Lose(TestStore& store, size_t server, const std::string& path) {
  const DataServerPtr target = store.engine().server(static_cast<MemberIndex>(server));
  ASSERT_TRUE(SyncWait(Remove(store.engine().MetadataCall(), target, path)));
}

// Without witnesses and other versions.
std::vector<std::pair<size_t, std::string>> ArchivesOf(TestStore& store) {
  const Result<NameInfo> info = SyncWait(LookUpLive(store.engine(), TestStore::Path("/o")));
  EXPECT_TRUE(info);
  auto archives = store.Archives("/o");
  std::erase_if(archives, [&](const auto& archive) {
    return archive.second.find("/p.") == std::string::npos ||
           archive.second.find(info->accepted.oid) == std::string::npos;
  });
  return archives;
}

size_t Drafts(const TestStore& store) {
  const auto archives = store.Archives("/o");
  return static_cast<size_t>(std::count_if(archives.begin(), archives.end(), [](const auto& archive) {
    return archive.second.find("/y.") != std::string::npos;
  }));
}

class LostArchivesTest : public testing::TestWithParam<size_t> {};

// Any two of them; made again byte for byte, from k chunks of each stripe and no more.
TEST_P(LostArchivesTest, TheyComeBackAtThePriceOfWhatIsLost) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(GetParam());
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (size_t i = 0; i < archives.size(); ++i) {
    std::map<size_t, std::string> before;
    for (const size_t lane : {i, (i + 1) % archives.size()}) {
      const auto& [server, path] = archives[lane];
      before[server] = *store.memory(server).Content(path);
      Lose(store, server, path);
    }
    Outcome outcome;
    RepairLost(store, outcome);
    ASSERT_TRUE(outcome.report) << outcome.report.error().ToString();
    EXPECT_EQ(outcome.report->archives_bad, 2u);
    EXPECT_EQ(outcome.report->archives_made, 2u);
    EXPECT_EQ(outcome.report->survives, 0);
    EXPECT_EQ(outcome.report->problems, std::vector<std::string>{});
    EXPECT_LE(outcome.read, bytes.size() + 4 * kSmall.chunk_size_bytes) << "k chunks of each stripe, at most";
    uint64_t lost = 0;
    for (const RepairReport::Copy& copy : outcome.report->copies) lost += copy.bytes;
    EXPECT_LE(outcome.written, lost + lost / 10 + 2000);
    for (const auto& [server, content] : before) {
      const std::string& path = std::find_if(archives.begin(), archives.end(), [&](const auto& archive) {
                                  return archive.first == server;
                                })->second;
      ASSERT_TRUE(store.memory(server).Content(path));
      EXPECT_TRUE(*store.memory(server).Content(path) == content);
    }
    store.Settle();
    ExpectWhole(store, bytes);
  }
  EXPECT_TRUE(store.BudgetReturned());
}

INSTANTIATE_TEST_SUITE_P(Sizes, LostArchivesTest, testing::Values(1, 5000, 20'000, 5 * 4 * 8 * kKiB + 7));

TEST(LostArchivesTest, WhatIsWholeIsNotRead) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto before = store.Archives("/o");
  Outcome outcome;
  RepairLost(store, outcome);
  ASSERT_TRUE(outcome.report);
  EXPECT_TRUE(outcome.report->Whole());
  EXPECT_EQ(outcome.report->survives, 2);
  EXPECT_EQ(outcome.read + outcome.written, 0u);
  EXPECT_EQ(store.Archives("/o"), before);
}

// On a data server with several disks: a link that leads to a lost one.
TEST(LostArchivesTest, ANameThatIsTakenThoughNothingIsListedIsFreed) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(100'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (const auto& [server, path] : archives) {
    Lose(store, server, path);
    const uint64_t rule = store.faults(server).Add({.operation = Operation::kRename,
                                                    .path_contains = "/y.",
                                                    .count = 1,
                                                    .error = {Code::kAlreadyExists, "file exists"}});
    Outcome outcome;
    RepairLost(store, outcome);
    store.faults(server).Remove(rule);
    ASSERT_TRUE(outcome.report);
    EXPECT_EQ(outcome.report->problems, std::vector<std::string>{});
    EXPECT_EQ(outcome.report->archives_made, 1u);
    EXPECT_EQ(Drafts(store), 0u);
  }
  EXPECT_EQ(ArchivesOf(store), archives);
  ExpectWhole(store, bytes);
}

TEST(LostArchivesTest, ADryRunTellsWhatWouldBeWrittenAndWritesNothing) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto [server, path] = store.Archives("/o")[1];
  Lose(store, server, path);
  const auto before = ArchivesOf(store);
  Outcome dry;
  RepairOptions options;
  options.dry_run = true;
  RepairLost(store, dry, options);
  ASSERT_TRUE(dry.report);
  EXPECT_EQ(dry.report->archives_bad, 1u);
  EXPECT_EQ(dry.report->archives_made, 0u);
  EXPECT_EQ(ArchivesOf(store), before);
  EXPECT_EQ(Drafts(store), 0u);
  Outcome outcome;
  RepairLost(store, outcome);
  ASSERT_EQ(dry.report->copies.size(), 1u);
  ASSERT_EQ(outcome.report->copies.size(), 1u);
  EXPECT_EQ(dry.report->copies[0].server, outcome.report->copies[0].server);
  EXPECT_EQ(dry.report->copies[0].bytes, outcome.report->copies[0].bytes);
}

// Damage inside a chunk that has to be read: the lane is made anew as well, at once. Its other chunks are
// copied.
TEST(LostArchivesTest, DamageThatIsMetOnTheWayIsMendedToo) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(10 * kSmall.StripeSize());
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  const std::string damaged = *store.memory(archives[3].first).Content(archives[3].second);
  Lose(store, archives[0].first, archives[0].second);
  store.memory(archives[3].first).Tamper(archives[3].second, [](std::string& content) {
    content[content.size() / 2] ^= 1;
  });
  Outcome outcome;
  RepairLost(store, outcome);
  ASSERT_TRUE(outcome.report) << outcome.report.error().ToString();
  EXPECT_EQ(outcome.report->problems, std::vector<std::string>{});
  EXPECT_EQ(outcome.report->archives_made, 2u) << testing::PrintToString(outcome.report->made);
  EXPECT_LT(outcome.read, bytes.size() + bytes.size() / 2) << "nobody reads all of it a second time";
  EXPECT_TRUE(*store.memory(archives[3].first).Content(archives[3].second) == damaged);
  store.Settle();
  ExpectWhole(store, bytes);
}

// Each stripe has another chunk damaged: together more lanes than parity.
TEST(LostArchivesTest, LanesWithAFewBadChunksAreOfUseForTheOthers) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(10 * kSmall.StripeSize());
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  Lose(store, archives[0].first, archives[0].second);
  for (size_t lane = 1; lane < archives.size(); ++lane) {
    store.memory(archives[lane].first).Tamper(archives[lane].second, [&](std::string& content) {
      content[(lane * 2) * content.size() / 12 - 1000] ^= 1;
    });
  }
  for (int tries = 0; tries < 3; ++tries) {
    Outcome outcome;
    RepairLost(store, outcome);
    ASSERT_TRUE(outcome.report) << outcome.report.error().ToString();
  }
  store.Settle();
  // Parity that was never needed is not looked at.
  const Result<RepairReport> deep = Repair(store);
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->problems, std::vector<std::string>{});
  ExpectWhole(store, bytes);
}

TEST(LostArchivesTest, WhatIsLostForGoodIsToldByItsStripe) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (size_t lane = 0; lane < 3; ++lane) Lose(store, archives[lane].first, archives[lane].second);
  Outcome outcome;
  RepairLost(store, outcome);
  ASSERT_FALSE(outcome.report);
  EXPECT_EQ(outcome.report.code(), Code::kDataLoss);
  EXPECT_THAT(outcome.report.error().message, HasSubstr("stripe 0 of /o is lost: 3 of the 4 chunks"));
  // Damage that only reading shows, beside as many losses as parity makes good.
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto current = ArchivesOf(store);
  for (size_t lane = 0; lane < 2; ++lane) Lose(store, current[lane].first, current[lane].second);
  store.memory(current[2].first).Tamper(current[2].second, [](std::string& content) { content[5000] ^= 1; });
  RepairLost(store, outcome);
  ASSERT_FALSE(outcome.report) << testing::PrintToString(outcome.report->problems);
  EXPECT_EQ(outcome.report.code(), Code::kDataLoss);
  store.Settle();
  EXPECT_EQ(Drafts(store), 0u);
}

TEST(LostArchivesTest, SilentServersAreLeftAlone) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto archives = store.Archives("/o");
  store.memory(archives[2].first).SetDown(true);
  Lose(store, archives[4].first, archives[4].second);
  Outcome outcome;
  RepairLost(store, outcome);
  ASSERT_TRUE(outcome.report) << outcome.report.error().ToString();
  EXPECT_EQ(outcome.report->archives_silent, 1u);
  EXPECT_EQ(outcome.report->archives_made, 1u);
  EXPECT_EQ(outcome.report->survives, 0);
}

TEST(LostArchivesTest, TheLeastMemoryThatAWriterAcceptsIsEnough) {
  StripeBuffer::Shape stripe{.geometry = kSmall, .data_bytes_max = kSmall.StripeSize()};
  EngineOptions engine = Patient();
  engine.memory_bytes = stripe.BufferBytes() + 64 * kKiB;
  TestStore store({.geometry = kSmall, .engine = engine});
  const std::string bytes = TestBytes(20 * kSmall.StripeSize() + 7);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto archives = store.Archives("/o");
  for (const size_t lane : {size_t{0}, size_t{3}}) Lose(store, archives[lane].first, archives[lane].second);
  std::vector<std::future<void>> all;
  std::array<Outcome, 3> outcomes;
  for (Outcome& outcome : outcomes)
    all.push_back(std::async(std::launch::async, [&] { RepairLost(store, outcome); }));
  for (std::future<void>& one : all) one.get();
  // Of several at once one places the copies; the others leave them, and say so.
  uint64_t made = 0;
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.report) << outcome.report.error().ToString();
    made += outcome.report->archives_made;
  }
  EXPECT_GE(made, 2u);
  store.Settle();
  ExpectWhole(store, bytes);
  EXPECT_TRUE(store.BudgetReturned());
}

TEST(LostArchivesTest, OneThatIsStoppedLeavesNothing) {
  TestStore store({.geometry = kSmall});
  const std::string bytes = TestBytes(20 * kSmall.StripeSize());
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto [server, path] = store.Archives("/o")[1];
  Lose(store, server, path);
  Outcome outcome;
  RepairOptions options;
  options.stopped = [&] { return outcome.written > 0; };
  RepairLost(store, outcome, options);
  ASSERT_TRUE(outcome.report);
  EXPECT_THAT(outcome.report->problems, ElementsAre(HasSubstr("interrupted")));
  store.Settle();
  EXPECT_EQ(ArchivesOf(store).size(), 5u);
  EXPECT_EQ(Drafts(store), 0u);
}

}  // namespace
}  // namespace xec
