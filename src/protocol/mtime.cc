// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/mtime.hh"

#include <charconv>

#include <fmt/format.h>

namespace xec {

std::string FormatMtime(int64_t milliseconds) { return fmt::format("{}", milliseconds); }

std::optional<int64_t> ParseMtime(std::string_view text) {
  int64_t milliseconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, milliseconds);
  if (error != std::errc() || rest != end) return std::nullopt;
  return milliseconds;
}

}  // namespace xec
