// SPDX-License-Identifier: LGPL-3.0-or-later
// XEC_CHECK: an always-on assertion for our own logic. Bytes from disk, network, configuration or users
// are never CHECKed; they yield kCorruption or kInvalidArgument.
#pragma once

#include <string>

#include <fmt/format.h>

namespace xec {

// Prints "file:line: check failed: condition: message" on standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace xec

#define XEC_CHECK(condition, ...)                                                        \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::xec::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
