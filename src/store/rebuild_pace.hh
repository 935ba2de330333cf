// SPDX-License-Identifier: LGPL-3.0-or-later
// RebuildPace: how many objects a rebuild may repair at once, and how fast, so that clients come first and
// what is idle is used. Pure: it is told times, and the same answers follow from what it was told.
//
//   clients' requests are under way in this process, or    kSharePercent of the fastest it has been; one
//   object, and
//     were less than kClientsGone ago                        one more, or less, once in kRaiseEvery, as it
//                                                            takes to get on at that rate
//   servers take much longer than at their idle level      half as many, at most once in kLowerEvery
//   neither                                                one more, once in kRaiseEvery, up to all
//
// The idle level is the shortest latency that was told in the last kMemory. A rebuild makes servers slower by
// itself: as long as they are much slower than idle, more objects at once would only wait longer. The fastest
// is what was done in some kWindow of the last kMemory in which there was enough to do. If clients are there
// all the time it is tried out: for that time all objects are repaired at once, and what is done counts
// kTriedFactor times, because clients had the rest. If there is too little to do for that, kSlowest counts,
// and it is tried again after kTryAgain.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/executor.hh"

namespace xec {

// The best of the values that were told in the last while: the greatest by `Less`.
template <typename T, typename Less>
class RecentBest {
 public:
  explicit RecentBest(Duration memory) : memory_(memory) {}

  // What is told within a second counts as one, so that there are not too many.
  void Note(T value, TimePoint now) {
    Forget(now);
    while (!values_.empty() && !less_(value, values_.back().value)) values_.pop_back();
    if (values_.empty() || values_.back().at <= now - std::chrono::seconds(1))
      values_.push_back({now, value});
  }
  void Forget(TimePoint now) {
    while (!values_.empty() && values_.front().at < now - memory_) values_.pop_front();
  }
  std::optional<T> best() const {
    return values_.empty() ? std::nullopt : std::optional(values_.front().value);
  }

 private:
  struct Value {
    TimePoint at;
    T value;
  };
  Duration memory_;
  Less less_;
  // The best of each stretch up to now: what a later one surpasses never is the best again.
  std::deque<Value> values_;
};

class RebuildPace {
 public:
  static constexpr size_t kObjectsMax = 8;
  static constexpr Duration kClientsGone = std::chrono::seconds(1);
  static constexpr Duration kRaiseEvery = std::chrono::milliseconds(500);
  static constexpr Duration kLowerEvery = std::chrono::seconds(1);
  // Much longer: so many times the idle level, and so much more.
  static constexpr int kLatencyFactor = 4;
  static constexpr Duration kLatencyRise = std::chrono::milliseconds(20);
  static constexpr Duration kMemory = std::chrono::minutes(10);
  // A latency that has not changed for so long is no news of the servers.
  static constexpr Duration kLatencyStale = std::chrono::seconds(5);
  // Beside clients, of the fastest.
  static constexpr int kSharePercent = 19;
  static constexpr Duration kWindow = std::chrono::seconds(2);
  static constexpr double kTriedFactor = 1.5;
  static constexpr Duration kTryMax = std::chrono::seconds(5);
  static constexpr Duration kTryAgain = std::chrono::seconds(20);
  static constexpr double kSlowest = 16 << 20;  // work a second
  // What was not done in so long beside clients is not made up for.
  static constexpr Duration kLagMax = std::chrono::seconds(1);
  // An object takes as much as so many bytes of it, however small it is.
  static constexpr uint64_t kObjectWork = 1 << 20;
  static constexpr Duration kRestMax = std::chrono::seconds(1);

  // `most`: at once, at least 1; what memory allows, say.
  explicit RebuildPace(size_t most) : most_(std::clamp<size_t>(most, 1, kObjectsMax)), allowed_(most_) {}

  struct Seen {
    bool clients = false;  // a client's request is under way in this process
    std::optional<Duration> latency = {};  // of small requests on a usual server
    uint64_t work = 0;  // so far: bytes read and written, and kObjectWork for each object that is done
    bool busy = false;  // as many objects are under way as may be
  };
  // Called several times in a second.
  void Note(const Seen& seen, TimePoint now);

  // It has promised more by now than it has written: it gives way to nobody until it has caught up.
  void NoteBehind(bool behind) { behind_ = behind; }

  // So many objects may be under way.
  size_t at_once() const {
    if (behind_ || trying_) return most_;
    return beside_clients_ ? beside_ : allowed_;
  }
  bool beside_clients() const { return beside_clients_ && !behind_; }

  // How fast it may be: so much work a second, and so much in all at that time, which is that of the last
  // Note.
  struct Limit {
    double work_per_s = std::numeric_limits<double>::infinity();
    double work = 0;
    TimePoint at = {};
    // Before more is done than `done`; asked again after it. Without another Note there is more to do with
    // time.
    Duration Rest(uint64_t done, TimePoint now) const;
  };
  Limit limit() const;

 private:
  bool IsSlow(std::optional<Duration> latency, TimePoint now);
  double Share() const { return kSharePercent / 100.0 * fastest_.best().value_or(kSlowest); }
  void NoteTrying(TimePoint now);
  void NoteWork(const Seen& seen, TimePoint now);
  void NoteBeside(const Seen& seen, TimePoint now);

  size_t most_;
  size_t allowed_;
  size_t beside_ = 1;  // allowed beside clients
  bool beside_clients_ = false;
  bool behind_ = false;
  TimePoint clients_at_ = TimePoint::min();
  TimePoint changed_ = TimePoint::min();  // allowed_ or beside_
  std::optional<Duration> last_;
  TimePoint last_changed_ = TimePoint::min();
  RecentBest<Duration, std::greater<>> idle_{kMemory};
  RecentBest<double, std::less<>> fastest_{kMemory};  // work a second
  // In which as many objects were under way as might be, and clients were there or not all along.
  struct Window {
    TimePoint at;
    uint64_t work = 0;
  };
  std::optional<Window> window_;
  bool trying_ = false;  // beside clients
  TimePoint try_began_ = TimePoint::min();
  TimePoint noted_ = TimePoint::min();
  double by_now_ = 0;  // what may be done beside clients
};

}  // namespace xec
