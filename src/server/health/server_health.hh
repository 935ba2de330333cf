// SPDX-License-Identifier: LGPL-3.0-or-later
// ServerHealth: what one process knows about the health of its data servers (promise P8). Pure but for its
// locks: it is told what happens, with times, and asked; it never reads a clock, waits or sends anything
// (health_monitor.hh probes). One for each Engine.
//
//            owes an answer for longer than its patience             refused, connection lost,
//            (when a deadline passes as well)                        not the server it should be
//       up ------------------------------------------> suspect ----------------------------------> down
//        ^                                                |                                          |
//        +------- an answer (of each silent kind) --------+------------------------------------------+
//
// Silence needs no event: it follows from `now` and the oldest request that is owed, so a server that was
// stopped is suspect long before the deadline of the first request it does not answer. A request does not
// count as owed once a later one of its kind was answered: then it is stuck, not the server. Errors that are
// the name's (not found, exists, no space, permission) are answers.
//
// After suspect or down, and after an answer that came late and was overtaken by others, a server is up at
// once but not *trusted*: it is used, but asked after the others, until it has been good for a while, which
// doubles each time it fails again soon. An answer is overtaken by one to a request that was sent later by
// more than the patience.
//
// Patience of a server for a kind of request is kPatienceFactor times the high quantile of its last
// latencies, within bounds: longer than that an answer hardly ever takes while it is well. While everybody is
// behind (fleet_lag.hh), it is at least kPatienceFactor times what everybody takes: when a thousand clients
// come at once their requests wait for each other, and no server looks bad for it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "base/result.hh"
#include "server/health/fleet_lag.hh"
#include "server/health/latency_window.hh"
#include "server/health/request_kind.hh"

namespace xec {

// What the end of a request says about its server.
enum class RequestEnd {
  kAnswered,  // be it by an error of the name's
  kSilent,  // the deadline passed
  kUnreachable,  // refused, connection lost, or not the server it should be
  kDropped,  // nobody waits for the answer any more: says nothing
};
RequestEnd EndOf(Code code);

enum class ServerState { kUp, kSuspect, kDown };

// The named constants of the rules above.
struct HealthRules {
  static constexpr int kPatienceFactor = 4;
  // While everybody is behind patience is no longer than this for it: shorter than deadlines.
  static constexpr Duration kBehindMost = std::chrono::seconds(4);
  struct Bounds {
    Duration first;  // while there are few samples
    Duration least;
    Duration most;
  };
  // By RequestKind. What waits for a disk may take seconds on a busy one; for a server that hangs in a sync
  // nobody waits as long as for the deadline of small requests.
  std::array<Bounds, kRequestKindCount> patience = {{
      {std::chrono::milliseconds(150), std::chrono::milliseconds(80), std::chrono::seconds(2)},
      {std::chrono::milliseconds(150), std::chrono::milliseconds(80), std::chrono::seconds(2)},
      {std::chrono::milliseconds(200), std::chrono::milliseconds(80), std::chrono::seconds(2)},
      {std::chrono::seconds(1), std::chrono::milliseconds(200), std::chrono::seconds(5)},
      {std::chrono::seconds(1), std::chrono::milliseconds(500), std::chrono::seconds(10)},
      {std::chrono::seconds(2), std::chrono::seconds(1), std::chrono::seconds(8)},
  }};
  // A server that was bad is trusted after this time; twice that when it was bad again within `forgive`, and
  // so on.
  Duration trust_first = std::chrono::seconds(1);
  Duration trust_longest = std::chrono::seconds(30);
  Duration forgive = std::chrono::seconds(60);
  // An overtaken answer costs trust if there was another one among so many answers before it, or if there
  // have been no more at all. Those within the least patience count as one.
  static constexpr int kOvertakenOf = 128;
  // Slow: so many answers in a row all took longer than slow_least and than so many times the median of all
  // servers' medians, or what FleetLag says if that is more. Answers to requests that were in flight
  // together, which a single stall holds up, are one. Where more than a third would be slow, nobody is.
  static constexpr int kSlowInARow = 3;
  static constexpr int kSlowFactor = 5;
  Duration slow_least = std::chrono::milliseconds(20);
  // After this time without new evidence it does not count as slow: a server that is asked last has few
  // chances to prove that it is not.
  Duration slow_memory = std::chrono::seconds(30);
};

// From when something that is waited for since then, with this patience, is late, as far as is known at
// `now`: while everybody is behind it becomes later.
TimePoint LateFrom(const FleetLag& fleet, RequestKind kind, TimePoint since, Duration patience,
                   TimePoint now);

struct Standing {
  ServerState state = ServerState::kUp;
  TimePoint since = TimePoint::min();  // of this state; min() = since the start
  bool trusted = true;  // only ever true of kUp
};

// One server. Not thread-safe.
class ServerRecord {
 public:
  // `fleet`: of all servers; the owner keeps it. `server`: which one of them this is.
  ServerRecord(const HealthRules& rules, FleetLag& fleet, size_t server)
      : rules_(rules), fleet_(fleet), server_(server) {
    quiet_since_.fill(TimePoint::max());
  }

  // A request was sent. The ticket goes to its End; tickets rise.
  uint64_t Begin(RequestKind kind, TimePoint now);
  // The request ended; `started` is the time of its Begin. True if quantiles of the kind were computed anew.
  bool End(RequestKind kind, uint64_t ticket, TimePoint started, TimePoint now, RequestEnd end);

