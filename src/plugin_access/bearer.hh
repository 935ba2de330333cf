// SPDX-License-Identifier: LGPL-3.0-or-later
// What the bearer of a token or a macaroon claims. No signature is verified here: XRootD's own plug-ins do
// that, and nothing is granted without them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_access/scopes.hh"

namespace xec {

// A token or macaroon that is longer is none.
inline constexpr size_t kMaxBearerBytes = 64 << 10;

struct TokenClaims {
  std::string issuer;
  std::string subject;
  // Their paths are the issuer's: below its base path. Nothing if the token says nothing about storage; its
  // groups may then count.
  std::optional<std::vector<Scope>> scopes;
};

// Of a token in the form of JWS (RFC 7515): three parts in base64url, the second one JSON.
std::optional<TokenClaims> ReadToken(std::string_view token);

struct MacaroonClaims {
  // Of the client that the gateway gave it to, "" if that had none. A bearer can add a name, and that counts
  // for nothing: the gateway says it first.
  std::string name;
  // Canonical; it is confined to all of them at once, none: it is not confined to a path.
  std::vector<std::string> paths;
};

// The form is that of libmacaroons 1: packets "LLLLkey value\n" in base64url, LLLL the length of the packet
// in hex digits. A path without a canonical form makes the whole none.
std::optional<MacaroonClaims> ReadMacaroon(std::string_view macaroon);

}  // namespace xec
