// SPDX-License-Identifier: LGPL-3.0-or-later
// A store as the tree of a mount.
#pragma once

#include <memory>

#include "assembly/opened_store.hh"
#include "mount/tree.hh"

namespace xec {

// `store` outlives the tree. `caller`: for whom everything is done. `last_writer_wins`: as of
// MountOptions.
std::unique_ptr<MountedTree> MakeStoreTree(OpenedStore& store, Caller caller, bool last_writer_wins);

}  // namespace xec
