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

// Ordered by clock, then writer, then the move. Every version v has three immediate successors: v.Moved(), "v
// was moved to another name", above it v.MoveDone(), "and nothing of v is left here", which only a rename
// uses, and above these v.Removed(), "v was removed". No other version lies between them.
struct Version {
  uint64_t clock = 0;  // hybrid logical clock: milliseconds since 1970 << kLogicalBits | logical counter
  uint32_t writer = 0;  // of the process that chose it; random for every process
  uint8_t move = 0;  // 0: ordinary, 1: moved, 2: the move is complete, 3: removed

  auto operator<=>(const Version&) const = default;
  // 16 hex digits, '-', 8 hex digits, then 'm' if moved, 'd' if the move is done, 'r' if removed. Ordinary
  // versions sort as text in their order.
  std::string ToString() const;
  static std::optional<Version> Parse(std::string_view text);

  Version Moved() const { return Version{clock, writer, 1}; }
  Version MoveDone() const { return Version{clock, writer, 2}; }
  Version Removed() const { return Version{clock, writer, 3}; }
  Version Unmoved() const { return Version{clock, writer, 0}; }
  // The wall-clock part.
  int64_t WallMillis() const;
};

constexpr int kLogicalBits = 16;
constexpr size_t kVersionTextBytes = 25;

// 24 lower-case hex digits, random.
constexpr size_t kObjectIdBytes = 24;
bool IsObjectId(std::string_view text);

}  // namespace xec
