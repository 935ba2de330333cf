// SPDX-License-Identifier: LGPL-3.0-or-later
#include <iterator>

#include "api/store.hh"

namespace xec {

Task<Result<std::vector<ListedName>>> ListAll(Store& store, std::string directory, CallOptions call) {
  std::vector<ListedName> names;
  ListOptions options;
  options.limit = ListOptions::kNamesMax;
  for (;;) {
    Result<NamesPage> page = co_await store.List(directory, options, call);
    if (!page) co_return page.error();
    std::move(page->names.begin(), page->names.end(), std::back_inserter(names));
    if (!page->more || names.empty()) co_return std::move(names);
    options.after = names.back().name;
  }
}

}  // namespace xec
