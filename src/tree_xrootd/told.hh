// SPDX-License-Identifier: LGPL-3.0-or-later
// Told: what a server says of a name.
#pragma once

#include <string>

#include "mount/tree.hh"

namespace xec {

struct Told {
  TreeEntry entry;
  std::string identity =
      {};  // another one if the file is another, or has other bytes since more than a moment
  std::string id = {};  // the server's own for the file; a gateway's is that of a version
  bool readable = false, writable = false, enterable = false;  // by the user that the server takes us for
};

}  // namespace xec
