// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/changed_settings.hh"

namespace xec {

// What is told or said to be done was on a quorum, and goes from a home only where a revision is that
// contains it. So each quorum has a home that shows it or one that contains it; and if that one shows a
// single revision, this contains it.
std::optional<Settings> ChangedSettings(const std::map<MemberIndex, States>& listings, const Version& version,
                                        size_t quorum) {
  std::map<std::string, size_t> showing;  // homes, by the revision's name; "": none
  for (const auto& [home, states] : listings) {
    const State* only = nullptr;
    size_t revisions = 0;
    for (const State& state : states) {
      if (state.kind != StateKind::kAttributes || state.version != version) continue;
      only = &state;
      ++revisions;
    }
    // A listing without the version may be older than the revision that came with it.
    if (revisions > 1 || !HasAccepted(states, version)) continue;
    const size_t homes = ++showing[only != nullptr ? FormatState(*only) : ""];
    if (homes >= quorum) return only != nullptr ? only->changed : Settings();
  }
  return std::nullopt;
}

}  // namespace xec
