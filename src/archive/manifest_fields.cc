// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/manifest_fields.hh"

#include <algorithm>

#include "base/text.hh"

namespace xec::manifest_internal {

std::string EncodeField(std::string_view text) {
  if (text.empty()) return "-";
  if (text == "-") return "%2D";
  return PercentEncode(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<std::string> DecodeField(std::string_view text) {
  if (text == "-") return std::string();
  if (text.empty()) return std::nullopt;
  return PercentDecode(text);
}

bool IsToken(std::string_view text, size_t size_max) {
  return !text.empty() && text.size() <= size_max && text != "-" &&
         text.find('%') == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool IsLowerHex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

}  // namespace xec::manifest_internal
