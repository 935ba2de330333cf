// SPDX-License-Identifier: LGPL-3.0-or-later
// What a mount remembers of directories: listings, for a while, and when it changed their entries.
#pragma once

#include <chrono>
#include <memory>

#include "mount/tree.hh"

namespace xec {

// A tree that asks `inner`, which outlives it. A listing that was read is told again, for `valid` or as long
// as it took (listing_cache.hh); what is changed through this tree shows at once. A directory has at least
// the time at which its entries were changed through this tree.
std::unique_ptr<MountedTree> MakeRememberingTree(MountedTree& inner, std::chrono::milliseconds valid);

}  // namespace xec
