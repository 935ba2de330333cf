// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/units.hh"

#include <array>
#include <limits>

#include "base/text.hh"

namespace xec {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Splits "12MiB" into 12 and the factor of its unit; nullopt-like error when either part is wrong.
template <size_t N>
Result<uint64_t> ParseWithUnit(std::string_view text, const std::array<Unit, N>& units,
                               std::string_view what) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = ParseUint(text.substr(0, digits));
  const std::string_view unit_name = text.substr(digits);
  for (const Unit& unit : units) {
    if (!number || unit.name != unit_name) continue;
    if (*number > std::numeric_limits<uint64_t>::max() / unit.factor) break;
    return *number * unit.factor;
  }
  return Fail(Code::kInvalidArgument, "'{}' is not a {}", text, what);
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  static constexpr std::array<Unit, 15> kUnits = {{{"", 1},
                                                   {"B", 1},
                                                   {"K", kKiB},
                                                   {"KiB", kKiB},
                                                   {"k", kKiB},
                                                   {"M", kMiB},
                                                   {"MiB", kMiB},
                                                   {"G", kGiB},
                                                   {"GiB", kGiB},
                                                   {"T", 1024 * kGiB},
                                                   {"TiB", 1024 * kGiB},
                                                   {"KB", 1000},
                                                   {"MB", 1000 * 1000},
                                                   {"GB", 1000ull * 1000 * 1000},
                                                   {"TB", 1000ull * 1000 * 1000 * 1000}}};
  return ParseWithUnit(text, kUnits, "size (a number with KiB, MiB, GiB or TiB, e.g. 1MiB)");
}

std::string FormatSize(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits = {
      {{"ms", 1}, {"", 1000}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 24 * 3600 * 1000}}};
  XEC_ASSIGN_OR_RETURN(uint64_t value,
                       ParseWithUnit(text, kUnits, "time (a number with ms, s, m, h or d, e.g. 30s)"));
  constexpr uint64_t kMost = 100ull * 365 * 24 * 3600 * 1000;
  if (value > kMost) return Fail(Code::kInvalidArgument, "'{}' is longer than 100 years", text);
  return std::chrono::milliseconds(value);
}

}  // namespace xec
