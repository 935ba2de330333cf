// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"

namespace xec {

std::string* NoServersReason() {
  static std::string reason;
  return &reason;
}

}  // namespace xec

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  *xec::NoServersReason() = xec::EnterPrivateNetwork();
  return RUN_ALL_TESTS();
}
