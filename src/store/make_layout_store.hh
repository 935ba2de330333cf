// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <memory>

#include "store/layout_store.hh"

namespace xec {

// Of the layout that the store descriptor names. `engine` outlives the store.
std::unique_ptr<LayoutStore> MakeLayoutStore(Engine& engine);

}  // namespace xec
