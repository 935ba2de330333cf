// SPDX-License-Identifier: LGPL-3.0-or-later
// Version: the identity and rank of one complete content of a name (promise P9). ObjectId: the identity of
// one upload, chosen before its version is known.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xec {

// Ordered by clock, then writer, then the moved bit. Ordinary versions have moved = false; the moved bit marks
// "this version was moved away" and is the immediate successor of its version: nothing lies between them.
struct Version {
  uint64_t clock = 0;   // hybrid logical clock: milliseconds since 1970 << kLogicalBits | logical counter
  uint32_t writer = 0;  // who chose it; random for every process
  bool moved = false;

  auto operator<=>(const Version&) const = default;
  // 16 hex digits, '-', 8 hex digits, 'm' if moved. Sorts as text in the order of versions.
  std::string ToString() const;
  static std::optional<Version> Parse(std::string_view text);

  Version Moved() const { return Version{clock, writer, true}; }
  Version Unmoved() const { return Version{clock, writer, false}; }
  // The wall-clock part.
  int64_t WallMillis() const;
};

constexpr int kLogicalBits = 16;
constexpr size_t kVersionTextBytes = 25;

// 24 lower-case hex digits, random.
constexpr size_t kObjectIdBytes = 24;
bool IsObjectId(std::string_view text);

}  // namespace xec
