// SPDX-License-Identifier: LGPL-3.0-or-later
// Lanes that went on on spares: what they miss is read back from the other archives.
#include <algorithm>

#include "object/test/test_object.hh"
#include "object/test/test_upload.hh"

namespace xec {
namespace {

// Each stripe that was read back waited for it anew, and kept its memory.
TEST(RecreateTest, AServerThatIsLateOnceIsAskedLastFromThenOn) {
  constexpr size_t kLanes = 6;
  for (size_t hung = 0; hung < kLanes - 1; ++hung) {
    SCOPED_TRACE(hung);
    TestStore store(Impatient());
    Upload upload(store, 40 * kStripe);
    upload.FirstHalf();
    std::vector<size_t> servers = upload.Servers();
    ASSERT_EQ(servers.size(), kLanes);
    store.faults(servers[hung]).Add({.kind = FaultKind::kHang, .operation = Operation::kRead});
    store.memory(servers.back()).SetDown(true);
    upload.SecondHalf();
    const Result<Committed> committed = upload.Commit();
    ASSERT_TRUE(committed) << committed.error().ToString();
    EXPECT_LE(store.faults(servers[hung]).hung(), 1u);
    store.faults(servers[hung]).Clear();
    store.faults(servers[hung]).DropHung();
    const Result<std::string> read = store.Get("/o");
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_TRUE(*read == upload.bytes());
    EXPECT_TRUE(store.BudgetReturned());
  }
}

// All disks are busy. A spare that is as slow as the others was given up, though a stripe sent anew has no
// others to be compared with; and so was the next one.
TEST(RecreateTest, ASpareMayBeAsSlowAsTheOthers) {
  TestWorld world({.servers = 8, .tolerance = 2});  // 3+2
  TestWorld::Gateway& gateway = world.NewGateway();
  const size_t stripe = world.descriptor.geometry.StripeSize();
  const std::string bytes = TestBytes(12 * stripe);
  const FaultRule busy{
      .kind = FaultKind::kDelay, .operation = Operation::kWrite, .delay = std::chrono::milliseconds(1500)};
  for (const auto& fault : gateway.faults) fault->plan().Add(busy);
  auto writer = world.Run(ObjectWriter::Start(*gateway.engine, TestWorld::Path("/o"), {}));
  ASSERT_TRUE(writer);
  const auto append = [&](size_t from, size_t to) {
    const std::string_view part = std::string_view(bytes).substr(from * stripe, (to - from) * stripe);
    return world.Run((*writer)->Append(AsBytes(part)));
  };
  ASSERT_TRUE(append(0, 6));
  const auto holder = std::find_if(world.memory.begin(), world.memory.end(),
                                   [](const auto& server) { return server->used_bytes() > 100'000; });
  ASSERT_NE(holder, world.memory.end());
  FaultPlan& hung = gateway.faults[static_cast<size_t>(holder - world.memory.begin())]->plan();
  hung.Clear();
  hung.Add({.kind = FaultKind::kHang});
  const uint64_t before = gateway.counts->Of(Operation::kCreate);
  ASSERT_TRUE(append(6, 12));
  const auto committed = world.Run((*writer)->Commit());
  ASSERT_TRUE(committed) << committed.error().ToString();
  EXPECT_TRUE(committed->debts.empty());
  EXPECT_EQ(gateway.counts->Of(Operation::kCreate), before + 1);
  writer->reset();
}

}  // namespace
}  // namespace xec
