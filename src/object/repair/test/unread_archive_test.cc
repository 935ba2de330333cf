// SPDX-License-Identifier: LGPL-3.0-or-later
// An archive that can be opened, but not read: whether it is bad nobody says.
#include "object/repair/test/test_repair.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// With as many servers as archives no other one can take its place.
TEST(UnreadArchiveTest, IsMadeAnewWhereItIsIfNoOtherServerIsLeft) {
  TestStore store({.geometry = kSmall, .servers = kSmall.Total()});
  const std::string bytes = TestBytes(2'000'000);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  // Its directory can be read each time that it is opened, and its first chunk never.
  for (const uint64_t chunk : {2, 3})
    store.faults(0).Add({.operation = Operation::kRead, .path_contains = "/p.", .first = chunk, .count = 1});
  const Result<RepairReport> report = Repair(store);
  ASSERT_TRUE(report) << report.error().ToString();
  EXPECT_EQ(report->archives_bad, 1u) << report->archives_silent << " silent, " << store.faults(0).injected();
  EXPECT_EQ(report->archives_made, 1u) << testing::PrintToString(report->problems);
  store.faults(0).Clear();
  ExpectWhole(store, bytes);
}

}  // namespace
}  // namespace xec
