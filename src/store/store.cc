// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/store.hh"

#include "store/native_store.hh"
#include "store/xrdec_store.hh"

namespace xec {

std::unique_ptr<Store> Store::Make(Engine& engine) {
  if (engine.descriptor().layout == Layout::kXrdec) return std::make_unique<XrdecStore>(engine);
  return std::make_unique<NativeStore>(engine);
}

Task<Result<StoredNames>> Store::ListStored(std::string directory) {
  Result<std::vector<ListedName>> names = co_await List(std::move(directory));
  if (!names) co_return names.error();
  co_return StoredNames{std::move(*names), {}};
}

Task<Result<bool>> Store::BringIntoTree(std::string) { co_return false; }

}  // namespace xec
