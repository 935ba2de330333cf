// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/failpoint.hh"

#if defined(XEC_FAILPOINTS)
#include <atomic>
#include <cstdlib>
#include <signal.h>
#include <string>
#include <unistd.h>

#include "base/text.hh"

namespace xec {

void FailPointPassed(const char* name) {
  static const char* const wanted = std::getenv("XEC_FAILPOINT");
  static std::atomic<uint64_t> passed{0};
  if (wanted == nullptr) return;
  const std::string_view text(wanted);
  const size_t colon = text.rfind(':');
  if (text.substr(0, colon) != name) return;
  const uint64_t nth = colon == std::string_view::npos ? 1 : ParseUint(text.substr(colon + 1)).value_or(1);
  if (++passed == nth) kill(getpid(), SIGKILL);
}

}  // namespace xec
#endif
