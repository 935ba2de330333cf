// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/check.hh"

#include <cstdio>
#include <cstdlib>

namespace xec {

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition, message.empty() ? "" : ": ",
               message.c_str());
  std::abort();
}

}  // namespace xec
