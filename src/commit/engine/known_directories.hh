// SPDX-License-Identifier: LGPL-3.0-or-later
// Directories that this process has seen to live a moment ago, so that writing many objects into one
// directory does not look it up each time (parent.hh says how far that goes). Thread-safe.
#pragma once

#include <map>
#include <optional>

#include "base/mutex.hh"
#include "protocol/object_path.hh"
#include "protocol/version.hh"
#include "runtime/executor.hh"

namespace xec {

class KnownDirectories {
 public:
  static constexpr size_t kEntriesMax = 10000;
  // An operation that begins to write into it need not look whether it is there: StandInParent does before
  // the commit.
  static constexpr Duration kRemembered = std::chrono::seconds(10);
  // For so long a look at a directory holds: its first home alone may confirm it, and what is put into it is
  // answered without another look.
  static constexpr Duration kHolds = std::chrono::seconds(1);

  // A quorum of homes shows this version of the directory, nothing above it and no removal seal; all that was
  // asked at `asked` or later.
  void Learn(const ObjectPath& directory, const Version& version, TimePoint asked);
  // The version, if that was learnt no longer ago.
  std::optional<Version> Known(const ObjectPath& directory, TimePoint now, Duration no_longer_ago) const;
  void Forget(const ObjectPath& directory);
  void Clear();

 private:
  struct Seen {
    Version version;
    TimePoint asked;
  };
  mutable Mutex mutex_;
  std::map<ObjectPath, Seen> seen_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
