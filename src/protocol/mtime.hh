// SPDX-License-Identifier: LGPL-3.0-or-later
// The time of the last change that a client gives a name (utimens, touch -d): an attribute beside the mode,
// which goes along with a rename, and goes with the version. Without one it is the time of the version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xec {

inline constexpr std::string_view kMtimeAttribute = "xec.mtime";

// Milliseconds since 1970, decimal, perhaps negative.
std::string FormatMtime(int64_t milliseconds);
std::optional<int64_t> ParseMtime(std::string_view text);

}  // namespace xec
