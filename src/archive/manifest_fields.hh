// SPDX-License-Identifier: LGPL-3.0-or-later
// Rules of the manifest's fields that its serializer and its parser share; no part of the layer's interface.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "archive/manifest.hh"

namespace xec::manifest_internal {

// Any bytes as one printable word: percent-encoded, "-" for the empty text.
std::string EncodeField(std::string_view text);
std::optional<std::string> DecodeField(std::string_view text);

// A word that is written as it is: printable, without blanks and '%', not "-".
bool IsToken(std::string_view text, size_t size_max);
bool IsLowerHex(std::string_view text);

// True for a line "key value..." whose key is ignorable and unknown to this program.
bool IsUnknownField(std::string_view line);

// What is wrong with the fields together, as a clause ("its mode is invalid"); nullptr when nothing is.
const char* CheckFields(const Manifest& manifest);

}  // namespace xec::manifest_internal
