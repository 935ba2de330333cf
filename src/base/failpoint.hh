// SPDX-License-Identifier: LGPL-3.0-or-later
// Fail points: named places before and after every step of the protocol where a test build dies on request.
// The environment variable XEC_FAILPOINT="name" or "name:n" (the n-th passage, from 1) kills the process
// there with SIGKILL. Compiled to nothing unless XEC_FAILPOINTS is set.
#pragma once

namespace xec {

#if defined(XEC_FAILPOINTS)
void FailPointPassed(const char* name);
#define XEC_FAILPOINT(name) ::xec::FailPointPassed(name)
#else
#define XEC_FAILPOINT(name) \
  do {                      \
  } while (false)
#endif

}  // namespace xec
