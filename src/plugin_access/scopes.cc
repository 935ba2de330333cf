// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_access/scopes.hh"

#include <algorithm>
#include <utility>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::pair<std::string_view, Ability> kAbilities[] = {
    {"storage.read", Ability::kRead},
    {"storage.create", Ability::kCreate},
    {"storage.modify", Ability::kModify},
    {"storage.stage", Ability::kRead},
    {"read", Ability::kRead},
    {"write", Ability::kModify},
};

bool AdmitsBelow(Ability ability, Access_Operation operation) {
  switch (operation) {
    case AOP_Read:
    case AOP_Readdir: return ability == Ability::kRead;
    case AOP_Stat: return true;
    case AOP_Excl_Create:
    case AOP_Excl_Insert:
    case AOP_Mkdir:
    case AOP_Rename: return ability != Ability::kRead;
    case AOP_Create:
    case AOP_Insert:
    case AOP_Update:
    case AOP_Delete:
    case AOP_Chmod: return ability == Ability::kModify;
    default: return false;
  }
}

}  // namespace

std::optional<std::string> Canonical(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::string canonical;
  for (const std::string_view component : Split(path, '/')) {
    if (component.empty()) continue;
    if (component == "." || component == ".." || component.find('\0') != component.npos) return std::nullopt;
    canonical.append("/").append(component);
  }
  return canonical;
}

bool Covers(std::string_view top, std::string_view path) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

std::optional<std::vector<Scope>> ParseScopes(std::string_view claim) {
  std::vector<Scope> scopes;
  bool about_storage = false;
  for (const std::string_view word : Split(claim, ' ')) {
    const size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    const auto ability = std::ranges::find(kAbilities, name, [](const auto& entry) { return entry.first; });
    about_storage = about_storage || name.starts_with("storage.") || ability != std::end(kAbilities);
    if (ability == std::end(kAbilities)) continue;
    const std::optional<std::string> path =
        PercentDecode(colon == word.npos ? std::string_view("/") : word.substr(colon + 1));
    std::optional<std::string> canonical = path ? Canonical(*path) : std::nullopt;
    if (canonical) scopes.push_back({ability->second, std::move(*canonical)});
  }
  if (!about_storage) return std::nullopt;
  return scopes;
}

bool Admits(const Scope& scope, Access_Operation operation, std::string_view path) {
  if (Covers(scope.path, path)) return AdmitsBelow(scope.ability, operation);
  const bool on_the_way =
      operation == AOP_Stat || (operation == AOP_Mkdir && scope.ability != Ability::kRead);
  return on_the_way && Covers(path, scope.path);
}

}  // namespace xec
