// SPDX-License-Identifier: LGPL-3.0-or-later
// Groups of the space: parts of a store that are counted for themselves, and may have a quota.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xec {

// What is at or below its prefix, by whole components, and in no group with a longer one.
struct SpaceGroup {
  std::string name;
  std::string prefix;  // "/" or without a slash at its end
  std::optional<uint64_t> quota_bytes = {};
  bool operator==(const SpaceGroup&) const = default;
};

// Of objects as users see them, without redundancy. Differences may be negative.
struct Usage {
  int64_t bytes = 0;
  int64_t objects = 0;

  Usage& operator+=(const Usage& more) {
    bytes = Sum(bytes, more.bytes);
    objects = Sum(objects, more.objects);
    return *this;
  }
  Usage operator-() const { return {-bytes, -objects}; }
  bool operator==(const Usage&) const = default;

 private:
  // Goes round where what others told is absurd.
  static int64_t Sum(int64_t one, int64_t other) {
    return static_cast<int64_t>(static_cast<uint64_t>(one) + static_cast<uint64_t>(other));
  }
};

struct GroupUse {
  SpaceGroup group;
  std::optional<Usage> used = {};  // nothing before the store was counted for the first time
  int64_t counted_ms = 0;          // when the last count began, since 1970
};

// The name of the group "/" where the configuration has none.
inline constexpr std::string_view kWholeStoreGroup = "store";
inline constexpr size_t kSpaceGroupsMax = 64;
constexpr size_t kGroupNameMax = 64;  // letters, digits, '-', '_' and '.'

}  // namespace xec
