// SPDX-License-Identifier: LGPL-3.0-or-later
// HealthMonitor: probes the data servers that are not well, one probe at a time for each, with growing
// pauses, until they are trusted again, and tells of changes of state. When one turns out to be bad all
// others are probed once (a roll call), since seldom only one is: the next request need not find out about
// the next one. But for that and for Check, servers that are well are never probed, nor those that nobody has
// asked for since HealthMonitorOptions::idle.
//
// A probe is one listing of a small directory, which ServerHealth hears of like of any request.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.hh"
#include "server/data_server.hh"
#include "server/health/server_health.hh"

namespace xec {

// A server is in another state than when it was last told.
struct HealthChange {
  size_t server = 0;
  ServerState from = ServerState::kUp;
  ServerState to = ServerState::kUp;
  Duration lasted{0};  // how long it has been in `to`, or, of kUp, how long it was away
  std::string problem;  // the last bad news of it
  uint64_t untold = 0;  // changes in between that were not told, since they came too fast
};

struct HealthMonitorOptions {
  Duration pause_first = std::chrono::milliseconds(100);
  Duration pause_longest = std::chrono::seconds(2);  // and so the longest until a returned server is found
  Duration probe_timeout = std::chrono::seconds(5);
  Duration idle = std::chrono::seconds(60);
  Duration roll_call_interval = std::chrono::seconds(1);  // at least, between two of them
  Duration check_interval = std::chrono::seconds(1);  // at least, between two checks of a server
  // At most one change of a server is told in this time, the last one always.
  Duration tell_interval = std::chrono::seconds(10);
};

// Thread-safe. Held by shared_ptr, since probes in flight outlive its owner.
class HealthMonitor : public std::enable_shared_from_this<HealthMonitor> {
 public:
  using Options = HealthMonitorOptions;
  // `executor` outlives the probes in flight.
  HealthMonitor(std::shared_ptr<ServerHealth> health, Executor& executor, Options options = {});

  // The servers to probe, by index; once, before the first Watch. They feed ServerHealth (HealthServer), but
  // their trouble does not lead to Watch by itself: only a probe that failed does.
  void SetServers(std::vector<DataServerPtr> servers);
  // Runs on a thread of the executor, with no lock held, one call at a time for each server.
  void SetListener(std::function<void(const HealthChange&)> listener);

  // Somebody wants the server and it is not well: it is probed from now on. Cheap when it is already.
  void Watch(size_t server);

  // Somebody has waited so long for an answer that it should be known whether the server answers anything at
  // all: one probe, unless it is watched, at most once in check_interval.
  void Check(size_t server);

  // No probe is sent and nothing is told from now on. Its owner calls it before it goes.
  void Stop();

  uint64_t probes() const;  // sent so far

 private:
  struct Watched {
    bool active = false;
    TimePoint wanted{};  // last Watch
    bool probing = false;
    uint64_t probe = 0;  // number of the last probe: answers to given-up ones count for nothing here
    TimePoint probe_until{};
    TimePoint probe_at{};
    Duration pause{0};
    TimerId timer = 0;
    ServerState told = ServerState::kUp;
    TimePoint told_at = TimePoint::min();
    TimePoint bad_since{};
    TimePoint up_since{};  // after it was bad
    ServerState seen = ServerState::kUp;
    uint64_t changes = 0;  // of state, since `told_at`
    TimePoint next_check = TimePoint::min();
  };

  // One step for a server: looks at its state, tells, probes, sets the timer for the next step.
  void Step(size_t server);
  std::optional<HealthChange> Tell(size_t server, const Standing& standing, TimePoint now)
      XEC_REQUIRES(mutex_);
  // Probes all servers that are not watched, and watches those that do not answer in time.
  void CallRoll();
  void EndRollCall();
  void SendProbe(size_t server, uint64_t probe, TimePoint deadline);
  void ProbeEnded(size_t server, uint64_t probe, bool well);

  const std::shared_ptr<ServerHealth> health_;
  Executor& executor_;
  const Options options_;
  mutable Mutex mutex_{LockRank::kHealthMonitor};
  std::vector<DataServerPtr> servers_ XEC_GUARDED_BY(mutex_);
  std::vector<Watched> watched_ XEC_GUARDED_BY(mutex_);
  std::function<void(const HealthChange&)> listener_ XEC_GUARDED_BY(mutex_);
  uint64_t probes_ XEC_GUARDED_BY(mutex_) = 0;
  TimePoint next_roll_call_ XEC_GUARDED_BY(mutex_) = TimePoint::min();
  TimerId roll_call_ XEC_GUARDED_BY(mutex_) = 0;  // the timer that ends it
  bool stopped_ XEC_GUARDED_BY(mutex_) = false;
};

// The sentence for the operator: what, where, since when, what to do. `name`: "s03 (root://host:1095)".
std::string DescribeChange(const HealthChange& change, std::string_view name);

}  // namespace xec
