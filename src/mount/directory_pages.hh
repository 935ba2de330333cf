// SPDX-License-Identifier: LGPL-3.0-or-later
// An open directory: what is in it, of which one page is held at a time.
#pragma once

#include <functional>
#include <string>

#include "mount/tree.hh"

namespace xec {

// One thread at a time. `tree` outlives it.
class DirectoryPages {
 public:
  // `where` answers the path of the directory.
  using Where = std::function<Result<std::string>()>;
  DirectoryPages(MountedTree& tree, Where where) : tree_(tree), where_(std::move(where)) {}

  // The next reading begins with what is there then.
  void Rewind();

  // The entry at this place, counted from 0; null behind the last one. It is there until the next call. Going
  // on from a place reads each page once; a place before the page that is held makes it begin anew, with what
  // is there now.
  Result<const NamedEntry*> At(uint64_t place);

 private:
  MountedTree& tree_;
  const Where where_;
  TreePage page_;
  uint64_t first_ = 0;  // place of the first entry of the page
  bool begun_ = false;
};

}  // namespace xec
