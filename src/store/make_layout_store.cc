// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/make_layout_store.hh"

#include "store/native_store.hh"
#include "store/xrdec_store.hh"

namespace xec {

std::unique_ptr<LayoutStore> MakeLayoutStore(Engine& engine) {
  if (engine.descriptor().layout == Layout::kXrdec) return std::make_unique<XrdecStore>(engine);
  return std::make_unique<NativeStore>(engine);
}

}  // namespace xec
