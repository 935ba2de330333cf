// SPDX-License-Identifier: LGPL-3.0-or-later
// Lanes that went on on spares: what they miss is read back from the other archives.
#include <algorithm>

#include "object/test_upload.hh"

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

}  // namespace
}  // namespace xec
