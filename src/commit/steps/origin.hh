// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a moved-in version came from: renames take the archives along only after they are visible.
#pragma once

#include "commit/engine/names.hh"

namespace xec {

// So many renames of one object whose archives have not followed yet are traced back.
constexpr size_t kOriginHopsMax = 16;

// The object directories in which archives of a live version can be, in the order in which renames take them
// along: the oldest name first, its name last. A look through them in this order misses none that is moved
// meanwhile.
struct Places {
  std::vector<ObjectPath> directories;
  // Only names that are known to be left are missing. Else homes that did not answer may know older ones.
  bool complete = false;
};

// The places of `info`, which is live. Error: kUnavailable, when a witness that knows the origin cannot be
// read now.
Task<Result<Places>> PlacesOf(Engine& engine, NameInfo info);

}  // namespace xec
