// SPDX-License-Identifier: LGPL-3.0-or-later
// Values of options as text and back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/result.hh"
#include "base/text.hh"
#include "base/units.hh"
#include "runtime/executor.hh"

namespace xec {

inline Result<uint64_t> ParseCount(std::string_view value, uint64_t least, uint64_t most) {
  const auto number = ParseUint(value);
  if (number && *number >= least && *number <= most) return *number;
  return Fail(Code::kInvalidArgument, "'{}' is no number from {} to {}", value, least, most);
}

inline std::string FormatBytes(uint64_t bytes) {
  if (bytes % kMiB == 0) return fmt::format("{}MiB", bytes / kMiB);
  return bytes % kKiB == 0 ? fmt::format("{}KiB", bytes / kKiB) : fmt::format("{}B", bytes);
}

inline std::string FormatTime(Duration time) {
  return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

// A directory of the store: absolute, blanks and '%' percent-encoded, without trailing slash.
inline Result<std::string> ParsePrefix(std::string_view text) {
  auto path = PercentDecode(text);
  if (!path || path->empty() || (*path)[0] != '/') {
    return Fail(Code::kInvalidArgument, "'{}' is no path of the store: it must start with '/'", text);
  }
  while (path->size() > 1 && path->ends_with('/')) path->pop_back();
  return *path;
}

inline std::string FormatPrefix(const std::string& prefix) {
  return PercentEncode(prefix, [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

inline std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = Trim(text)).empty()) {
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

}  // namespace xec
