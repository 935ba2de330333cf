// SPDX-License-Identifier: LGPL-3.0-or-later
// Checksums that were computed after a version was written. They are kept as attributes of the version,
// beside those of users and through the same protocol, so a rename takes them along and a replaced object
// starts without; their names are the store's own, which users neither see nor set.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hh"
#include "protocol/attribute_set.hh"

namespace xec {

// "xec.checksum.md5"
constexpr std::string_view kLaterChecksumPrefix = "xec.checksum.";

// kInvalidArgument for a name that is not for users.
Status CheckUserAttributeName(std::string_view name);

// What users see of the attributes of a version.
UserAttributes OnlyOfUsers(UserAttributes attributes);

// Of the others the checksums. What is no checksum is left out.
std::map<std::string, std::string> OnlyLaterChecksums(const UserAttributes& attributes);

}  // namespace xec
