// SPDX-License-Identifier: LGPL-3.0-or-later
// FleetLag: what requests take now on most servers. It tells whether a server is late or everybody is: when
// most take long, or say nothing at all, then our own queue, this machine or the network is to blame, and no
// server. Thread-safe; every call takes at most two short locks, one after the other.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "runtime/executor.hh"
#include "server/request_kind.hh"

namespace xec {

class FleetLag {
 public:
  // A server that has answered nothing for so long, and owes nothing, counts as one that takes no time: so it
  // takes most of them to be behind.
  static constexpr Duration kMemory = std::chrono::seconds(1);
  explicit FleetLag(size_t servers);

  // A server answered at `now` a request that was sent at `started`.
  void Note(size_t server, RequestKind kind, TimePoint started, TimePoint now);
  // Since when a server owes an answer without a sign of life; max() = it owes none.
  void NoteQuiet(size_t server, RequestKind kind, TimePoint since);

  // What two thirds of the servers take at least with this kind, or with small requests (kMetadata) if that is
  // more, which everything else waits for as well. Most is not enough: on a small store most may be stopped.
  // A server takes as long as its last answer took, or as it has been quiet if that is more. Answers tell
  // nothing if there was none after `since`.
  Duration At(RequestKind kind, TimePoint since, TimePoint now) const;

 private:
  struct Last {
    Duration latency{0};
    TimePoint at = TimePoint::min();
    TimePoint quiet = TimePoint::max();
  };
  struct Kind {
    mutable std::mutex mutex;
    std::vector<Last> servers;  // guarded by mutex
    TimePoint last_answer = TimePoint::min();  // guarded by mutex
    mutable std::vector<Duration> sorted;  // only in use by At; guarded by mutex
    Duration At(TimePoint since, TimePoint now) const;
  };
  std::array<Kind, kRequestKindCount> kinds_;
};

}  // namespace xec
