// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include "api/store_maintenance.hh"

namespace xec {

constexpr size_t kThinObjectsMax = 1000;  // of one pass; the next pass finds more

// What became of the cleaning of a name, or of several.
struct CleanOutcome {
  uint64_t names = 0;
  uint64_t removed = 0;  // files and marks
  uint64_t left = 0;  // states that wait for a grace time or for a server
  std::vector<ThinObject> thin;
  void Add(const CleanOutcome& other) {
    for (const ThinObject& object : other.thin) {
      if (thin.size() < kThinObjectsMax) thin.push_back(object);
    }
    names += other.names;
    removed += other.removed;
    left += other.left;
  }
};

}  // namespace xec
