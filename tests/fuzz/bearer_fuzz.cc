// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a token, a macaroon, a claim of scopes, and as the files that say where issuers' paths lie and
// who is banned.
#include <cstdint>
#include <string_view>

#include "base/check.hh"
#include "plugin_access/bans.hh"
#include "plugin_access/bearer.hh"
#include "plugin_access/issuers.hh"

namespace {

void CheckCanonical(const std::string& path) {
  XEC_CHECK(xec::Canonical(path.empty() ? "/" : path) == path, "{}", path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  xec::ReadToken(text);
  if (const auto macaroon = xec::ReadMacaroon(text)) {
    for (const std::string& path : macaroon->paths) CheckCanonical(path);
  }
  if (const auto scopes = xec::ParseScopes(text)) {
    for (const xec::Scope& scope : *scopes) {
      CheckCanonical(scope.path);
      XEC_CHECK(xec::Admits(scope, AOP_Stat, scope.path));
    }
  }
  if (const auto issuers = xec::ParseIssuers(text)) {
    for (const auto& [issuer, paths] : *issuers) {
      for (const std::string& path : paths.base) CheckCanonical(path);
    }
  }
  (void)xec::ParseBans(text).has_value();
  return 0;
}
