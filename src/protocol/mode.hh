// SPDX-License-Identifier: LGPL-3.0-or-later
// The mode that a client gives a name (chmod): a user attribute, so it is kept, goes along with a rename, and
// goes with the version. It is told, and nobody is held to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xec {

inline constexpr std::string_view kModeAttribute = "xec.mode";

// Four octal digits.
std::string FormatMode(uint32_t mode);
std::optional<uint32_t> ParseMode(std::string_view text);

}  // namespace xec
