// SPDX-License-Identifier: LGPL-3.0-or-later
// Where the paths of an issuer's tokens lie: from the file of XRootD's own plug-in for tokens
// (scitokens.cfg).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"

namespace xec {

struct IssuerPaths {
  std::vector<std::string> base;        // canonical; a token's paths are below each of them
  std::vector<std::string> restricted;  // canonical, as they stand in tokens; empty: no restriction
};

// By the URL of the issuer.
using Issuers = std::map<std::string, IssuerPaths, std::less<>>;

// Of the file's text: sections "[Issuer NAME]" with `issuer`, `base_path` and `restricted_path`. All else is
// for XRootD's plug-in. Fails if a path has no canonical form.
Result<Issuers> ParseIssuers(std::string_view text);

}  // namespace xec
