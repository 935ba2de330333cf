// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/later_checksums.hh"

namespace xec {

Status CheckUserAttributeName(std::string_view name) {
  if (name.empty()) return Fail(Code::kInvalidArgument, "an attribute needs a name");
  if (!name.starts_with(kLaterChecksumPrefix)) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "attributes that begin with {} are the store's own: choose another name than {}",
              kLaterChecksumPrefix, name);
}

UserAttributes WithoutLaterChecksums(UserAttributes attributes) {
  std::erase_if(attributes, [](const auto& one) { return one.first.starts_with(kLaterChecksumPrefix); });
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
