// SPDX-License-Identifier: LGPL-3.0-or-later
#include <iterator>

#include "api/store.hh"
#include "base/check.hh"

namespace xec {

Task<Status> ForEachPage(Store& store, std::string directory, ListOptions options,
                         std::function<bool(NamesPage page)> take, CallOptions call) {
  for (bool more = true; more;) {
    Result<NamesPage> page = co_await store.List(directory, options, call);
    if (!page) co_return page.error();
    more = page->more;
    XEC_CHECK(!more || !page->names.empty(), "a page of {} has no names, and more follow", directory);
    if (more) options.after = page->names.back().name;
    if (!take(std::move(*page))) break;
  }
  co_return OkStatus();
}

Task<Result<std::vector<ListedName>>> ListAll(Store& store, std::string directory, CallOptions call) {
  std::vector<ListedName> names;
  ListOptions options;
  options.limit = ListOptions::kNamesMax;
  const std::function<bool(NamesPage)> take = [&names](NamesPage page) {
    std::move(page.names.begin(), page.names.end(), std::back_inserter(names));
    return true;
  };
  const Status listed = co_await ForEachPage(store, std::move(directory), options, take, std::move(call));
  if (!listed) co_return listed.error();
  co_return std::move(names);
}

}  // namespace xec
