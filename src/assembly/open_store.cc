// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/open_store.hh"

#include "assembly/store_process.hh"

namespace xec {

Result<std::unique_ptr<OpenedStore>> OpenStore(Configuration configuration, OpenOptions options) {
  XEC_TRY(ValidateConfiguration(configuration));
  auto process = std::make_unique<StoreProcess>(std::move(configuration), options);
  XEC_TRY(process->Start());
  return std::unique_ptr<OpenedStore>(std::move(process));
}

}  // namespace xec
