// SPDX-License-Identifier: LGPL-3.0-or-later
// What a cleaner goes by in time. Pure.
#pragma once

#include <map>

#include "protocol/look.hh"
#include "runtime/executor.hh"

namespace xec {

using ServerStates = std::map<MemberIndex, States>;

// Is `since_ms` longer ago than `wait`? Both of the wall clock.
bool IsPast(int64_t now_ms, int64_t since_ms, Duration wait);

// When the tombstone was made, at the latest: its version has the clock of what was removed or moved, so the
// times of the entries count too.
int64_t TombstoneMadeMs(const Version& version, const ServerStates& shown);

// Since when the version is the current one, at the latest, as far as can be told: not when it was chosen, if
// it is of a removal (which has the clock of what it removed), or if somebody went on much later with what
// its writer had begun, but when servers that show it were written to. Of a removal every home tells when it
// accepted it, so it is when a quorum had; homes that learn of it later do not count.
int64_t CurrentSinceMs(const Version& version, const ServerStates& shown,
                       const std::vector<MemberIndex>& homes, int64_t now_ms);

}  // namespace xec
