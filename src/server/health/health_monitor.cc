// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/health/health_monitor.hh"

#include <algorithm>

#include <fmt/format.h>

namespace xec {
namespace {

// No probe of one server has this number.
constexpr uint64_t kUnwatched = UINT64_MAX;
// Small on every member, and a server that lacks it answers as well.
constexpr const char* kProbePath = "/.xec";

std::string Seconds(Duration time) {
  return fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

}  // namespace

HealthMonitor::HealthMonitor(std::shared_ptr<ServerHealth> health, Executor& executor, Options options)
    : health_(std::move(health)), executor_(executor), options_(options), watched_(health_->size()) {}

void HealthMonitor::SetServers(std::vector<DataServerPtr> servers) {
  MutexLock lock(mutex_);
  servers_ = std::move(servers);
}

void HealthMonitor::SetListener(std::function<void(const HealthChange&)> listener) {
  MutexLock lock(mutex_);
  listener_ = std::move(listener);
}

uint64_t HealthMonitor::probes() const {
  MutexLock lock(mutex_);
  return probes_;
}

void HealthMonitor::Stop() {
  std::vector<DataServerPtr> servers;
  MutexLock lock(mutex_);
  stopped_ = true;
  for (const Watched& watched : watched_) {
    if (watched.timer != 0) executor_.Cancel(watched.timer);
  }
  if (roll_call_ != 0) executor_.Cancel(roll_call_);
  servers.swap(servers_);  // they refer back to this
}

void HealthMonitor::Watch(size_t server) {
  const TimePoint now = executor_.Now();
  MutexLock lock(mutex_);
  Watched& watched = watched_[server];
  watched.wanted = now;
  if (watched.active || stopped_) return;
  watched.active = true;
  watched.pause = options_.pause_first;
  watched.probe_at = now;
  watched.timer = executor_.RunAt(now, [self = weak_from_this(), server] {
    if (const auto monitor = self.lock()) monitor->Step(server);
  });
}

void HealthMonitor::Check(size_t server) {
  const TimePoint now = executor_.Now();
  {
    MutexLock lock(mutex_);
    Watched& watched = watched_[server];
    if (watched.active || stopped_ || now < watched.next_check) return;
    watched.next_check = now + options_.check_interval;
    ++probes_;
  }
  SendProbe(server, kUnwatched, now + options_.probe_timeout);
}

void HealthMonitor::Step(size_t server) {
  const TimePoint now = executor_.Now();
  std::optional<HealthChange> change;
  std::function<void(const HealthChange&)> listener;
  uint64_t probe = 0;
  bool bad = false;
  {
    MutexLock lock(mutex_);
    Watched& watched = watched_[server];
    watched.timer = 0;
    if (stopped_ || !watched.active) return;
    const Standing standing = health_->At(server, now);
    bad = watched.seen == ServerState::kUp && standing.state != ServerState::kUp;
    change = Tell(server, standing, now);
    listener = listener_;
    const bool well = standing.trusted && standing.state == ServerState::kUp;
    const bool told = watched.told == standing.state;
    const bool unwanted = now - watched.wanted > options_.idle;
    if (told && (well || unwanted)) {
      watched.active = false;
      watched.probing = false;
    } else {
      if (watched.probing && now >= watched.probe_until) {
        watched.probing = false;
        watched.probe_at = now + watched.pause;
        watched.pause = std::min(2 * watched.pause, options_.pause_longest);
      }
      if (!watched.probing && now >= watched.probe_at) {
        watched.probing = true;
        probe = ++watched.probe;
        watched.probe_until = now + options_.probe_timeout;
        ++probes_;
      }
      TimePoint next = watched.probing ? watched.probe_until : watched.probe_at;
      // Silence becomes a state, and distrust ends, without any event.
      next = std::min(next, now + options_.pause_longest);
      watched.timer = executor_.RunAt(next, [self = weak_from_this(), server] {
        if (const auto monitor = self.lock()) monitor->Step(server);
      });
    }
  }
  if (change && listener) listener(*change);
  if (probe != 0) SendProbe(server, probe, now + options_.probe_timeout);
  if (bad) CallRoll();
}

void HealthMonitor::CallRoll() {
  const TimePoint now = executor_.Now();
  std::vector<size_t> called;
  {
    MutexLock lock(mutex_);
    if (stopped_ || now < next_roll_call_) return;
    next_roll_call_ = now + options_.roll_call_interval;
    Duration patience{0};
    for (size_t i = 0; i < watched_.size(); ++i) {
      if (watched_[i].active) continue;
      called.push_back(i);
      patience = std::max(patience, health_->Patience(i, RequestKind::kMetadata));
    }
    probes_ += called.size();
    if (called.empty()) return;
    roll_call_ = executor_.RunAt(now + patience + Duration(1), [self = weak_from_this()] {
      if (const auto monitor = self.lock()) monitor->EndRollCall();
    });
  }
  for (const size_t server : called) SendProbe(server, kUnwatched, now + options_.probe_timeout);
}

void HealthMonitor::EndRollCall() {
  const TimePoint now = executor_.Now();
  for (size_t i = 0; i < health_->size(); ++i) {
    if (health_->At(i, now).state != ServerState::kUp) Watch(i);
  }
}

std::optional<HealthChange> HealthMonitor::Tell(size_t server, const Standing& standing, TimePoint now) {
  Watched& watched = watched_[server];
  if (standing.state != watched.seen) {
    if (watched.seen == ServerState::kUp) watched.bad_since = standing.since;
    // It may be told long after it was seen.
    if (standing.state == ServerState::kUp)
      watched.up_since = standing.since >= watched.bad_since ? standing.since : now;
    watched.seen = standing.state;
    ++watched.changes;
  }
  if (standing.state == watched.told) return std::nullopt;
  if (watched.told_at != TimePoint::min() && now < watched.told_at + options_.tell_interval)
    return std::nullopt;
  HealthChange change;
  change.server = server;
  change.from = watched.told;
  change.to = standing.state;
  change.lasted = (standing.state == ServerState::kUp ? watched.up_since : now) - watched.bad_since;
  change.problem = health_->ReportOf(server, now).problem;
  change.untold = watched.changes > 0 ? watched.changes - 1 : 0;
  watched.told = standing.state;
  watched.told_at = now;
  watched.changes = 0;
  return change;
}

void HealthMonitor::SendProbe(size_t server, uint64_t probe, TimePoint deadline) {
  DataServerPtr target;
  {
    MutexLock lock(mutex_);
    if (stopped_ || servers_.empty()) return;
    target = servers_[server];
  }
  target->List({deadline}, kProbePath,
               [self = weak_from_this(), server, probe](Result<std::vector<Entry>> listed) {
                 const RequestEnd end = listed ? RequestEnd::kAnswered : EndOf(listed.code());
                 const bool well = end == RequestEnd::kAnswered || end == RequestEnd::kDropped;
                 if (const auto monitor = self.lock()) monitor->ProbeEnded(server, probe, well);
               });
}

void HealthMonitor::ProbeEnded(size_t server, uint64_t probe, bool well) {
  if (probe == kUnwatched) {
    if (!well) Watch(server);
    return;
  }
  {
    MutexLock lock(mutex_);
    Watched& watched = watched_[server];
    if (stopped_ || !watched.active || watched.probe != probe || !watched.probing) return;
    watched.probing = false;
    if (well) watched.pause = options_.pause_first;
    watched.probe_at = executor_.Now() + watched.pause;
    if (!well) watched.pause = std::min(2 * watched.pause, options_.pause_longest);
    // When it cannot be cancelled any more, the step is about to run by itself.
    if (!executor_.Cancel(watched.timer)) return;
  }
  Step(server);
}

std::string DescribeChange(const HealthChange& change, std::string_view name) {
  const std::string often =
      change.untold == 0 ? "" : fmt::format(" (its state changed {} more times before)", change.untold);
  // Most changes are told at once, when there is no time to speak of yet.
  const bool just_now = change.lasted < std::chrono::seconds(1);
  const std::string time = just_now ? "" : Seconds(change.lasted);
  switch (change.to) {
    case ServerState::kUp:
      return fmt::format("data server {} answers again{}{}", name, just_now ? "" : " after " + time, often);
    case ServerState::kSuspect:
      return fmt::format(
          "data server {} {}{}: it is asked last, and objects are read from the others while enough of them "
          "answer. Is it overloaded, stopped, or cut off?",
          name, just_now ? "does not answer" : "has not answered for " + time, often);
    case ServerState::kDown:
      return fmt::format(
          "data server {} {}{}: {}. Objects are read from the others while enough of them answer. Start it "
          "again, or see that it can be reached",
          name, just_now ? "is down" : "has been down for " + time, often, change.problem);
  }
  return {};
}

}  // namespace xec
