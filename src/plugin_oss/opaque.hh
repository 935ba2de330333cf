// SPDX-License-Identifier: LGPL-3.0-or-later
// What a client says beside the name in an open or a removal: XRootD's opaque information, behind the '?' of
// a root:// URL. HTTP headers come the same way where a line `http.header2cgi` names them (`xec serve` writes
// those for what is read here).
#pragma once

#include <string>
#include <string_view>
#include <vector>

class XrdOucEnv;

namespace xec {

// "&key=value&key=value": what is read here, and nothing else, such as the client's token. "" for null.
std::string OpaqueOf(XrdOucEnv* env);

// All values of a key, in their order, without percent-encoding: XrdHttp encodes headers so.
std::vector<std::string> OpaqueValues(std::string_view opaque, std::string_view key);

// The pieces of all these, which commas separate, without blanks around them; empty ones are passed over.
std::vector<std::string> OpaqueList(std::string_view opaque, std::string_view key);

}  // namespace xec
