// SPDX-License-Identifier: LGPL-3.0-or-later
// Names of archive members: "obj.<stripe>.<chunk>". Pure functions, thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xec {

// Longest name: "obj.4294967295.4294967295".
constexpr size_t kMemberNameSizeMax = 25;

// Which chunk of which stripe a member holds.
struct MemberName {
  uint32_t stripe = 0;
  uint32_t chunk = 0;

  auto operator<=>(const MemberName&) const = default;

  // "obj.12.3".
  std::string ToString() const;

  // The inverse, strict: decimal without sign or leading zeros, both below 2^32; nullopt for anything else.
  // Whether the geometry has such a stripe and chunk is for the caller to judge.
  static std::optional<MemberName> Parse(std::string_view text);
};

}  // namespace xec
