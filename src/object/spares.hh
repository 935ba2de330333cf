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

// Of the first of these, which SparesSearched of every other manifest of the object and of every later name
// has too: those that hold nothing (`taken` do), with hosts that have less than `per_host_max` archives
// first.
std::vector<MemberIndex> SparesFor(const Engine& engine, const ObjectPath& path, const Manifest& manifest,
                                   const std::vector<MemberIndex>& taken, size_t per_host_max);

}  // namespace xec
