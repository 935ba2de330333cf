// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "conformance_xrootd_process.hh"

namespace xec {

std::string* NoServersReason() {
  static std::string reason;
  return &reason;
}

}  // namespace xec

// Conformance tests that no stock server can pass, with the test of conformance_xrootd_test.cc that shows
// what it does instead (documented at MakeXrootdServer).
constexpr const char* kDeviations =
    // FilesRenamedOrRemovedWhileOpenKeepTheirBytesAndBlockTheirNames
    "*/ConformanceTest.AFileRenamedWhileOpenKeepsItsBytes/*:"
    // RemoveDirectoryOnlyWhenEmptyAndOkWhenMissing
    "*/ConformanceTest.RemoveDirectoryOnlyWhenEmpty/*";

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string& filter = testing::GTEST_FLAG(filter);
  filter += (filter.find('-') == std::string::npos ? "-" : ":") + std::string(kDeviations);
  *xec::NoServersReason() = xec::EnterPrivateNetwork();
  return RUN_ALL_TESTS();
}
