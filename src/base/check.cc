// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/check.hh"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace xec {

void CheckFailed(const char* file, int line, const char* condition) {
  CheckFailedWith(file, line, condition, "", {});
}

void CheckFailedWith(const char* file, int line, const char* condition, fmt::string_view format,
                     fmt::format_args args) {
  const std::string message = fmt::vformat(format, args);
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition, message.empty() ? "" : ": ",
               message.c_str());
  std::abort();
}

}  // namespace xec
