// SPDX-License-Identifier: LGPL-3.0-or-later
// Listing a directory of a stock server, with all names whole: where a server sends the first 254 bytes of a
// name that has 255 (XrdOfsDirectory, up to 6.1 at least), it is asked by stat how the name ends.
#pragma once

#include <string>
#include <vector>

#include "server_xrootd/server_core.hh"

namespace xec {

// As DataServer::List. Further requests only for entries of 254 bytes: one where that is the name, two for
// object directories, else up to 253; at most kNameProbesMax at once. A name that goes or comes meanwhile may
// be in the listing or not.
void ListDirectory(ServerCorePtr core, OpContext context, std::string path, Done<std::vector<Entry>> done);

constexpr size_t kNameProbesMax = 64;

}  // namespace xec
