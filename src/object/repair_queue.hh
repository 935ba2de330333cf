// SPDX-License-Identifier: LGPL-3.0-or-later
// RepairQueue: objects in which somebody met damage, until they were repaired. Readers and the cleaner
// report, at no cost to them; a gateway takes one object after another and repairs it. Processes that do not
// repair only collect.
//
//   Report -> waiting --Take--> taken --kRepaired--> forgotten
//                ^                |---kWhole-------> resting (reports are ignored for kRestTime), then
//                forgotten
//                |---kFailed------|                  the same after kAttemptsMax failures
//
// Pure but for its mutex: it is told times. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/mutex.hh"
#include "protocol/object_path.hh"
#include "protocol/version.hh"
#include "runtime/executor.hh"

namespace xec {

struct DamagedObject {
  ObjectPath path;
  Version version;  // in which the damage was met
  std::string problem;  // the first that was reported, a clause
};

class RepairQueue {
 public:
  // What does not fit is dropped and counted; the next reader or cleaner finds it again.
  static constexpr size_t kObjectsMax = 1000;
  static constexpr int kAttemptsMax = 5;
  // After the first failure, four times as long after each further one.
  static constexpr Duration kFirstPause = std::chrono::seconds(10);
  static constexpr int kPauseGrowth = 4;
  static constexpr Duration kRestTime = std::chrono::minutes(10);

  void Report(const ObjectPath& path, const Version& version, std::string problem, TimePoint now);

  // One that may be repaired now, the one that has waited longest first; nobody else gets it until Finish.
  std::optional<DamagedObject> Take(TimePoint now);

  enum class End {
    kRepaired,  // whole again, or gone
    kWhole,     // it was; or what is missing lies on servers that are away
    kFailed,
  };
  // False: the object was given up for kRestTime.
  bool Finish(const DamagedObject& object, End end, TimePoint now);

  struct Counts {
    size_t waiting = 0;    // now
    uint64_t reported = 0;  // ever, as all below; reports of one object count once while it is known
    uint64_t dropped = 0;
    uint64_t given_up = 0;
  };
  Counts counts() const;

 private:
  struct Entry {
    DamagedObject object;
    enum { kWaiting, kTaken, kResting } state = kWaiting;
    TimePoint until{};  // of kWaiting: not before; of kResting: forgotten then
    uint64_t order = 0;
    int failures = 0;
  };
  // Does another object fit, once those that have rested long enough are forgotten?
  bool MakeRoom(TimePoint now) XEC_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ XEC_GUARDED_BY(mutex_);  // by path and version
  uint64_t next_ XEC_GUARDED_BY(mutex_) = 0;
  Counts counts_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
