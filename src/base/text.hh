// SPDX-License-Identifier: LGPL-3.0-or-later
// Small text helpers with strict, bounded parsing: nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xec {

// Decimal without sign or blanks, no overflow; nothing else.
std::optional<uint64_t> ParseUint(std::string_view text);

// Exactly text.size() lower-case hex digits (1 to 16).
std::optional<uint64_t> ParseHex(std::string_view text);

// Lower-case, zero-padded to `digits`.
std::string Hex(uint64_t value, int digits);
std::string HexBytes(std::span<const std::byte> bytes);

// Pieces between separators; an empty text has one empty piece.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Without leading and trailing blanks and tabs.
std::string_view Trim(std::string_view text);

// Percent-encodes every byte for which keep() is false, and '%' itself. Inverse: PercentDecode.
std::string PercentEncode(std::string_view text, bool (*keep)(unsigned char));
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace xec
