// SPDX-License-Identifier: LGPL-3.0-or-later
// NamesAtRest: what a process's cleaner has found out about names, so that the next pass need not look at
// each of them again: there is nothing to do, or not before some time, as long as the listing of the folder
// shows the same object directories with the same times of their last change.
//
// These times have whole seconds, so what comes in the second of another change does not show in them. A name
// is therefore passed over only if it was looked at when it had been shown as it is for a while; no clock of
// a server is compared with ours. Whatever else may hide a change (a clock set back, a file system that keeps
// no times) is found within kLookAgainAfter.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/executor.hh"

namespace xec {

// Remembered, at 32 bytes; the others are looked at in each pass.
constexpr size_t kNamesAtRestMax = 1'000'000;
constexpr Duration kShownFor = std::chrono::seconds(5);  // before the look that is believed
// A name is looked at again so long after it was; half of it for some, so that not all have their turn
// together.
constexpr Duration kLookAgainAfter = std::chrono::hours(1);

enum class ToClean {
  kNow,  // also when it cannot be told, since a server has not told the folder and is not known to be bad
  // A tombstone that is too young to be forgotten, a version that may still be read, or what only a silent
  // server may need.
  kLater,
  kNothing,  // it is at rest, or gone
};

struct CleanVerdict {
  ToClean what = ToClean::kNow;
  // Of the wall clock in ms: when it is to be looked at again even if nothing changes.
  int64_t due_ms = std::numeric_limits<int64_t>::max();
};

// Thread-safe.
class NamesAtRest {
 public:
  // One pass over all names. What it has learnt is known to those that begin after its end; what it was not
  // asked about is forgotten. Thread-safe.
  class Pass {
   public:
    Pass(NamesAtRest& memory, Executor& executor);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // `shown`: a hash of the name and of all that its folder's listing shows of it (ShownAs). nullopt: look
    // at it. Never kNow.
    std::optional<ToClean> Known(uint64_t shown);

    // What was found when it was looked at, from `began` on; its folder had been listed before. kNow is not
    // kept.
    void Learn(uint64_t shown, TimePoint began, const CleanVerdict& verdict);

   private:
    friend class NamesAtRest;
    struct Rest {
      uint64_t shown = 0;
      TimePoint since;  // it was shown like this
      TimePoint until = TimePoint::min();  // it may be passed over
      bool later = false;
    };
    using Rests = std::vector<Rest>;  // sorted by `shown` when a pass has ended

    const Rest* Find(uint64_t shown) const;
    // When there are too many, the same ones in each pass: those of the lower hashes.
    void Keep(const Rest& rest);

    NamesAtRest& memory_;
    Executor& executor_;
    const std::shared_ptr<const Rests> before_;
    std::mutex mutex_;
    Rests learnt_;  // guarded by mutex_, as is
    uint64_t highest_ = std::numeric_limits<uint64_t>::max();  // that is kept
  };

 private:
  std::mutex mutex_;
  std::shared_ptr<const Pass::Rests> rests_ = std::make_shared<Pass::Rests>();  // guarded by mutex_
};

}  // namespace xec
