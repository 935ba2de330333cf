// SPDX-License-Identifier: LGPL-3.0-or-later
// NamesAtRest: what a process's cleaner has found out about names, so that the next pass need not look at
// each of them again: there is nothing to do, or not before some time, as long as the listing of the folder
// shows the same object directories with the same times of their last change.
//
// These times have whole seconds, so what comes in the second of another change does not show in them. A name
// is therefore passed over only if it was looked at when it had been shown as it is for a while; no clock of
// a server is compared with ours. Whatever else may hide a change (a clock that stood still or was set back,
// a file system that keeps no such times) is found within kLookAgainAfter; from then on listings do without.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "base/mutex.hh"
#include "protocol/settings.hh"
#include "protocol/version.hh"
#include "runtime/executor.hh"

namespace xec {

// Remembered, at 56 bytes; the others are looked at in each pass.
constexpr size_t kNamesAtRestMax = 1'000'000;
constexpr Duration kShownFor = std::chrono::seconds(5);  // before the look that is believed
// A name is looked at again so long after it was; half of it for some, so that not all have their turn
// together.
constexpr Duration kLookAgainAfter = std::chrono::hours(1);

enum class ToClean {
  kNow,  // also when it cannot be told, since a server has not told the folder and is not known to be bad
  // A version before the current one, which nobody reads any more, is all there is to remove (PurgeName).
  kPurge,
  kForget,  // a removed name of which nothing else but a folder is left, and past the horizon (ForgetName)
  // A tombstone that is too young to be forgotten, a version that may still be read, or what only a silent
  // server may need.
  kLater,
  kNothing,  // it is at rest, or gone
};

// What lives at a name, as a listing tells it.
struct RestingName {
  enum Kind : uint8_t { kUnknown, kRemoved, kObject, kDirectory } kind = kUnknown;
  uint64_t size = 0;  // of an object, bytes
  Version version = {};
  Settings settings = {};
  int64_t mtime_ms() const { return settings.mtime_ns ? MillisOf(*settings.mtime_ns) : version.WallMillis(); }
  bool operator==(const RestingName&) const = default;
};

struct CleanVerdict {
  ToClean what = ToClean::kNow;
  // Of the wall clock in ms: when it is to be looked at again even if nothing changes.
  int64_t due_ms = std::numeric_limits<int64_t>::max();
  RestingName lives = {};  // what a quorum of homes says, unless kUnknown
  Version current = {};  // of kPurge: what a quorum of homes says
};

// Thread-safe.
class NamesAtRest {
 public:
  // `seed`: of ShownAs, for all that is asked here.
  explicit NamesAtRest(uint64_t seed = 0) : seed_(seed) {}
  uint64_t seed() const { return seed_; }

 private:
  struct Rest {
    uint64_t shown = 0;
    TimePoint since;  // it was shown like this
    TimePoint until = TimePoint::min();  // it may be passed over
    RestingName lives;
    bool later = false;

    bool Believed() const { return until != TimePoint::min(); }
  };
  using Rests = std::deque<Rest>;  // sorted by `shown` when a pass has ended

 public:
  // What was known at some time, for listings.
  class View {
   public:
    View() = default;  // of nothing
    // `shown`: see ShownAs. What lives at the name as its folder was listed; nullopt: look it up.
    std::optional<RestingName> Lives(uint64_t shown) const;

   private:
    friend class NamesAtRest;
    View(std::shared_ptr<const Rests> rests, TimePoint now) : rests_(std::move(rests)), now_(now) {}
    const Rest* Find(uint64_t shown) const;

    std::shared_ptr<const Rests> rests_ = std::make_shared<Rests>();
    TimePoint now_ = TimePoint::max();
  };
  // Of nothing where the times of directories have been found not to tell of changes.
  View Now(TimePoint now) const;

  // One pass over all names. What it has learnt is known to those that begin after its end; what it was not
  // asked about is forgotten. Thread-safe.
  class Pass {
   public:
    Pass(NamesAtRest& memory, Executor& executor);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    uint64_t seed() const { return memory_.seed(); }

    // `shown`: see ShownAs. nullopt: look at it. What it says can wait.
    std::optional<ToClean> Known(uint64_t shown);

    // What was found when it was looked at, from `began` on; its folder had been listed before. What is to be
    // done at once is not kept.
    void Learn(uint64_t shown, TimePoint began, const CleanVerdict& verdict);

    // It ends before it has seen all names: what was known stays known, and nothing else.
    void GiveUp() { given_up_ = true; }

   private:
    // When there are too many, the same ones in each pass: those of the lower hashes.
    void Keep(const Rest& rest);
    // Something else lives at a name, although everything is shown as before.
    void DoNotBelieveTimes();

    NamesAtRest& memory_;
    Executor& executor_;
    const View before_;
    Mutex mutex_;
    bool given_up_ = false;
    Rests learnt_ XEC_GUARDED_BY(mutex_);
    uint64_t highest_ XEC_GUARDED_BY(mutex_) = std::numeric_limits<uint64_t>::max();  // that is kept
  };

 private:
  const uint64_t seed_;
  mutable Mutex mutex_;
  bool times_tell_ XEC_GUARDED_BY(mutex_) = true;
  std::shared_ptr<const Rests> rests_ XEC_GUARDED_BY(mutex_) = std::make_shared<Rests>();
};

}  // namespace xec
