// SPDX-License-Identifier: LGPL-3.0-or-later
// Sizes and times as users write them ("1MiB", "30s") and as we print them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hh"

namespace xec {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

// Accepts a decimal number followed by nothing, B, K/KiB, M/MiB, G/GiB, T/TiB (powers of 1024) or
// KB, MB, GB, TB (powers of 1000). Error: kInvalidArgument with the text quoted.
Result<uint64_t> ParseSize(std::string_view text);

// "27 B", "1.5 MiB": at most one decimal, binary units.
std::string FormatSize(uint64_t bytes);

// Accepts a decimal number followed by ms, s (or nothing), m, h, d.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

}  // namespace xec
