// SPDX-License-Identifier: LGPL-3.0-or-later
// Clients that may do nothing here, whatever else says so: the file of `xec.banned`.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <XrdSec/XrdSecEntity.hh>

#include "base/result.hh"

namespace xec {

// (kind, value): ("dn", "/DC=org/CN=alice"). Kinds: dn, name, vo, host, and subject, the one of a token.
using Bans = std::set<std::pair<std::string, std::string>>;

// Lines "KIND VALUE", the value to the end of the line; '#' begins a line of comment.
Result<Bans> ParseBans(std::string_view text);

// The ban of this client, "dn /DC=org/CN=alice"; "" if there is none. `subject`: of the token it shows, or
// "". A proxy certificate is banned with the certificate it was made from.
std::string BanOf(const Bans& bans, const XrdSecEntity& client, std::string_view subject);

}  // namespace xec
