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
// There is one text for each address, "192.0.2.1" for "[::ffff:192.0.2.1]".
using Bans = std::set<std::pair<std::string, std::string>>;

// Lines "KIND VALUE", the value to the end of the line; '#' begins a line of comment.
Result<Bans> ParseBans(std::string_view text);

// What a client shows beside its login, "" for nothing.
struct ShownNames {
  std::string subject = {};  // of a token
  std::string name = {};     // of the client that a macaroon was given to
};

// The ban of this client, "dn /DC=org/CN=alice"; "" if there is none. A proxy certificate is banned with the
// certificate it was made from; a host by its name or its address.
std::string BanOf(const Bans& bans, const XrdSecEntity& client, const ShownNames& shown);

}  // namespace xec
