// SPDX-License-Identifier: LGPL-3.0-or-later
// A process that was stopped in the middle of a round of requests counted what homes had said before, though
// the disk of one was lost meanwhile, and compared with the others (docs/protocol/disks.md).
#include "commit/engine/names.hh"
#include "commit/steps/promote.hh"
#include "commit/test/test_world.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr Duration kSleep = 30s;
// By then homes have answered, and none is late.
constexpr Duration kAnswered = 30ms;
constexpr uint64_t kSeeds = 24;

// One home says something, its disk is lost while the process that has heard it is stopped, and then another
// home says the same.
class LongRound {
 public:
  explicit LongRound(uint64_t seed)
      : world(TestWorld::Options{.seed = seed}),
        sleeper(world.NewGateway()),
        homes(sleeper.engine->Homes(path)),
        empty(world.memory[homes[0]]->Take()) {}

  void Add(size_t home, FaultRule rule) {
    rule.count = 1;
    sleeper.faults[homes[home]]->plan().Add(std::move(rule));
  }
  // Once the first home has answered.
  void Stop() {
    world.Pass(kAnswered);
    sleeper.process.SleepUntil(world.executor.Now() + kSleep);
    world.memory[homes[0]]->Restore(empty);
    world.Pass(kSleep);
  }
  Status Make(MemberIndex home, const State& state) {
    return world.Seal(world.NewGateway(), path, home, state);
  }
  size_t Having(const Accepted& accepted) {
    size_t having = 0;
    Gateway& fresh = world.NewGateway();
    for (const MemberIndex home : homes) {
      const auto states = world.Run(ListStates(*fresh.engine, home, path));
      having += states && HasAccepted(*states, accepted) ? 1 : 0;
    }
    return having;
  }
  template <typename T>
  static Task<void> Keep(Task<T> task, std::optional<T>& into) {
    into.emplace(co_await task);
  }
  template <typename T>
  T End(std::optional<T>& told) {
    XEC_CHECK(world.executor.RunUntil([&] { return told.has_value(); }, 1'000'000));
    return std::move(*told);
  }

  const ObjectPath path = TestWorld::Path("/a");
  TestWorld world;
  Gateway& sleeper;
  const Homes homes;
  const std::shared_ptr<const MemoryServer::Snapshot> empty;
};

TEST(LongRound, AcceptancesFromBeforeAreNotCounted) {
  size_t done = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    LongRound round(seed);
    Engine& engine = *round.sleeper.engine;
    const State seal = SealedState(engine.NewObjectId());
    const State promoted = PromotedState(*engine.NextVersion({}), seal.oid, 7, {});
    for (const MemberIndex home : round.homes) ASSERT_TRUE(round.Make(home, seal));
    round.Add(1, {.kind = FaultKind::kDelay, .operation = Operation::kRename, .delay = 2 * kAnswered});
    round.Add(2, {.operation = Operation::kRename});
    std::optional<Result<bool>> told;
    round.sleeper.scope.Spawn(
        LongRound::Keep(PromoteHomes(engine, round.path, round.homes, promoted, FormatState(seal)), told));
    round.Stop();
    const Result<bool> committed = round.End(told);
    EXPECT_TRUE(committed || committed.code() == Code::kUnknown) << seed << committed.error().message;
    if (!committed) continue;
    ++done;
    EXPECT_GE(round.Having(AcceptedFrom(promoted)), round.homes.quorum()) << seed;
  }
  EXPECT_GT(done, 0u) << "a look anew tells that it is committed";
}

TEST(LongRound, MarksFromBeforeAreNotCounted) {
  size_t done = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    LongRound round(seed);
    Engine& engine = *round.sleeper.engine;
    const State mark = TombstoneState(*engine.NextVersion({}));
    // Another one is asked in its place once the process goes on.
    round.Add(1, {.kind = FaultKind::kHang, .operation = Operation::kMakeDirectory});
    std::optional<Status> told;
    round.sleeper.scope.Spawn(LongRound::Keep(MarkQuorum(engine, round.path, mark, round.homes), told));
    round.Stop();
    const Status marked = round.End(told);
    EXPECT_TRUE(marked || marked.code() == Code::kUnknown) << seed << marked.error().message;
    if (!marked) continue;
    ++done;
    EXPECT_GE(round.Having(AcceptedFrom(mark)), round.homes.quorum()) << seed;
  }
  EXPECT_GT(done, 0u) << "a look anew tells that it stands";
}

TEST(LongRound, WhatHomesShowedBeforeIsLookedForAgain) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    LongRound round(seed);
    Engine& engine = *round.sleeper.engine;
    const State promoted = PromotedState(*engine.NextVersion({}), engine.NewObjectId(), 7, {});
    ASSERT_TRUE(round.Make(round.homes[0], promoted));
    round.Add(1, {.kind = FaultKind::kHang, .operation = Operation::kList});
    std::optional<Result<NameInfo>> told;
    round.sleeper.scope.Spawn(LongRound::Keep(LookUp(engine, round.path), told));
    round.Stop();
    // Its writer was stopped, too.
    ASSERT_TRUE(round.Make(round.homes[2], promoted));
    const Result<NameInfo> info = round.End(told);
    ASSERT_TRUE(info) << seed << info.error().message;
    if (!info->accepted.Live()) continue;
    ++found;
    EXPECT_GE(round.Having(AcceptedFrom(promoted)), round.homes.quorum()) << seed;
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace xec
