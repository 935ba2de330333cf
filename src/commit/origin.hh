// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a moved-in version came from: renames take the archives along only after they are visible.
#pragma once

#include "commit/names.hh"

namespace xec {

// So many renames of one object whose archives have not followed yet are traced back.
constexpr size_t kOriginHopsMax = 16;

// The object directories in which archives of the live version `info` can be, in the order in which renames
// take them along: the oldest name first, info.path last. Who looks through them in this order misses none
// that is moved meanwhile. Only names that are known to be left are missing. Errors: kUnavailable, when a
// witness that knows the origin cannot be read now.
Task<Result<std::vector<ObjectPath>>> PlacesOf(Engine& engine, NameInfo info);

}  // namespace xec
