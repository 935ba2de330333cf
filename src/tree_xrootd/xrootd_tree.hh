// SPDX-License-Identifier: LGPL-3.0-or-later
// A tree on XRootD servers: a gateway, a plain server, or the data servers of a cluster behind a redirector.
#pragma once

#include <memory>
#include <string>

#include "mount/tree.hh"

namespace xec {

class XrootdTree : public MountedTree {
 public:
  // Asks the redirector for its data servers anew. Blocks, for a bounded time. Error: the list stays as it
  // is.
  virtual Status Refresh() = 0;
};

// "root://host", with a port and "//path" if it is not to begin at the root. Asks the server what it is, in
// bounded time. It starts threads: only after a daemon has forked. Errors: kInvalidArgument, kUnavailable,
// kDeadlineExceeded, kPermissionDenied, kNotFound and kNotDirectory (the path).
Result<std::unique_ptr<XrootdTree>> OpenXrootdTree(const std::string& url);

// Does a program mean a tree of this kind by such a source?
bool IsXrootdUrl(std::string_view text);

}  // namespace xec
