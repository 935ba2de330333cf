// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/directory_pages.hh"

namespace xec {

void DirectoryPages::Rewind() {
  page_ = TreePage();
  first_ = 0;
  begun_ = false;
}

Result<const NamedEntry*> DirectoryPages::At(uint64_t place) {
  if (place < first_) Rewind();
  while (!begun_ || (place - first_ >= page_.names.size() && page_.more)) {
    const std::string after = page_.names.empty() ? "" : page_.names.back().name;
    XEC_ASSIGN_OR_RETURN(const std::string path, where_());
    XEC_ASSIGN_OR_RETURN(TreePage next, tree_.List(path, after));
    first_ += page_.names.size();
    page_ = std::move(next);
    begun_ = true;
    // A tree whose page says that there is more and has nothing would keep us for ever.
    if (page_.names.empty()) page_.more = false;
  }
  const uint64_t index = place - first_;
  if (index >= page_.names.size()) return nullptr;
  return &page_.names[index];
}

}  // namespace xec
