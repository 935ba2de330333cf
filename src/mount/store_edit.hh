// SPDX-License-Identifier: LGPL-3.0-or-later
// An object that a mount changes: an edit of a tree that is a store.
#pragma once

#include <memory>

#include "api/store.hh"
#include "mount/tree.hh"

namespace xec {

// `store` outlives it. Blocking. An object can be written from its start to its end, once. Errors: those of
// Store::Open.
Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, std::string path, CreateOptions options,
                                                bool truncate, CallOptions call);

}  // namespace xec
