// SPDX-License-Identifier: LGPL-3.0-or-later
// An object that a mount changes: an edit of a tree that is a store.
#pragma once

#include <memory>

#include "api/store.hh"
#include "edit/scratch.hh"
#include "mount/tree.hh"

namespace xec {

// `store` and `scratch` outlive it. Blocking. Each version that it commits keeps mode and attributes of the
// one before. Errors: those of Store::Open.
Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, Scratch& scratch, std::string path,
                                                CreateOptions create, EditHow how, CallOptions call);

}  // namespace xec
