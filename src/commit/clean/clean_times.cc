// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_times.hh"

#include <algorithm>

#include "base/contains.hh"
#include "protocol/hybrid_clock.hh"

namespace xec {

bool IsPast(int64_t now_ms, int64_t since_ms, Duration wait) {
  return now_ms - since_ms > std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
}

int64_t TombstoneMadeMs(const Version& version, const ServerStates& shown) {
  int64_t made_ms = version.WallMillis();
  for (const auto& [member, states] : shown) {
    for (const State& state : states) made_ms = std::max(made_ms, state.mtime_s * 1000);
  }
  return made_ms;
}

int64_t CurrentSinceMs(const Version& version, const ServerStates& shown,
                       const std::vector<MemberIndex>& homes, int64_t now_ms) {
  std::vector<int64_t> written_ms;
  bool removal = true;
  for (const auto& [member, states] : shown) {
    for (const State& state : states) {
      if (!state.Accepted() || state.version != version) continue;
      removal = removal && state.kind == StateKind::kTombstone && state.IsMark() && Contains(homes, member);
      // A server's clock may be ahead of ours by as much as a version's.
      const int64_t at_ms = state.mtime_s * 1000;
      if (at_ms <= now_ms + kClockDriftMaxMs) written_ms.push_back(at_ms);
    }
  }
  if (written_ms.empty()) return version.WallMillis();
  std::sort(written_ms.begin(), written_ms.end());
  const size_t quorum = Quorum(homes.size());
  const bool told = removal && written_ms.size() >= quorum;
  return std::max(version.WallMillis(), told ? written_ms[quorum - 1] : written_ms.back());
}

}  // namespace xec
