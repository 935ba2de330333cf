// SPDX-License-Identifier: LGPL-3.0-or-later
// XEC_CHECK: an always-on assertion for our own logic. Bytes from disk, network, configuration or users
// are never CHECKed; they yield kCorruption or kInvalidArgument.
#pragma once

#include <fmt/core.h>

namespace xec {

// Prints "file:line: check failed: condition: message" on standard error and aborts.
[[noreturn, gnu::cold]] void CheckFailed(const char* file, int line, const char* condition);
[[noreturn, gnu::cold]] void CheckFailedWith(const char* file, int line, const char* condition,
                                             fmt::string_view format, fmt::format_args args);

// Not inlined: there is a check in most functions, and their code need not be in each.
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void CheckFailed(const char* file, int line, const char* condition,
                                                        fmt::format_string<const Args&...> format,
                                                        const Args&... args) {
  CheckFailedWith(file, line, condition, format, fmt::make_format_args(args...));
}

}  // namespace xec

#define XEC_CHECK(condition, ...)                                                    \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::xec::CheckFailed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
