// SPDX-License-Identifier: LGPL-3.0-or-later
// Archives that their disk cannot read, on servers that are well.
#include <gmock/gmock.h>

#include "object/repair/test/test_repair.hh"
#include "object/test/test_object.hh"

namespace xec {
namespace {

using testing::HasSubstr;

// It says so, or drops the connection, as a server does whose sendfile meets it.
TEST(BadSectorTest, TheArchiveIsMadeAnew) {
  for (const Code code : {Code::kUnreadable, Code::kUnavailable}) {
    TestStore store({.geometry = kSmall});
    const std::string bytes = TestBytes(100'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto [server, path] = store.Archives("/o")[3];
    ASSERT_TRUE(store.memory(server).SpoilSector(path, {.offset = 5000, .code = code}));
    EXPECT_TRUE(*store.Get("/o") == bytes);
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->archives_bad, 1u) << CodeName(code);
    EXPECT_EQ(report->archives_silent, 0u);
    EXPECT_TRUE(report->silent.empty());
    EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
    ExpectWhole(store, bytes);
  }
}

// A server that meets a bad sector in a sendfile says nothing, but drops the connection.
TEST(BadSectorTest, ReadersReportWhatTwiceCouldBeOpenedButNotRead) {
  for (const size_t size : {size_t{50'000}, size_t{2'000'000}}) {  // archives that are read whole, and others
    TestWorld world({.servers = 8, .tolerance = 2});
    TestWorld::Gateway& gateway = world.NewGateway();
    const ObjectPath path = TestWorld::Path("/o");
    const std::string bytes = TestBytes(size);
    PutObject(world, *gateway.engine, path, bytes);
    const MemberIndex server =
        HoldersOf(world, *gateway.engine, *OpenObject(world, *gateway.engine, path))[0];
    for (const auto& [archive, archive_bytes] : world.memory[server]->Files()) {
      if (archive.starts_with(path.ObjectDirectory() + "/"))
        world.memory[server]->SpoilSector(archive, {.offset = 5000, .code = Code::kUnavailable});
    }
    const auto queue = std::make_shared<RepairQueue>();
    Result<NameInfo> info = world.Run(LookUpLive(*gateway.engine, path));
    const auto reader = world.Run(ObjectReader::Open(*gateway.engine, std::move(*info), queue));
    for (int second = 0; second < 30; ++second) {
      std::string got(size, '?');
      ASSERT_TRUE(world.Run((*reader)->Read(0, std::as_writable_bytes(std::span(got)))));
      EXPECT_TRUE(got == bytes);
      if (second == 0) {
        EXPECT_EQ(queue->counts().reported, 0u) << "it may have been the server";
      }
      world.Pass(std::chrono::seconds(1));
    }
    EXPECT_EQ(queue->counts().reported, 1u) << size;
  }
}

// All files of a server share connections: one that is lost twice is no news of what is read from it.
TEST(BadSectorTest, ConnectionsThatAreLostOverOtherBytesAreNotReported) {
  TestWorld world({.servers = 8, .tolerance = 2});
  TestWorld::Gateway& gateway = world.NewGateway();
  const ObjectPath path = TestWorld::Path("/o");
  const std::string bytes = TestBytes(20 * world.descriptor.geometry.StripeSize());
  PutObject(world, *gateway.engine, path, bytes);
  const MemberIndex server = HoldersOf(world, *gateway.engine, *OpenObject(world, *gateway.engine, path))[0];
  const auto queue = std::make_shared<RepairQueue>();
  Result<NameInfo> info = world.Run(LookUpLive(*gateway.engine, path));
  const auto reader = world.Run(ObjectReader::Open(*gateway.engine, std::move(*info), queue));
  std::string got(1000, '?');
  for (size_t stripe = 0; stripe < 20; ++stripe) {
    for (const bool fails : {false, true}) {
      // The archive is open then.
      if (fails) gateway.faults[server]->plan().Add({.operation = Operation::kRead, .count = 1});
      for (uint64_t chunk = 0; chunk < 3; ++chunk) {
        const uint64_t at = stripe * world.descriptor.geometry.StripeSize() + chunk * 64 * kKiB;
        ASSERT_TRUE(world.Run((*reader)->Read(at, std::as_writable_bytes(std::span(got)))));
      }
    }
    gateway.faults[server]->plan().Clear();
    world.Pass(std::chrono::seconds(60));
  }
  EXPECT_EQ(queue->counts().reported, 0u);
  EXPECT_GT(gateway.faults[server]->plan().injected(), 3u);
}

// It may be good: the connection may have been lost twice for another reason.
TEST(BadSectorTest, NothingIsRemovedBeforeTheCopyStandsUnlessTheDiskSaysSo) {
  for (const bool spare : {true, false}) {
    TestStore store({.geometry = kSmall, .servers = spare ? size_t{7} : size_t{6}});
    const std::string bytes = TestBytes(100'000);
    ASSERT_TRUE(store.Put("/o", bytes));
    store.Settle();
    const auto [server, path] = store.Archives("/o")[3];
    ASSERT_TRUE(store.memory(server).SpoilSector(path, {.offset = 5000, .code = Code::kUnavailable}));
    store.faults(server).Add({.operation = Operation::kRemove});
    const Result<RepairReport> report = Repair(store);
    ASSERT_TRUE(report) << report.error().ToString();
    EXPECT_EQ(report->archives_bad, 1u);
    EXPECT_EQ(report->archives_made, spare ? 1u : 0u);
    ASSERT_EQ(report->problems.size(), 1u);
    EXPECT_THAT(report->problems[0], HasSubstr(spare ? "stays damaged on" : "no server takes archive"));
    EXPECT_TRUE(store.memory(server).Content(path));
  }
}

// One that is restarted twice while it is verified is no such server.
TEST(BadSectorTest, AServerThatAnswersNothingIsAway) {
  TestStore store({.geometry = kSmall});
  ASSERT_TRUE(store.Put("/o", TestBytes(100'000)));
  store.Settle();
  const auto [server, path] = store.Archives("/o")[3];
  ASSERT_TRUE(store.memory(server).SpoilSector(path, {.offset = 5000, .code = Code::kUnavailable}));
  store.faults(server).Add({.operation = Operation::kList});
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_bad, 0u);
  EXPECT_EQ(report->archives_silent, 1u);
}

}  // namespace
}  // namespace xec
