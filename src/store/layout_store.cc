// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/layout_store.hh"

namespace xec {

// Of the whole list each time.
Task<Result<NamesPage>> LayoutStore::ListPage(std::string path, ListOptions options) {
  Result<std::vector<ListedName>> names = co_await List(std::move(path));
  if (!names) co_return names.error();
  NamesPage page;
  for (ListedName& name : *names) {
    if (name.name <= options.after || !name.name.starts_with(options.prefix)) continue;
    page.more = page.names.size() == options.limit;
    if (page.more) break;
    page.names.push_back(std::move(name));
  }
  co_return std::move(page);
}

Task<Result<StoredNames>> LayoutStore::ListStored(std::string directory) {
  Result<std::vector<ListedName>> names = co_await List(std::move(directory));
  if (!names) co_return names.error();
  co_return StoredNames{std::move(*names), {}, {}};
}

Task<Result<bool>> LayoutStore::BringIntoTree(std::string) { co_return false; }

}  // namespace xec
