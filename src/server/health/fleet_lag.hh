// SPDX-License-Identifier: LGPL-3.0-or-later
// FleetLag: what requests take now on most servers. It tells whether a server is late or everybody is: when
// most take long, or say nothing at all, then our own queue, this machine or the network is to blame, and no
// server. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "base/mutex.hh"
#include "runtime/executor.hh"
#include "server/health/request_kind.hh"

namespace xec {

class FleetLag {
 public:
  // A server that has answered nothing for so long, and owes nothing, counts as one that takes no time: so it
  // takes most of them to be behind.
  static constexpr Duration kMemory = std::chrono::seconds(1);
  // The lag is computed anew after so long: every choice among many servers asks for it many times.
  static constexpr Duration kSampleFor = std::chrono::milliseconds(1);
  explicit FleetLag(size_t servers);

  // A server answered at `now` a request that was sent at `started`.
  void Note(size_t server, RequestKind kind, TimePoint started, TimePoint now);
  // Since when a server owes an answer without a sign of life; max() = it owes none.
  void NoteQuiet(size_t server, RequestKind kind, TimePoint since);
  // A server that is known to be bad, or silent in that kind, does not count for it.
  void NoteBad(size_t server, RequestKind kind, bool bad);

  // What two thirds of the servers, of few all but one, take at least with this kind, or with small requests
  // (kMetadata) if that is more, which everything else waits for as well. A bare majority is not enough: on a
  // small store most may be stopped, and each is judged by a number in which it counts itself. A server takes
  // as long as its last answer took, or as it has been quiet if that is more. Answers tell nothing if there
  // was none after `since`.
  Duration At(RequestKind kind, TimePoint since, TimePoint now) const;
  // The same by answers alone.
  Duration Answered(RequestKind kind, TimePoint since, TimePoint now) const;

 private:
  struct Last {
    Duration latency{0};
    TimePoint at = TimePoint::min();
    TimePoint quiet = TimePoint::max();
    bool bad = false;
  };
  struct Kind {
    Mutex mutex;
    std::vector<Last> servers XEC_GUARDED_BY(mutex);
    std::vector<Duration> sorted XEC_GUARDED_BY(mutex);  // only in use by Sample
    std::atomic<TimePoint> last_answer = TimePoint::min();
    std::atomic<TimePoint> sampled = TimePoint::min();
    std::atomic<Duration> quiet = Duration::zero();
    std::atomic<Duration> answered = Duration::zero();
    std::atomic<Duration> either = Duration::zero();
  };
  enum class By { kAnswers, kSilenceToo };
  Duration LagOf(RequestKind kind, TimePoint since, TimePoint now, By by) const;
  // The lag by what `takes` says of a server.
  template <typename Takes>
  static Duration Lag(Kind& of, Takes takes) XEC_REQUIRES(of.mutex);
  static void Sample(Kind& of, TimePoint now);

  mutable std::array<Kind, kRequestKindCount> kinds_;
};

}  // namespace xec
