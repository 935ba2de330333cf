// SPDX-License-Identifier: LGPL-3.0-or-later
// One data server under two addresses looks like two copies of one member. Only what is written by one name
// and read by the other tells.
#pragma once

#include "assembly/sites/sites.hh"

namespace xec {

// Two servers of one kind with several names that show the same identity, if any do. Pure.
std::optional<std::pair<size_t, size_t>> FindTwins(std::span<const SiteView> views);

// Is it one server? False also where nothing can be written.
Task<bool> AreOneServer(Executor& executor, DataServerPtr one, DataServerPtr other, Duration each);

}  // namespace xec
