// SPDX-License-Identifier: LGPL-3.0-or-later
// Where a name is decided (its homes) and where a version's chunks lie (its placement). Pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "placement/store_descriptor.hh"

namespace xec {

// The homes of a name: an unweighted rendezvous hash of its last path component over the members, best first.
// H = min(2t+1, members). Decisions need Quorum(H) of them, so that any two quorums share a home.
// The key is the last component, not the path, so that renaming a directory keeps every home below it.
std::vector<MemberIndex> HomesOf(const StoreDescriptor& descriptor, std::string_view last_component);

constexpr size_t Quorum(size_t homes) { return homes / 2 + 1; }

// All members in the order in which they are to get the lanes of a new version: the homes first, so that
// every version has archives on all homes it can; the others follow by a hash of `salt` (the object id),
// which spreads load.
std::vector<MemberIndex> PlacementOrder(const StoreDescriptor& descriptor, std::span<const MemberIndex> homes,
                                        std::string_view salt);

// Chooses `lanes` of the candidates, first ones first. No host gets more than `per_host_max` lanes while that
// can be avoided; `taken` have a lane already. Fewer than `lanes` are returned when there are fewer
// candidates.
std::vector<MemberIndex> PlaceLanes(const StoreDescriptor& descriptor,
                                    std::span<const MemberIndex> candidates, size_t lanes,
                                    size_t per_host_max, std::span<const MemberIndex> taken = {});

}  // namespace xec
