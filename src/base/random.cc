// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/random.hh"

#include <sys/random.h>

#include "base/check.hh"

namespace xec {

uint64_t SystemSeed() {
  uint64_t seed = 0;
  XEC_CHECK(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "getrandom failed");
  return seed;
}

}  // namespace xec
