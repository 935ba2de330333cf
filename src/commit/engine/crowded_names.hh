// SPDX-License-Identifier: LGPL-3.0-or-later
// Names that are written again and again: the versions before the current one pile up in their object
// directories, so that each look at them lists more, until the cleaner comes by, which may take many minutes
// in a large store. Whoever lists such a directory notes it here, and these names are cleaned out of turn
// (CleanCrowded). Thread-safe.
#pragma once

#include <map>
#include <optional>

#include "base/mutex.hh"
#include "protocol/object_path.hh"
#include "runtime/executor.hh"

namespace xec {

class CrowdedNames {
 public:
  // With more entries than that on one server a name is crowded. An object at rest has a few on each.
  static constexpr size_t kEntriesMax = 64;
  // Further ones are left to the cleaner's pass.
  static constexpr size_t kNamesMax = 1024;

  // A server listed so many entries of the name.
  void Saw(const ObjectPath& name, size_t entries);
  // Of those that were seen crowded since they were taken last, no less than `pause` ago, the one that has
  // waited longest; nullopt: none now.
  std::optional<ObjectPath> Take(TimePoint now, Duration pause);

 private:
  struct Seen {
    bool crowded = true;  // since it was taken last
    TimePoint taken = TimePoint::min();
  };
  Mutex mutex_;
  std::map<ObjectPath, Seen> names_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
