// SPDX-License-Identifier: LGPL-3.0-or-later
// How clients of a gateway say settings, and ask for them: by an attribute of this name, and in an open
// behind the name of what they make. Its value is what FormatSettings makes. Nothing is kept under it.
#pragma once

#include <string_view>

namespace xec {

inline constexpr std::string_view kSettingsAttribute = "xec.settings";

// Behind the name of a look: what asks a gateway to tell links as such, and of which names a listing does not
// know the settings.
inline constexpr std::string_view kTellAttribute = "xec.tell", kTellSettings = "settings";

}  // namespace xec
