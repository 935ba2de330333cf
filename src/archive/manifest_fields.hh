// SPDX-License-Identifier: LGPL-3.0-or-later
// Words in the manifest's text, which its serializer and its parser share; no part of the layer's interface.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xec::manifest_internal {

// Any bytes as one printable word: percent-encoded, "-" for the empty text.
std::string EncodeField(std::string_view text);
std::optional<std::string> DecodeField(std::string_view text);

// A word that is written as it is: printable, without blanks and '%', not "-".
bool IsToken(std::string_view text, size_t size_max);
bool IsLowerHex(std::string_view text);

}  // namespace xec::manifest_internal
