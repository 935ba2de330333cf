// SPDX-License-Identifier: LGPL-3.0-or-later
#include <iterator>

#include "api/store.hh"
#include "base/check.hh"

namespace xec {

Task<Result<std::vector<ListedName>>> ListAll(Store& store, std::string directory, CallOptions call) {
  std::vector<ListedName> names;
  ListOptions options;
  options.limit = ListOptions::kNamesMax;
  for (;;) {
    Result<NamesPage> page = co_await store.List(directory, options, call);
    if (!page) co_return page.error();
    std::move(page->names.begin(), page->names.end(), std::back_inserter(names));
    if (!page->more) co_return std::move(names);
    XEC_CHECK(!page->names.empty(), "a page of {} has no names, and more follow", directory);
    options.after = names.back().name;
  }
}

}  // namespace xec
