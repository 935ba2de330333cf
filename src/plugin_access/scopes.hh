// SPDX-License-Identifier: LGPL-3.0-or-later
// What the scopes of a token admit, by the WLCG token profile 1.3 (`storage.create:/a`) and by SciTokens
// (`write:/a`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <XrdAcc/XrdAccAuthorize.hh>

namespace xec {

enum class Ability {
  kRead,
  kCreate,  // new names and folders, renames to a new name; replaces and removes nothing
  kModify   // all that kCreate does, and more
};

struct Scope {
  Ability ability;
  std::string path;  // canonical; the scope is for this name and all below it
};

// "/a/b" of "//a/b/": no empty component, none at the end; "" is the root. Nothing if the path is not
// absolute or has a component "." or "..".
std::optional<std::string> Canonical(std::string_view path);

// Whether a canonical path is `top` or lies below it, by whole components.
bool Covers(std::string_view top, std::string_view path);

// The scopes of a claim: words separated by blanks. Those whose path has no canonical form are left out;
// "%41" in a path stands for "A". Nothing if no word is about storage.
std::optional<std::vector<Scope>> ParseScopes(std::string_view claim);

// Whether the scope admits the operation on a canonical path. The folders above the scope's path can be seen
// and made, so that what lies below can be reached.
bool Admits(const Scope& scope, Access_Operation operation, std::string_view path);

}  // namespace xec
