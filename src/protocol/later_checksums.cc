// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/later_checksums.hh"

#include "protocol/settings.hh"
#include "protocol/settings_attribute.hh"

namespace xec {
namespace {

bool IsOfTheStore(std::string_view name) {
  return name.starts_with(kLaterChecksumPrefix) || name == kModeAttribute || name == kMtimeAttribute ||
         name == kSettingsAttribute;
}

}  // namespace

Status CheckUserAttributeName(std::string_view name) {
  if (name.empty()) return Fail(Code::kInvalidArgument, "an attribute needs a name");
  if (!IsOfTheStore(name)) return OkStatus();
  return Fail(Code::kInvalidArgument, "the attribute {} is the store's own: choose another name", name);
}

UserAttributes OnlyOfUsers(UserAttributes attributes) {
  std::erase_if(attributes, [](const auto& one) { return IsOfTheStore(one.first); });
  return attributes;
}

std::map<std::string, std::string> OnlyLaterChecksums(const UserAttributes& attributes) {
  std::map<std::string, std::string> checksums;
  for (const auto& [name, value] : attributes) {
    const bool hex = !value.empty() && value.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (name.starts_with(kLaterChecksumPrefix) && hex)
      checksums[name.substr(kLaterChecksumPrefix.size())] = value;
  }
  return checksums;
}

}  // namespace xec
