// SPDX-License-Identifier: LGPL-3.0-or-later
// SpaceReserve: how much of a disk is kept free of new archives, so that names can always be removed. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.hh"

namespace xec {

struct SpaceReserve {
  // The default: 2 % of the disk, at least 64 MiB, but of a small disk never more than a tenth.
  static constexpr uint64_t kPercent = 2;
  static constexpr uint64_t kLeastBytes = 64 * kMiB;
  static constexpr uint64_t kPartMax = 10;
  static constexpr uint64_t kPercentMax = 50;

  // At most one of them.
  std::optional<uint64_t> bytes = {};
  std::optional<uint64_t> percent = {};

  uint64_t Of(uint64_t total_bytes) const {
    if (bytes) return *bytes;
    if (percent) return total_bytes / 100 * *percent;
    return std::max(total_bytes / 100 * kPercent, std::min(kLeastBytes, total_bytes / kPartMax));
  }
  bool operator==(const SpaceReserve&) const = default;
};

}  // namespace xec
