// SPDX-License-Identifier: LGPL-3.0-or-later
// How clients of a gateway say settings, and ask for them: by an attribute of this name, and in an open
// behind the name of what they make. Its value is what FormatSettings makes. Nothing is kept under it.
#pragma once

#include <string_view>

namespace xec {

inline constexpr std::string_view kSettingsAttribute = "xec.settings";

}  // namespace xec
