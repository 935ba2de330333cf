// SPDX-License-Identifier: LGPL-3.0-or-later
// Servers that take archives of an object which its manifest does not name. One rule for writers and for
// readers. Pure.
#pragma once

#include "archive/manifest.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Servers without a lane in the manifest where archives of the object are looked for, in the order in which
// they are asked.
std::vector<MemberIndex> SparesSearched(const Engine& engine, const ObjectPath& path,
                                        const Manifest& manifest);

// Those of them that get an archive before others do, and those that have to give theirs away.
std::vector<MemberIndex> SparesSearchedFirst(const Engine& engine, const ObjectPath& path,
                                             const Manifest& manifest);

// All others of these: where an archive is looked for that is on none of the former.
std::vector<MemberIndex> SparesSearchedLast(const Engine& engine, const ObjectPath& path,
                                            const Manifest& manifest);

// Those that may get an archive: they have room, and hold nothing (`taken` do). The first of SparesSearched
// come first, which every other manifest of the object and every later name has there too, in the order of
// PlacementOrder by free space; hosts that have less than `per_host_max` archives come before others.
std::vector<MemberIndex> SparesFor(const Engine& engine, const ObjectPath& path, const Manifest& manifest,
                                   const std::vector<MemberIndex>& taken, size_t per_host_max);

}  // namespace xec