  // A server that was seen to be silent in a kind, by this or by SuspectFrom, stays so until it answers in it
  // or nobody waits for that any more: that others become slower is no sign of life.
  Standing At(TimePoint now);
  // From when it is suspect if it answers nothing until then, as far as is known at `now`; min() if it is bad
  // already, max() if it owes nothing.
  TimePoint SuspectFrom(TimePoint now);
  Duration Patience(RequestKind kind) const;
  const LatencyWindow& latencies(RequestKind kind) const { return of(kind).latencies; }

 private:
  struct Kind {
    LatencyWindow latencies;
    // Start of each request sent after the last one that was answered, by ticket.
    std::map<uint64_t, TimePoint> owed;
    TimePoint last_answer = TimePoint::min();
    TimePoint latest_answered = TimePoint::min();  // start of the latest request that was answered
    TimePoint overtaken = TimePoint::min();  // when an answer came that had been overtaken
    int since_overtaken = 0;  // answers since then
  };
  struct Bad {
    ServerState state;
    TimePoint since;
  };
  Kind& of(RequestKind kind) { return kinds_[static_cast<size_t>(kind)]; }
  const Kind& of(RequestKind kind) const { return kinds_[static_cast<size_t>(kind)]; }
  // After each change of what is owed, or was answered.
  void NoteQuiet(RequestKind kind);
  TimePoint QuietSince(RequestKind kind) const { return quiet_since_[static_cast<size_t>(kind)]; }
  void NoteSilent(TimePoint now);
  // From when it is silent in that kind, as far as is known at `now`.
  TimePoint SilentFrom(RequestKind kind, TimePoint now) const;
  // Notes an answer. Was it overtaken, and so was another of the last ones?
  bool OftenOvertaken(RequestKind kind, TimePoint started, TimePoint now);
  void NoteBad(ServerState state, TimePoint since);
  // After each change of bad_ or silent_.
  void TellFleet();
  bool IsBad() const;
  // It is well again, or well but late: not trusted for a while. `again`: one more failure to remember.
  void Distrust(TimePoint now, bool again);

  const HealthRules& rules_;
  FleetLag& fleet_;
  const size_t server_;
  std::array<Kind, kRequestKindCount> kinds_;
  // Since when it owes an answer of each kind without a sign of life; max(): it owes none. Side by side,
  // since every choice among servers asks for all of them.
  std::array<TimePoint, kRequestKindCount> quiet_since_;
  uint64_t next_ticket_ = 1;
  std::optional<Bad> bad_;  // latched until an answer
  std::array<bool, kRequestKindCount> silent_ = {};  // seen to be so while it owed what it owes
  std::array<bool, kRequestKindCount> told_bad_ = {};  // to fleet_
  TimePoint up_since_ = TimePoint::min();
  TimePoint trusted_from_ = TimePoint::min();
  int failures_ = 0;  // in a row, each within `forgive` of the one before
};

// All servers of a process, by member index. Thread-safe; every call takes a few short locks, those of
// FleetLag inside that of a server.
class ServerHealth {
 public:
  explicit ServerHealth(size_t servers, HealthRules rules = {});

  size_t size() const { return slots_.size(); }
  const HealthRules& rules() const { return rules_; }

  uint64_t Begin(size_t server, RequestKind kind, TimePoint now);
  // `problem`: what the server or the connection said, if it is bad news.
  void End(size_t server, RequestKind kind, uint64_t ticket, TimePoint started, TimePoint now, RequestEnd end,
           const std::string& problem = {});

  Standing At(size_t server, TimePoint now) const;
  TimePoint SuspectFrom(size_t server, TimePoint now) const;
  Duration Patience(size_t server, RequestKind kind) const;
  TimePoint LateFrom(RequestKind kind, TimePoint since, Duration patience, TimePoint now) const {
    return xec::LateFrom(fleet_, kind, since, patience, now);
  }

  // In which order to ask, lower first: 0 trusted, 1 trusted but much slower than the others, 2 up but not
  // trusted yet, 3 suspect, 4 down.
  int Rank(size_t server, TimePoint now) const;
  static constexpr int kRankUntrusted = 2;
  static constexpr int kRankSuspect = 3;
  static constexpr int kWorstRank = 4;

  // For people.
  struct Report {
    Standing standing;
    bool slow = false;
    std::string problem;  // the last bad news; "" if there was none
    struct Latency {
      size_t samples = 0;
      Duration median{0};
      Duration high{0};
      Duration patience{0};
    };
    std::array<Latency, kRequestKindCount> latencies;
  };
  Report ReportOf(size_t server, TimePoint now) const;

 private:
  struct Slot {
    Slot(const HealthRules& rules, FleetLag& fleet, size_t server) : record(rules, fleet, server) {}
    mutable Mutex mutex{LockRank::kServerHealth};
    ServerRecord record XEC_GUARDED_BY(mutex);
    std::string problem XEC_GUARDED_BY(mutex);
    struct SlowRow {
      int length = 0;
      TimePoint last = TimePoint::min();  // when the last one that counts was answered
    };
    std::array<SlowRow, kRequestKindCount> slow_rows XEC_GUARDED_BY(mutex);
    std::atomic<TimePoint> slow_until = TimePoint::min();
    bool Slow(TimePoint now) const { return now < slow_until.load(std::memory_order_relaxed); }
  };
  // Server times kind; micros; 0 = too few samples.
  using Medians = std::array<uint32_t, kRequestKindCount>;

  void NoteMedian(size_t server, RequestKind kind, Duration median);
  bool MuchSlower(RequestKind kind, TimePoint started, TimePoint now);
  // It answered at `now` what was sent at `started`.
  void NoteSlow(size_t server, RequestKind kind, TimePoint started, TimePoint now);
  const HealthRules rules_;
  FleetLag fleet_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Mutex medians_mutex_;
  std::vector<Medians> medians_ XEC_GUARDED_BY(medians_mutex_);
};

}  // namespace xec
