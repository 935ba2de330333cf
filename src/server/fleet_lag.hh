// SPDX-License-Identifier: LGPL-3.0-or-later
// FleetLag: what requests take now on most servers. It tells whether a server is late or everybody is: when
// most take long, then our own queue, this machine or the network is to blame, and no server. Thread-safe;
// every call takes at most one short lock.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/executor.hh"
#include "server/request_kind.hh"

namespace xec {

class FleetLag {
 public:
  // A server that has answered nothing for so long counts as one that takes no time: so it takes most of them
  // to be behind.
  static constexpr Duration kMemory = std::chrono::seconds(1);
  explicit FleetLag(size_t servers);

  // A server answered at `now` a request that was sent at `started`.
  void Note(size_t server, RequestKind kind, TimePoint started, TimePoint now);

  // The median of all servers' last latencies with this kind, or with small requests (kMetadata) if that is
  // more, which everything else waits for as well; 0 if nobody has answered after `since`.
  Duration Since(RequestKind kind, TimePoint since) const;

 private:
  struct Last {
    Duration latency{0};
    TimePoint at = TimePoint::min();
  };
  struct Kind {
    std::mutex mutex;
    std::vector<Last> last;  // of each server; guarded by mutex
    std::vector<Duration> sorted;  // only in use by Median; guarded by mutex
    // In this order: who sees an answer sees the median with it.
    std::atomic<Duration> median = Duration::zero();
    std::atomic<TimePoint> last_answer = TimePoint::min();
    Duration Since(TimePoint since) const;
    Duration Median(TimePoint now);
  };
  std::array<Kind, kRequestKindCount> kinds_;
};

}  // namespace xec
