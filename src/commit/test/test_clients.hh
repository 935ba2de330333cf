// SPDX-License-Identifier: LGPL-3.0-or-later
// Several clients of two gateways, at work on the same names when servers stop, no more than the store
// tolerates: what they do differs from test to test, that nobody waits (promise P8) does not.
#pragma once

#include "commit/engine/pause.hh"
#include "commit/test/test_world.hh"

namespace xec {

class ClientsAtOnce {
 public:
  struct Limits {
    Duration delay_max;   // of requests to servers that are slow now and then
    Duration stop_within;  // of the beginning
    Duration longest;     // of what a client does
  };

  ClientsAtOnce(const TestWorld::Options& options, const Limits& limits)
      : random_(options.seed),
        world_(options),
        limits_(limits),
        gateways_{&world_.NewGateway(), &world_.NewGateway()} {}
  virtual ~ClientsAtOnce() = default;

  void Run() {
    constexpr size_t kClients = 4;
    constexpr size_t kStepsMax = 2'000'000;
    Prepare();
    ServersSuffer();
    std::vector<Told> told(kClients);
    for (Told& one : told) scope_.Spawn(Work(one));
    const auto ended = [&] {
      return std::all_of(told.begin(), told.end(), [](const Told& one) { return one.status.has_value(); });
    };
    ASSERT_TRUE(world_.executor.RunUntil(ended, kStepsMax)) << world_.options.seed;
    for (const Told& one : told) Check(one);
    for (Gateway* gateway : gateways_) gateway->Kill();
  }

 protected:
  using Gateway = TestWorld::Gateway;

  // While all servers are well.
  virtual void Prepare() = 0;
  // One thing that a client does, told in `what`.
  virtual Task<Status> Act(Gateway& gateway, std::string& what) = 0;
  // May a client be told so beside the others?
  virtual bool IsFair(Code code, const std::string& what) const = 0;

  uint64_t Below(uint64_t limit) { return random_.Next() % limit; }
  Duration MillisecondsBelow(Duration limit) {
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    return std::chrono::milliseconds(Below(static_cast<uint64_t>(count)));
  }
  ObjectPath AnyName() { return TestWorld::Path(Below(2) == 0 ? "/d/a" : "/d/b"); }

  Random random_;
  TestWorld world_;
  const Limits limits_;
  TaskScope scope_;
  std::vector<Gateway*> gateways_;

 private:
  struct Told {
    std::string what;
    std::optional<Status> status;
    TimePoint begun;
    TimePoint ended;
  };

  // Some stop, all others are slow now and then.
  void ServersSuffer() {
    constexpr Duration kDelayMin = std::chrono::milliseconds(5);
    const uint64_t seldom = 2 + Below(6);
    const Duration delay = kDelayMin + MillisecondsBelow(limits_.delay_max - kDelayMin);
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults)
        fault->plan().Add({.kind = FaultKind::kDelay, .one_in = seldom, .delay = delay});
    }
    for (uint32_t i = 0; i < world_.options.tolerance; ++i) {
      const size_t server = Below(world_.memory.size());
      const auto stop = [this, server] {
        for (Gateway* gateway : gateways_) {
          gateway->faults[server]->plan().Clear();
          gateway->faults[server]->plan().Add({.kind = FaultKind::kHang});
        }
      };
      world_.executor.RunAt(world_.executor.Now() + MillisecondsBelow(limits_.stop_within), stop);
    }
  }

  Task<void> Work(Told& told) {
    Gateway& gateway = *gateways_[Below(gateways_.size())];
    co_await Pause(*gateway.engine, std::chrono::milliseconds(Below(300)));
    told.begun = world_.executor.Now();
    Status status = co_await Act(gateway, told.what);
    told.ended = world_.executor.Now();
    told.status = std::move(status);
  }

  void Check(const Told& told) {
    const std::string when = fmt::format("seed {}, {}: {}", world_.options.seed, told.what,
                                         *told.status ? "ok" : told.status->error().message);
    EXPECT_LE(told.ended - told.begun, limits_.longest) << when;
    EXPECT_TRUE(*told.status || IsFair(told.status->code(), told.what)) << when;
  }
};

}  // namespace xec
