// SPDX-License-Identifier: LGPL-3.0-or-later
// What becomes of seals on servers that an upload gave up while it went on elsewhere.
#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/access.hh"
#include "object/test/test_object.hh"
#include "object/test/test_upload.hh"

namespace xec {
namespace {

// Has the server a file of the object with this in its name?
bool HasFile(const TestStore& store, MemberIndex server, const char* part) {
  const auto files = store.Archives("/o");
  return std::any_of(files.begin(), files.end(), [&](const auto& file) {
    return file.first == server && file.second.find(part) != std::string::npos;
  });
}

// What was given up may be complete all the same, and then its manifest names no spare; or empty, and then a
// power cut takes it. Its removal may have failed.
void ExpectThatNoSealGivenUpIsPromoted(Operation lost) {
  TestStore store(Impatient());
  const MemberIndex late = store.engine().Homes(TestStore::Path("/o"))[0];
  FaultRule answer;
  answer.kind = FaultKind::kFailAfter;
  answer.operation = lost;
  answer.path_contains = "/s.";
  store.faults(late).Add(answer);
  FaultRule removal;
  removal.operation = Operation::kRemove;
  removal.path_contains = "/s.";
  store.faults(late).Add(removal);
  const std::string bytes = TestBytes(3 * kStripe);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  store.faults(late).Clear();
  const auto on_late = [&](const char* kind) { return HasFile(store, late, kind); };
  ASSERT_TRUE(on_late("/s."));
  // A server that failed just now is not waited for in every pass.
  for (int pass = 0; pass < 100 && on_late("/s."); ++pass)
    ASSERT_TRUE(SyncWait(CleanName(store.engine(), TestStore::Path("/o"))));
  EXPECT_FALSE(on_late("/p."));
  EXPECT_FALSE(on_late("/s."));
  ExpectWhole(store, {late}, bytes);
}

TEST(GivenUpSealTest, ASealThatWasGivenUpTakesNoPlaceBesideItsSpare) {
  ExpectThatNoSealGivenUpIsPromoted(Operation::kSync);
}

TEST(GivenUpSealTest, AnEmptySealIsNotPromoted) { ExpectThatNoSealGivenUpIsPromoted(Operation::kCreate); }

// A server that is slow to tell what it has may have all that is needed.
TEST(GivenUpSealTest, ASealThatCannotBeReadNowIsKept) {
  TestStore store(Impatient());
  const MemberIndex late = store.engine().Homes(TestStore::Path("/o"))[0];
  const auto on_late = [&](const char* kind) { return HasFile(store, late, kind); };
  const FaultRule no_promotion{.operation = Operation::kRename, .path_contains = "/s."};
  store.faults(late).Add(no_promotion);
  const std::string bytes = TestBytes(3 * kStripe);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  const auto clean = [&] { return SyncWait(CleanName(store.engine(), TestStore::Path("/o"))).has_value(); };
  for (const Code code :
       {Code::kUnavailable, Code::kDeadlineExceeded, Code::kUnknown, Code::kPermissionDenied}) {
    const uint64_t rule = store.faults(late).Add(
        {.operation = Operation::kRead, .path_contains = "/s.", .error = {code, "slow"}});
    // A server that failed just now is not waited for in every pass.
    for (int pass = 0; pass < 100; ++pass) clean();
    EXPECT_TRUE(on_late("/s.")) << static_cast<int>(code);
    store.faults(late).Remove(rule);
  }
  store.faults(late).Clear();
  for (int pass = 0; pass < 100 && on_late("/s."); ++pass) clean();
  EXPECT_TRUE(on_late("/p."));
  ExpectWhole(store, {}, bytes);
}

// Each of two archives of a lane names its own server. Where the one that was given up had taken the accepted
// name, its spare was removed, the only archive of the lane that had been synced (seed 8086).
TEST(GivenUpSealTest, TheSpareStaysBesideWhatItsWriterGaveUp) {
  TestStore store(Impatient());
  Engine& engine = store.engine();
  const ObjectPath path = TestStore::Path("/o");
  const Homes homes = engine.Homes(path);
  const MemberIndex late = homes[0];
  store.faults(late).Add(
      {.kind = FaultKind::kFailAfter, .operation = Operation::kSync, .path_contains = "/s."});
  store.faults(late).Add({.operation = Operation::kRemove, .path_contains = "/s."});
  for (MemberIndex other = 0; other < store.server_count(); ++other) {
    if (!Contains(homes, other))
      store.faults(other).Add({.operation = Operation::kRename, .path_contains = "/s."});
  }
  const std::string bytes = TestBytes(3 * kStripe);
  ASSERT_TRUE(store.Put("/o", bytes));
  store.Settle();
  for (MemberIndex server = 0; server < store.server_count(); ++server) store.faults(server).Clear();
  const Result<NameInfo> info = SyncWait(LookUpLive(engine, path));
  ASSERT_TRUE(info);
  const Accepted& now = info->accepted;
  const State seal = SealedState(now.oid), archive = PromotedState(now.version, now.oid, now.size);
  ASSERT_TRUE(SyncWait(RenameState(engine, late, path, FormatState(seal), FormatState(archive))));
  const auto any_sealed = [&] {
    const auto files = store.Archives("/o");
    return std::any_of(files.begin(), files.end(),
                       [](const auto& file) { return file.second.find("/s.") != std::string::npos; });
  };
  ASSERT_TRUE(any_sealed());
  // Only what was given up tells where the lanes are.
  for (const MemberIndex home : homes) {
    if (home != late) store.faults(home).Add({.operation = Operation::kRead, .path_contains = "/p."});
  }
  // A server that failed just now is not waited for in every pass.
  for (int pass = 0; pass < 100 && any_sealed(); ++pass) ASSERT_TRUE(SyncWait(CleanName(engine, path)));
  EXPECT_FALSE(any_sealed());
  for (const MemberIndex home : homes) store.faults(home).Clear();
  store.memory(late).SetDown(true);
  ExpectWhole(store, {late}, bytes);
}

}  // namespace
}  // namespace xec
