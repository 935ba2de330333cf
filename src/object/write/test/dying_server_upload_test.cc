// SPDX-License-Identifier: LGPL-3.0-or-later
// While no more servers are bad than an object can lose, and others take its archives, no upload fails: here
// the last of these dies at any request, executed or not, and the others were away before.
#include "object/test/test_upload.hh"

namespace xec {
namespace {

struct Case {
  std::string name;
  Geometry geometry;
  SyncPolicy sync;
  size_t size = 0;  // bytes
  bool exclusive = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class DyingServerUploadTest : public testing::TestWithParam<Case> {
 protected:
  // One upload, by an engine of its own, whose `dead` goes at its request number `first`; answers whether it
  // did.
  static bool Try(MemberIndex dead, uint64_t first, FaultKind last) {
    const Case& c = GetParam();
    TestStore::Options options = Impatient();
    options.geometry = c.geometry;
    options.sync = c.sync;
    TestStore store(options);
    const auto servers = static_cast<MemberIndex>(store.engine().descriptor().members.size());
    for (uint32_t i = 1; i < c.geometry.parity_chunks; ++i)
      store.faults((static_cast<size_t>(dead) + 3 * i) % servers).SetDown(true);
    store.faults(dead).Add({.kind = last, .first = first, .count = 1});
    const uint64_t gone = store.faults(dead).Add({.first = first});
    const std::string bytes = TestBytes(c.size);
    WriteOptions exclusive;
    exclusive.only_if.absent = c.exclusive;
    const Result<Committed> committed = store.Put("/o", bytes, exclusive);
    EXPECT_TRUE(committed) << committed.error().ToString();
    const bool died = store.faults(dead).injected() > 0;
    store.faults(dead).Remove(gone);
    store.faults(dead).SetDown(true);
    const Result<std::string> read = store.Get("/o");
    EXPECT_TRUE(read) << read.error().ToString();
    EXPECT_TRUE(read && *read == bytes);
    return died;
  }
};

constexpr Geometry kThree{2, 1, 8 * kKiB};

INSTANTIATE_TEST_SUITE_P(
    Uploads, DyingServerUploadTest,
    testing::Values(Case{"Stripes", kSmall, SyncPolicy::kNone, 5 * kStripe + 1},
                    Case{"StripesSynced", kSmall, SyncPolicy::kCommit, 5 * kStripe + 1},
                    Case{"OneStripe", kSmall, SyncPolicy::kNone, 10'000},
                    Case{"OneStripeExclusive", kSmall, SyncPolicy::kCommit, 10'000, true},
                    Case{"Empty", kSmall, SyncPolicy::kCommit, 0},
                    Case{"OneParity", kThree, SyncPolicy::kNone, 100'000},
                    Case{"OneParitySmallExclusive", kThree, SyncPolicy::kNone, 5'000, true}),
    [](const auto& case_info) { return case_info.param.name; });

TEST_P(DyingServerUploadTest, NobodyNotices) {
  const auto servers = static_cast<MemberIndex>(GetParam().geometry.Total() + 2);
  for (MemberIndex dead = 0; dead < servers; ++dead) {
    for (const FaultKind last : {FaultKind::kFailAfter, FaultKind::kFailBefore}) {
      for (uint64_t first = 1;; ++first) {
        const bool died = Try(dead, first, last);
        ASSERT_FALSE(HasFailure()) << "server " << dead << " dies at request " << first << ", "
                                   << (last == FaultKind::kFailAfter ? "executed" : "not executed");
        if (!died) break;
      }
    }
  }
}

}  // namespace
}  // namespace xec
