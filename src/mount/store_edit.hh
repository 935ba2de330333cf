// SPDX-License-Identifier: LGPL-3.0-or-later
// An object that a mount changes: an edit of a tree that is a store.
#pragma once

#include <memory>

#include "edit/object_edit.hh"
#include "mount/tree.hh"

namespace xec {

// `store` and `scratch` outlive it. Of the options those count that are no matter of `how`. Blocking. Each
// version that it commits keeps mode and attributes of the one before. Errors: those of Store::Open.
Result<std::shared_ptr<TreeEdit>> OpenStoreEdit(Store& store, Scratch& scratch, std::string path,
                                                EditOptions options, EditHow how, CallOptions call);

}  // namespace xec
