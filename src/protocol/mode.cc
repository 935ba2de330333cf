// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/mode.hh"

#include <charconv>

#include <fmt/format.h>

namespace xec {
namespace {

constexpr uint32_t kModeMax = 07777;

}  // namespace

std::string FormatMode(uint32_t mode) { return fmt::format("{:04o}", mode & kModeMax); }

std::optional<uint32_t> ParseMode(std::string_view text) {
  uint32_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || rest != end || mode > kModeMax) return std::nullopt;
  return mode;
}

}  // namespace xec
