// SPDX-License-Identifier: LGPL-3.0-or-later
// Layout xrdec when the way to the servers is cut in the middle of an operation: after the n-th request to
// each of them, for every n, with and without the reply to the last one. Whatever was answered, names are
// whole afterwards, and an answer OK holds.
#include "runtime/sync_wait.hh"
#include "store/test/xrdec_test_support.hh"

namespace xec {
namespace {

constexpr uint64_t kCutsMax = 24;

class XrdecCuts : public XrdecStoreTest {
 protected:
  // From the n-th request on nothing reaches a server; with `lost_reply` that one does, but not its answer.
  void Cut(uint64_t n, bool lost_reply) {
    for (size_t i = 0; i < test_.server_count(); ++i) {
      FaultRule last;
      last.kind = FaultKind::kFailAfter;
      last.first = n;
      last.count = 1;
      if (lost_reply) test_.faults(i).Add(last);
      FaultRule cut;
      cut.first = n;
      test_.faults(i).Add(cut);
    }
  }

  void Mend() {
    test_.Settle();
    ClearFaults();
  }

  // Whole, or not there for sure.
  bool Exists(const std::string& path, const std::string& bytes) {
    const auto got = Get(path);
    if (!got) {
      EXPECT_EQ(got.code(), Code::kNotFound) << path << ": " << got.error().ToString();
      return false;
    }
    EXPECT_EQ(*got, bytes) << path;
    return true;
  }

  // An outcome that was told to be unknown may be decided by one that hears more of the homes: a later look,
  // or the cleaner. It takes effect then; what has taken effect stays.
  static bool MayStillHappen(const Status& told) { return !told && told.code() != Code::kNotFound; }

  const std::string bytes_ = TestBytes(600'000);
};

TEST_F(XrdecCuts, OfAPut) {
  size_t committed = 0, absent = 0;
  for (const bool lost_reply : {false, true}) {
    for (uint64_t n = 1; n <= kCutsMax; ++n) {
      const std::string path = fmt::format("/put-{}-{}", lost_reply, n);
      SCOPED_TRACE(path);
      Cut(n, lost_reply);
      const Status put = Put(path, bytes_);
      Mend();
      const bool there = Exists(path, bytes_);
      if (put) {
        EXPECT_TRUE(there);
      }
      EXPECT_TRUE(put || there || put.code() != Code::kAlreadyExists);
      const auto cleaned = SyncWait(store_->Clean());
      EXPECT_TRUE(cleaned) << cleaned.error().ToString();
      const bool stands = Exists(path, bytes_);
      if (there || !MayStillHappen(put)) {
        EXPECT_EQ(stands, there) << "cleaning changes nothing that is decided";
      }
      if (there) {
        EXPECT_EQ(ServersWith(path).size(), 6u);
      }
      ++(there ? committed : absent);
    }
  }
  EXPECT_GT(committed, 2u);
  EXPECT_GT(absent, 10u);
}

TEST_F(XrdecCuts, OfARemoval) {
  size_t removed_names = 0, left = 0;
  for (const bool lost_reply : {false, true}) {
    for (uint64_t n = 1; n <= kCutsMax / 2; ++n) {
      const std::string path = fmt::format("/remove-{}-{}", lost_reply, n);
      SCOPED_TRACE(path);
      ASSERT_TRUE(Put(path, bytes_));
      Cut(n, lost_reply);
      const Status removed = SyncWait(store_->Remove(path));
      Mend();
      const bool there = Exists(path, bytes_);
      if (removed) {
        EXPECT_FALSE(there);
      }
      for (int pass = 0; pass < 3; ++pass) (void)SyncWait(store_->Clean());
      const bool stands = Exists(path, bytes_);
      if (!there || !MayStillHappen(removed)) {
        EXPECT_EQ(stands, there);
      }
      if (!there) {
        EXPECT_THAT(ServersWith(path), ::testing::IsEmpty());
      }
      ++(there ? left : removed_names);
    }
  }
  EXPECT_GT(removed_names, 2u);
  EXPECT_GT(left, 2u);
}

TEST_F(XrdecCuts, OfARename) {
  size_t moved = 0, stayed = 0;
  for (const bool lost_reply : {false, true}) {
    for (uint64_t n = 1; n <= kCutsMax; ++n) {
      const std::string from = fmt::format("/from-{}-{}", lost_reply, n);
      const std::string to = fmt::format("/to-{}-{}", lost_reply, n);
      SCOPED_TRACE(from);
      ASSERT_TRUE(Put(from, bytes_));
      Cut(n, lost_reply);
      const Status renamed = SyncWait(store_->Rename(from, to));
      Mend();
      const bool at_from = Exists(from, bytes_);
      const bool at_to = Exists(to, bytes_);
      EXPECT_NE(at_from, at_to) << "under exactly one name";
      if (renamed) {
        EXPECT_TRUE(at_to);
      }
      (void)SyncWait(store_->Clean());
      const bool still_at_from = Exists(from, bytes_);
      if (at_to || !MayStillHappen(renamed)) {
        EXPECT_EQ(still_at_from, at_from);
      }
      EXPECT_NE(still_at_from, Exists(to, bytes_)) << "under exactly one name";
      ++(at_to ? moved : stayed);
    }
  }
  EXPECT_GT(moved, 2u);
  EXPECT_GT(stayed, 5u);
}

}  // namespace
}  // namespace xec
