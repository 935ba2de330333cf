// SPDX-License-Identifier: LGPL-3.0-or-later
// RebuildPace: how many objects a rebuild may repair at once, so that clients come first and what is idle is
// used. Pure: it is told times, and the same answers follow from what it was told.
//
//   clients' requests are under way in this process, or    one object, which after each stripe rests
//     were less than kClientsGone ago                        kRestFactor times as long as that took; while
//                                                            more are still under way, each rests longer
//   servers take much longer than at their idle level      half as many, at most once in kLowerEvery
//   neither                                                one more, once in kRaiseEvery, up to all
//
// The idle level is the shortest latency that was told in the last kLevelMemory. A rebuild makes servers
// slower by itself: as long as they are much slower than idle, more objects at once would only wait longer.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/executor.hh"

namespace xec {

class RebuildPace {
 public:
  static constexpr size_t kObjectsMax = 8;
  static constexpr Duration kClientsGone = std::chrono::seconds(1);
  static constexpr Duration kRaiseEvery = std::chrono::milliseconds(500);
  static constexpr Duration kLowerEvery = std::chrono::seconds(1);
  // Much longer: so many times the idle level, and so much more.
  static constexpr int kLatencyFactor = 4;
  static constexpr Duration kLatencyRise = std::chrono::milliseconds(20);
  static constexpr Duration kLevelMemory = std::chrono::minutes(10);
  // A latency that has not changed for so long is no news of the servers.
  static constexpr Duration kLatencyStale = std::chrono::seconds(5);
  static constexpr int kRestFactor = 3;
  static constexpr Duration kRestMax = std::chrono::seconds(2);

  // `most`: at once, at least 1; what memory allows, say.
  explicit RebuildPace(size_t most) : most_(std::clamp<size_t>(most, 1, kObjectsMax)), allowed_(most_) {}

  struct Seen {
    bool clients = false;  // a client's request is under way in this process
    std::optional<Duration> latency = {};  // of small requests on a usual server
  };
  // Called several times in a second.
  void Note(const Seen& seen, TimePoint now);

  // It has promised more by now than it has written: it gives way to nobody until it has caught up.
  void NoteBehind(bool behind) { behind_ = behind; }

  // So many objects may be under way.
  size_t at_once() const {
    if (behind_) return most_;
    return beside_clients_ ? 1 : allowed_;
  }
  bool beside_clients() const { return beside_clients_ && !behind_; }
  // Beside clients, after a stripe of one of so many objects that took so long.
  static Duration Rest(Duration worked, size_t under_way) {
    const auto objects = static_cast<int>(std::clamp<size_t>(under_way, 1, kObjectsMax));
    return std::min(objects * kRestMax, ((kRestFactor + 1) * objects - 1) * worked);
  }

 private:
  struct Level {
    TimePoint at;
    Duration latency;
  };
  bool IsSlow(std::optional<Duration> latency, TimePoint now);
  void NoteLevel(Duration latency, TimePoint now);

  const size_t most_;
  size_t allowed_;
  bool beside_clients_ = false;
  bool behind_ = false;
  TimePoint clients_at_ = TimePoint::min();
  TimePoint changed_ = TimePoint::min();  // allowed_
  std::optional<Duration> last_;
  TimePoint last_changed_ = TimePoint::min();
  // Ascending in both: the least latency of each stretch up to now. One a second at most.
  std::deque<Level> levels_;
};

}  // namespace xec
