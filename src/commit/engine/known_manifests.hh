// SPDX-License-Identifier: LGPL-3.0-or-later
// KnownManifests: manifests that were read a moment ago, so that a reader of a version whose stripes are in
// memory asks no server for it. Which version a name has is still asked of its homes at each open. A manifest
// is used for a short time only: the servers that it names may become outdated by repairs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "archive/manifest.hh"
#include "base/mutex.hh"
#include "runtime/executor.hh"

namespace xec {

// Thread-safe. Keys name one version of one object.
class KnownManifests {
 public:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  static constexpr size_t kEntriesMax = 1024;  // of some KiB each, kManifestSizeMax at most
  static constexpr Duration kLifetime = std::chrono::minutes(1);

  // null: not known.
  ManifestPtr Find(const std::string& version, TimePoint now) const;
  void Keep(const std::string& version, ManifestPtr manifest, TimePoint now);

 private:
  struct Entry {
    ManifestPtr manifest;
    TimePoint until;
  };
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
