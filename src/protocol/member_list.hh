// SPDX-License-Identifier: LGPL-3.0-or-later
// Whether a process may still go by the list of members that it knows (docs/protocol/members.md): while
// enough of these members have shown, not too long ago, that they know of no later list. Homes follow from
// the list, so with an old one "not found" could be wrong, and a change could be made where nobody looks.
//
// Two lists that follow each other may be in use at the same time; two that do not may not. So a process goes
// on by its list until the lease ends when it has heard of the next one, and not a moment longer when it has
// heard of the one after that.
//
// No I/O and no clock: it is told what was shown, and when that was asked for. Thread-safe; InForce is cheap.
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "base/mutex.hh"
#include "placement/store_descriptor.hh"
#include "runtime/executor.hh"

namespace xec {

// What one data server's copy of the store descriptor means to a process that goes by `known`. An error is
// that of reading or parsing it.
enum class DescriptorSays {
  kNothing,  // not readable, or of another store: it confirms nothing
  kNoNewer,  // the same, or an older one
  kNext,  // the one that follows
  kLater,  // one after that, or one that only a newer XEC can read
  kOther,  // another descriptor of the same epoch
};
DescriptorSays WhatItSays(const StoreDescriptor& known, const Result<StoreDescriptor>& shown);

// The list that a process goes by which knows of none yet, of those that data servers of one store show: the
// newest one if a majority of its members shows it, else the one before if a majority of that one's members
// shows nothing newer. `all` servers there are were asked where that is fewer than all members (directories).
// Error: kNoQuorum.
Result<StoreDescriptor> ChooseList(std::span<const StoreDescriptor> shown, std::optional<size_t> all);

class MemberList {
 public:
  // In force for ever, until Watch: for engines whose list nobody changes.
  MemberList() = default;

  struct Rules {
    size_t needed = 0;  // so many members confirm the list
    Duration lease{};  // for so long after they were asked
  };
  // From now on `known` is what counts; it was confirmed by what was asked for at `asked`. Once.
  void Watch(StoreDescriptor known, Rules rules, TimePoint asked);

  struct Round {
    enum Kind {
      kConfirmed,
      kTooFew,  // neither this list nor a later one
      kFollowed,  // by `next`, which enough members show: this list is not confirmed any more
      kChanged,  // there is a later one, which too few show as yet, or two of one epoch
    } kind = kTooFew;
    std::optional<StoreDescriptor> next = {};  // of kTooFew and kChanged: the newest that is shown, if any
  };
  // What the members that answered have shown in a round that began at `asked`. Rounds do not overlap.
  Round Heard(TimePoint asked, std::span<const Result<StoreDescriptor>> shown);

  // The list that follows, which `next` watches, has the same homes (KeepsHomes): what has begun by this one
  // may go on while that one is in force. `next` outlives this object.
  void GoOnWith(const MemberList& next) { next_ = &next; }

  // What one more member's copy means to the list watched.
  DescriptorSays Says(const Result<StoreDescriptor>& shown) const;

  // Error: kNoQuorum, in a sentence that says what is the matter and what to do.
  Status InForce(TimePoint now) const;

 private:
  // So many members have to show a later list.
  size_t NeededOf(const StoreDescriptor& later) const XEC_REQUIRES(mutex_);

  std::atomic<TimePoint> until_{TimePoint::max()};
  std::atomic<const MemberList*> next_ = nullptr;
  mutable Mutex mutex_;
  StoreDescriptor known_ XEC_GUARDED_BY(mutex_);
  Rules rules_ XEC_GUARDED_BY(mutex_);
  TimePoint confirmed_ XEC_GUARDED_BY(mutex_){};
  std::optional<Error> changed_ XEC_GUARDED_BY(mutex_);  // the last round showed another descriptor
};

}  // namespace xec
